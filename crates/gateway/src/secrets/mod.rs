//! Secrets, logins and credentials: read, stored, refreshed and masked.
//!
//! Uses the store, the environment and the keyring of the operating system. Values leave this
//! module only in a request to the server for which they were given.

pub mod credential_trial;
pub(crate) mod credentials;
pub mod keyring;
pub mod login;
pub(crate) mod secrecy;
pub mod vault;
