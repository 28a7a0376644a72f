//! Secrets, logins and credentials: read, stored, refreshed and masked.
//!
//! Uses the store and the environment. Values leave this module only in a request to the server for
//! which they were given.

pub mod credential_trial;
pub(crate) mod credentials;
pub mod login;
pub(crate) mod secrecy;
pub mod vault;
