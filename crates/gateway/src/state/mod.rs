//! Everything that outlives a request: the gateway in use, the services of the process, and the
//! background tasks that keep both current.
//!
//! Knows neither turns nor surfaces; what it needs from a request is passed in.
//!
//! # Layout
//! - [`host`]: holds the current gateway and swaps in a new one; `gateway`: everything built from one
//!   configuration; `services`: everything the process keeps
//! - [`background`], `follow_notices`, [`follow_store`], [`follow_tool_files`]: react to changes of
//!   servers, of the store and of files
//! - [`workers`], [`web_pages`], [`address_guard`], [`store_place`]: build parts of a gateway from its
//!   configuration
//! - [`files`], [`clock`], `secret`, `per_caller`, `readiness`: small parts that several rooms share

pub mod address_guard;
pub mod background;
pub mod clock;
pub mod files;
pub(crate) mod follow_notices;
pub mod follow_store;
pub mod follow_tool_files;
pub(crate) mod gateway;
pub mod host;
pub(crate) mod per_caller;
pub(crate) mod readiness;
pub(crate) mod secret;
pub(crate) mod services;
pub mod store_place;
pub mod web_pages;
pub mod workers;
