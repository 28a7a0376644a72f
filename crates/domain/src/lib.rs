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
//! - [`short_text`]: what strangers call themselves and their things, cut
//! - [`text`]: what other people wrote, without what cannot be seen in it

pub mod caller;
pub mod capability;
pub mod decision;
pub mod event;
pub mod observation;
pub mod origin;
pub mod server;
pub mod short_text;
pub mod text;

pub use caller::{Caller, KeyId, Role, RoleError, Tenant, TenantError};
pub use capability::{Capability, ExposedName, Kind};
pub use decision::Decision;
pub use event::{Action, Event};
pub use observation::{Observation, Outcome, Purpose, Timestamp};
pub use origin::{NoTraceParent, Origin, TraceParent};
pub use server::{ServerName, ServerNameError};
pub use short_text::ShortText;
