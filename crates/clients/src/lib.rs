//! Reads and edits the configuration files of MCP clients, preserving every byte it does not own.
//!
//! # Layout
//! - `client`, `directories`: the clients, and the locations of their files
//! - `tree`: JSON, TOML and YAML as one tree in which every value has its position
//! - `read`: servers from that tree, in Kitbag's terms; `config`: the result of reading
//! - `dialect`, `secret`, `sensitive_text`: the texts in a file, with variables and secrets kept
//!   apart
//! - `redaction`: values without their secrets
//! - `merge`: one entry for a server that is in several files
//! - `edit`: adds Kitbag to a file and removes it, as functions from text to text
//! - `prompt_hook`: clients' hooks for prompts; `edit::hook`: Kitbag's command among them
//! - `on_disk`, `hook_on_disk`: the edits of files on disk; `file_access`: reading and writing
//!   them; `folder_entry`: a file that no link can redirect

mod client;
mod config;
mod dialect;
mod directories;
mod edit;
mod file_access;
mod folder_entry;
mod hook_on_disk;
mod merge;
mod on_disk;
mod prompt_hook;
mod read;
mod redaction;
mod secret;
mod sensitive_text;
mod tree;

pub use client::{Client, ClientFile, Scope, UnknownClient};
pub use config::{
    ClientConfig, ClientLaunch, FileFault, FileProblem, FoundServer, ImportNote, NeededVariable,
    VariableSource,
};
pub use directories::{ClientDirectories, OperatingSystem};
pub use edit::{FileEditError, KitbagEntry, NAME, Uninstalled, install, uninstall};
pub use merge::{MergedServer, ServerOrigin, merge};
pub use on_disk::{
    FileError, Installed, backup_path, check_editable, install_into, uninstall_from, write,
};
pub use prompt_hook::{NoPromptHook, PromptHook, clients_with_prompt_hook};
pub use read::{find, open, read};
pub use redaction::{MASK, text_without_secrets, without_secrets};
pub use secret::{
    holds_secret, is_scheme, names_a_secret, secrets_in_address, secrets_in_argument,
};
pub use sensitive_text::{HiddenText, SensitiveText};
