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
//! - [`observation`]: what happened

pub mod caller;
pub mod capability;
pub mod decision;
pub mod observation;
pub mod server;

pub use caller::{Caller, KeyId, Role, RoleError, Tenant, TenantError};
pub use capability::{Capability, ExposedName, Kind};
pub use decision::Decision;
pub use observation::{Observation, Outcome, Timestamp};
pub use server::{ServerName, ServerNameError};
