//! Adds Kitbag to a client's file and removes it, preserving every other byte.

mod file;
mod hook;
mod json;
mod kitbag_entry;
mod toml;
mod yaml;

use std::ops::Range;

use serde_json::Value;

use crate::client::{Client, ClientFile};
use crate::tree::{self, FileFormat, Node};
use file::EditedFile;
pub(crate) use hook::{has_hook, install_hook, uninstall_hook};
pub use kitbag_entry::KitbagEntry;

/// The name of Kitbag in clients' files.
pub const NAME: &str = "kitbag";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileEditError {
    #[error("syntax error in line {line}: {message}")]
    Syntax { line: usize, message: String },
    #[error("`{key}` is not a table of servers")]
    NotATable { key: String },
    #[error("`{key}` is not a list of hooks")]
    NotHooks { key: String },
    #[error("{client} can only launch programs, not connect to a URL")]
    NoAddress { client: Client },
    #[error("its layout cannot be edited without changing other entries")]
    Entangled,
}

/// A file without Kitbag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uninstalled {
    /// Kitbag was not in the file.
    NotInstalled,
    /// The file was empty before Kitbag was added.
    Empty,
    /// The exact text before Kitbag was added.
    Restored(String),
    /// The file has changed since Kitbag was added, so only Kitbag's entries were removed.
    Removed(String),
}

impl Uninstalled {
    /// Returns the text without Kitbag, which is `text` if Kitbag was not in it.
    pub(crate) fn into_clean_text(self, text: Option<String>) -> Option<String> {
        match self {
            Self::NotInstalled => text,
            Self::Empty => None,
            Self::Restored(text) | Self::Removed(text) => Some(text),
        }
    }
}

/// Returns the text with Kitbag in it, and with the servers named in `behind` switched off, since
/// they are now reached through Kitbag. Replaces an existing entry.
pub fn install(
    file: &ClientFile,
    text: &str,
    entry: &KitbagEntry,
    behind: &[String],
) -> Result<String, FileEditError> {
    let value = entry.value(file.client)?;
    let clean = uninstall(file, text, None)?.into_clean_text(Some(text.to_owned()));
    add(file, &clean.unwrap_or_default(), &value, behind)
}

/// Removes Kitbag from the text. `before` is the text before Kitbag was added, if known.
pub fn uninstall(
    file: &ClientFile,
    text: &str,
    before: Option<&str>,
) -> Result<Uninstalled, FileEditError> {
    let edited = EditedFile::parse(file, text)?;
    let Some(value) = edited.server(NAME).map(Node::value) else {
        return Ok(Uninstalled::NotInstalled);
    };
    let behind = before.map_or(Ok(Vec::new()), |before| {
        switched_off_servers(file, text, before)
    })?;
    // If adding Kitbag again gives this exact text, nothing else has changed since.
    let again = add(file, before.unwrap_or_default(), &value, &behind);
    match (again, before) {
        (Ok(again), Some(before)) if again == text => Ok(Uninstalled::Restored(before.to_owned())),
        (Ok(again), None) if again == text => Ok(Uninstalled::Empty),
        _ => remove(file, text, &behind).map(Uninstalled::Removed),
    }
}

/// Returns the servers that an installation switched off, given the text before and after it.
pub(crate) fn switched_off_servers(
    file: &ClientFile,
    text: &str,
    before: &str,
) -> Result<Vec<String>, FileEditError> {
    let before = EditedFile::parse(file, before)?;
    let now = EditedFile::parse(file, text)?;
    let mut names = before.names();
    names.retain(|name| name != NAME && before.is_on(name) && !now.is_on(name));
    Ok(names)
}

