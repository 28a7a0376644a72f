//! Reads and edits the configuration files of MCP clients, and loses no letter of them.
//!
//! # Layout
//! - `client`, `places`: which clients there are, and where each keeps its files
//! - `tree`: JSON, TOML and YAML as one tree that knows where everything stands
//! - `read`: from that tree to servers, in our words; `found` is what comes out
//! - `variables`, `secret`, `value`: the texts in a file, with variables and secrets kept apart
//! - `merge`: the same server in several clients is one
//! - `edit`: Kitbag in a file and out again, as functions from text to text; `file`: on disk, in a
//!   `place` that no link leads away from

mod client;
mod edit;
mod file;
mod found;
mod merge;
mod place;
mod places;
mod read;
mod secret;
mod tree;
mod value;
mod variables;

pub use client::{Client, Scope, Spot, UnknownClient};
pub use edit::{Door, EditError, NAME, Undone, install, uninstall};
pub use file::{
    FileError, Installed, backup_of, check_editable, install_into, uninstall_from, write,
};
pub use found::{Found, FoundServer, Launch, Note, Problem, Source, Transport, Variable, Wrong};
pub use merge::{Merged, Origin, merge};
pub use places::{Places, Platform};
pub use read::{find, open, read};
pub use secret::{holds_secret, is_scheme, secrets_in_address, secrets_in_argument};
pub use value::{Hidden, Value};
