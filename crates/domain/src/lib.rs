//! The nouns everyone shares, with their invariants.
//!
//! Plain data: no I/O, no clock, no wire format. Whatever has a rule about its shape is
//! parsed here once, so that no other room has to doubt it.
//!
//! # Layout
//! - [`server`]: the name of an upstream server
//! - [`capability`]: one thing a server offers, and the name a client sees for it
//! - [`caller`]: who asks, for which tenant and in which role
//! - [`decision`]: may it happen
//! - [`observation`]: what happened to a request; [`event`]: what happened beside requests
//! - [`origin`]: where a request came from
//! - [`reach`]: how a server is reached; [`template`]: text with variables in it
//! - [`surface`]: how much a client is shown; [`write_class`]: what a tool does to the world
//! - [`remedy`]: the advice that comes with an error
//! - [`sync`]: how a lock is taken
//! - [`short_text`]: what strangers call themselves and their things, cut
//! - [`text`]: what other people wrote, without what cannot be seen in it

pub mod caller;
pub mod capability;
pub mod decision;
pub mod event;
pub mod observation;
pub mod origin;
pub mod reach;
pub mod remedy;
pub mod server;
pub mod short_text;
pub mod surface;
pub mod sync;
pub mod template;
pub mod text;
pub mod write_class;

pub use caller::{Caller, KeyId, Role, RoleError, Tenant, TenantError};
pub use capability::{Capability, ExposedName, Kind};
pub use decision::Decision;
pub use event::{Action, Event};
pub use observation::{Observation, Outcome, Purpose, Timestamp};
pub use origin::{NoTraceParent, Origin, TraceParent};
pub use reach::{Launch, Reach, RemoteEndpoint, RemoteTransport};
pub use remedy::Remedy;
pub use server::{ServerName, ServerNameError};
pub use short_text::ShortText;
pub use surface::{Surface, UnknownSurface};
pub use template::{Lookup, MissingVariable, Template};
pub use write_class::WriteClass;
