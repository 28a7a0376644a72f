//! A tool file as data: its names, its actions, and the request, credential and answer of each.
//!
//! Plain data, validated when read. Filling a pattern is pure; this crate sends nothing and reads
//! no file.
//!
//! # Layout
//! - [`names`]: the names of tools, actions and credentials; [`effects`]: their kinds and effects
//! - [`api`]: the API behind a tool; [`auth`]: the authentication of a request; [`host`]: the hosts
//!   that requests may reach
//! - [`action`]: one action as a request; [`answer`]: the pages and the shape of its answer
//! - [`placeholder`]: a placeholder in braces; [`text_pattern`], [`path_pattern`],
//!   [`json_pattern`]: texts, paths and bodies with placeholders; [`fill`]: the values for them;
//!   [`mod@fields`]: values as fields of a query or a form
//! - [`mod@pointer`]: a pointer into a JSON value

pub mod action;
pub mod answer;
pub mod api;
pub mod auth;
pub mod effects;
pub mod fields;
pub mod fill;
pub mod host;
pub mod json_pattern;
pub mod names;
pub mod path_pattern;
pub mod placeholder;
pub mod pointer;
pub mod storage;
pub mod text_pattern;

pub use action::{ActionSpec, BodyPattern};
pub use answer::{AnswerRule, AnswerType, PageRule, UsageRule};
pub use api::ApiSpec;
pub use auth::{AuthScheme, OAuthGrant};
pub use effects::{ActionWrites, ToolKind, ToolWrites};
pub use fields::to_fields;
pub use fill::FillValues;
pub use host::{HostPattern, HostPatternError};
pub use json_pattern::JsonPattern;
pub use names::{ActionName, CredentialName, ToolId, ToolNameError, WireName};
pub use path_pattern::{PathFillError, PathPattern};
pub use placeholder::{Placeholder, PlaceholderError};
pub use pointer::{JsonPointer, JsonPointerError};
pub use storage::StorageSpec;
pub use text_pattern::TextPattern;
