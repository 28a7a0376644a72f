//! Secrets, logins and credentials: read, stored, refreshed and masked.
//!
//! May touch the store, the environment and the keyring of the operating system. Values leave this
//! room only inside a request to the server they were given for.

pub mod credential_trial;
pub(crate) mod credentials;
pub mod keyring;
pub mod login;
pub(crate) mod secrecy;
pub mod vault;
