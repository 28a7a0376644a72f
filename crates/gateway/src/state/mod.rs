//! State that outlives a request: the current gateway, the services of the process, and the
//! background tasks that keep both up to date.
//!
//! Uses the store, the servers, the catalog and the index. Knows neither turns nor surfaces:
//! functions receive request data as arguments.
//!
//! # Layout
//! - [`host`]: holds the current gateway and replaces it on a reload; `gateway`: everything built
//!   from one configuration; `services`: everything that lives as long as the process
//! - [`background`]: periodic tasks; `follow_notices`, [`follow_store`], [`follow_tool_files`]:
//!   react to notifications from servers, and to changes in the store and of tool files
//! - [`workers`], [`web_pages`], [`address_guard`], [`store_address`]: build parts of a gateway
//!   from its configuration
//! - [`file_limit`], [`clock`], `random_ids`, `per_caller`, `readiness`: small parts that several
//!   modules share

pub mod address_guard;
pub mod background;
pub mod clock;
pub mod file_limit;
pub(crate) mod follow_notices;
pub mod follow_store;
pub mod follow_tool_files;
pub mod gateway;
pub mod host;
pub(crate) mod per_caller;
pub mod random_ids;
pub(crate) mod readiness;
pub(crate) mod services;
pub mod store_address;
pub mod web_pages;
pub mod workers;
