//! The sections of `kitbag.toml`, one file for each.

pub(crate) mod agents;
pub(crate) mod index;
pub(crate) mod oauth;
pub(crate) mod provider;
pub(crate) mod server;
pub(crate) mod surfaces;