/// The ways to switch a server off without losing it.
#[derive(Clone, Copy)]
enum SwitchedOff {
    /// The client has a switch for it.
    Switch { key: &'static str, value: bool },
    /// It is moved to a key that the client does not read.
    Aside,
}

impl SwitchedOff {
    fn for_client(client: Client) -> Self {
        match client {
            Client::Windsurf | Client::Cline | Client::Roo | Client::Kilo => Self::Switch {
                key: "disabled",
                value: true,
            },
            Client::Zed | Client::Codex | Client::Goose | Client::Opencode => Self::Switch {
                key: "enabled",
                value: false,
            },
            Client::ClaudeDesktop
            | Client::ClaudeCode
            | Client::Cursor
            | Client::VsCode
            | Client::Gemini
            | Client::Continue
            | Client::LmStudio => Self::Aside,
        }
    }
}

fn add(
    file: &ClientFile,
    text: &str,
    value: &Value,
    behind: &[String],
) -> Result<String, FileEditError> {
    let (mark, text) = without_mark(text);
    let edited = EditedFile::parse(file, text)?;
    edited.check_section()?;
    // In file order, so that the same call always gives the same text.
    let mut switched = edited.names();
    switched.retain(|name| behind.contains(name) && edited.is_on(name));
    let mut new = text.to_owned();
    for name in &switched {
        new = switch_off(&edited, &new, name)?;
    }
    new = add_entry(&edited, &new, value)?;
    edited.check_after_adding(&EditedFile::parse(file, &new)?, value, &switched)?;
    Ok(format!("{mark}{new}"))
}

fn add_entry(edited: &EditedFile<'_>, text: &str, value: &Value) -> Result<String, FileEditError> {
    let keys = edited.keys();
    let in_list = edited.client == Client::Continue;
    match edited.format {
        FileFormat::Json => json::add(text, &keys, NAME, value),
        FileFormat::Toml => toml::add(text, &keys, NAME, value),
        FileFormat::Yaml => yaml::add(text, &keys, NAME, value, in_list),
    }
}

fn switch_off(edited: &EditedFile<'_>, text: &str, name: &str) -> Result<String, FileEditError> {
    let keys = edited.keys();
    match (SwitchedOff::for_client(edited.client), edited.format) {
        (SwitchedOff::Switch { key, value }, format) => {
            set_switch(format, text, &keys, name, key, value)
        }
        (SwitchedOff::Aside, FileFormat::Json) => json::put_aside(text, &keys, name),
        (SwitchedOff::Aside, FileFormat::Yaml) => yaml::put_aside(text, &keys, name),
        (SwitchedOff::Aside, FileFormat::Toml) => Err(FileEditError::Entangled),
    }
}

fn set_switch(
    format: FileFormat,
    text: &str,
    keys: &[&str],
    name: &str,
    key: &str,
    value: bool,
) -> Result<String, FileEditError> {
    match format {
        FileFormat::Json => json::set_switch(text, keys, name, key, value),
        FileFormat::Toml => toml::set_switch(text, keys, name, key, value),
        FileFormat::Yaml => yaml::set_switch(text, keys, name, key, value),
    }
}

fn remove(file: &ClientFile, text: &str, behind: &[String]) -> Result<String, FileEditError> {
    let (mark, text) = without_mark(text);
    let edited = EditedFile::parse(file, text)?;
    let mut new = remove_entry(&edited, text)?;
    if let SwitchedOff::Switch { key, value } = SwitchedOff::for_client(file.client) {
        for name in behind {
            new = set_switch(edited.format, &new, &edited.keys(), name, key, !value)?;
        }
    }
    edited.check_after_removing(&EditedFile::parse(file, &new)?)?;
    Ok(format!("{mark}{new}"))
}

/// Removes Kitbag's entry, and restores the servers that were put aside.
fn remove_entry(edited: &EditedFile<'_>, text: &str) -> Result<String, FileEditError> {
    let keys = edited.keys();
    match edited.format {
        FileFormat::Json => json::bring_back(&json::remove(text, &keys, NAME)?, &keys),
        FileFormat::Toml => toml::remove(text, &keys, NAME),
        FileFormat::Yaml => yaml::remove(text, &keys, NAME).map(|text| yaml::bring_back(&text)),
    }
}

impl FileEditError {
    fn not_a_table(keys: &[&str]) -> Self {
        Self::NotATable {
            key: keys.join("."),
        }
    }
}

fn parse(format: FileFormat, text: &str) -> Result<Node, FileEditError> {
    tree::parse(format, text).map_err(|error| FileEditError::Syntax {
        line: tree::line(text, error.at),
        message: error.message,
    })
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// Splits a text into the byte order mark that Windows writes, and the rest.
fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => text.split_at(text.len() - rest.len()),
        None => ("", text),
    }
}
