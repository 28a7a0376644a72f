//! The sections of `kitbag.toml`, one file each: the rows of its keys, the fields that serde reads,
//! and the values the program uses.
//!
//! A new key is a row, a field, and a line in `build`. Regenerate the tables of
//! `docs/configuration.md` with `KITBAG_WRITE_REFERENCE=1 cargo test -p kitbag-config reference`.

pub(crate) mod agents;
pub(crate) mod audit;
pub(crate) mod catalog;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod learning;
pub(crate) mod lock;
pub(crate) mod models;
pub(crate) mod oauth;
pub(crate) mod policy;
pub(crate) mod priors;
pub(crate) mod provider;
pub(crate) mod registry;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod server;
pub(crate) mod store;
pub(crate) mod surfaces;
pub(crate) mod telemetry;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tools;
pub(crate) mod web;

use crate::rows::SectionRow;

/// Every section, in the order of `kitbag config show`.
pub(crate) const SECTIONS: &[SectionRow] = &[
    serve::SECTION,
    store::SECTION,
    secrets::SECTION,
    audit::SECTION,
    priors::SECTION,
    learning::SECTION,
    index::SECTION,
    agents::SECTION,
    tools::SECTION,
    catalog::SECTION,
    catalog::ENDPOINTS_SECTION,
    lock::SECTION,
    context::SECTION,
    web::SECTION,
    web::BROWSER_SECTION,
    surfaces::SECTION,
    surfaces::GROUPS_SECTION,
    code::SECTION,
    models::SECTION,
    telemetry::SECTION,
    registry::SECTION,
    policy::SECTION,
    policy::TENANTS_SECTION,
    server::SECTION,
    provider::SECTION,
    import::SECTION,
];
