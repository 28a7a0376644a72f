//! A declared tool as data: its names, its actions, and the request, credential and answer of each.
//!
//! Plain data that was checked when it was read. Filling a template is pure; this crate sends nothing
//! and reads no file.
//!
//! # Layout
//! - [`names`]: the names of tools, actions and credentials; [`effects`]: the kind of a tool and what it changes
//! - [`api`]: the API behind a tool; [`auth`]: how a request proves itself; [`host`]: where requests may go
//! - [`action`]: one action as a request; [`answer`]: the pages and the shape of its answer
//! - [`placeholder`]: a word in braces; [`text_template`], [`path_template`], [`json_template`]: texts, paths and bodies with such
//!   words; [`fill`]: the values that take their place; [`mod@fields`]: values as fields of a query or a form
//! - [`mod@pointer`]: a place in a JSON value

pub mod action;
pub mod answer;
pub mod api;
pub mod auth;
pub mod effects;
pub mod fields;
pub mod fill;
pub mod host;
pub mod json_template;
pub mod names;
pub mod path_template;
pub mod placeholder;
pub mod pointer;
pub mod storage;
pub mod text_template;

pub use action::{ActionDeclaration, BodyTemplate};
pub use answer::{AnswerRule, AnswerType, PageRule, UsageRule};
pub use api::ApiDeclaration;
pub use auth::{AuthScheme, OAuthGrant};
pub use effects::{ActionWrites, DeclaredWrites, ToolKind};
pub use fields::fields;
pub use fill::FillValues;
pub use host::{HostPattern, HostPatternError};
pub use json_template::JsonTemplate;
pub use names::{ActionName, CredentialName, DeclaredNameError, ToolId, WireName};
pub use path_template::{PathTemplate, PathUnfilled};
pub use placeholder::{Placeholder, PlaceholderError};
pub use pointer::{JsonPointer, NoJsonPointer};
pub use storage::StorageDeclaration;
pub use text_template::TextTemplate;
