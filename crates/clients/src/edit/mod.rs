//! Kitbag in a client's file and out again, with every other letter left as it is.

mod door;
mod json;
mod toml;
mod yaml;

use std::ops::Range;

use serde_json::Value;

use crate::client::{Client, Spot};
use crate::read::{Section, named, sections};
use crate::tree::{self, Format, Node};

pub use door::Door;

/// What Kitbag is called in clients' files.
pub const NAME: &str = "kitbag";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("line {line} is misspelt: {message}")]
    Misspelt { line: usize, message: String },
    #[error("`{key}` is not a table of servers")]
    NotATable { key: String },
    #[error("{client} can only launch programs, not reach an address")]
    NoAddress { client: Client },
    #[error("it is written in a way that cannot be edited without touching what is not ours")]
    Entangled,
}

/// What is left of a file without Kitbag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// Kitbag was not there.
    NotThere,
    /// There was nothing before it.
    Nothing,
    /// What there was before, letter for letter.
    Restored(String),
    /// The file has changed since, so only what is ours was taken out.
    Removed(String),
}

/// The text with Kitbag in it, and with the servers named in `behind` switched off, since Kitbag
/// has them now. An entry that is there already is replaced.
pub fn install(
    spot: &Spot,
    text: &str,
    door: &Door,
    behind: &[String],
) -> Result<String, EditError> {
    let value = door.value(spot.client)?;
    match uninstall(spot, text, None)? {
        Undone::Nothing => place(spot, "", &value, behind),
        Undone::Removed(text) | Undone::Restored(text) => place(spot, &text, &value, behind),
        Undone::NotThere => place(spot, text, &value, behind),
    }
}

/// The text without Kitbag. `before` is what the file held when Kitbag was put in, if it is known.
pub fn uninstall(spot: &Spot, text: &str, before: Option<&str>) -> Result<Undone, EditError> {
    let file = File::of(spot, text)?;
    let Some(value) = file.server(NAME).map(Node::value) else {
        return Ok(Undone::NotThere);
    };
    let behind = before.map_or(Ok(Vec::new()), |before| behind(spot, text, before))?;
    let again = place(spot, before.unwrap_or_default(), &value, &behind);
    match (again, before) {
        (Ok(again), Some(before)) if again == text => Ok(Undone::Restored(before.to_owned())),
        (Ok(again), None) if again == text => Ok(Undone::Nothing),
        _ => take_out(spot, text, &behind).map(Undone::Removed),
    }
}

/// The servers that an installation has switched off, judged by what the file held before it.
pub(crate) fn behind(spot: &Spot, text: &str, before: &str) -> Result<Vec<String>, EditError> {
    Ok(switched_off(
        &File::of(spot, before)?,
        &File::of(spot, text)?,
    ))
}

/// How a server is kept from being used without losing it.
enum Off {
    /// The client has a switch for it.
    Switch { key: &'static str, value: bool },
    /// It is put where the client does not look.
    Aside,
}

fn off(client: Client) -> Off {
    match client {
        Client::Windsurf | Client::Cline | Client::Roo | Client::Kilo => Off::Switch {
            key: "disabled",
            value: true,
        },
        Client::Zed | Client::Codex | Client::Goose | Client::Opencode => Off::Switch {
            key: "enabled",
            value: false,
        },
        Client::ClaudeDesktop
        | Client::ClaudeCode
        | Client::Cursor
        | Client::VsCode
        | Client::Gemini
        | Client::Continue
        | Client::LmStudio => Off::Aside,
    }
}

/// A text, and where the servers stand in it or would.
struct File<'a> {
    client: Client,
    format: Format,
    text: &'a str,
    root: Node,
    keys: Vec<String>,
}

impl<'a> File<'a> {
    fn of(spot: &Spot, text: &'a str) -> Result<Self, EditError> {
        let (_, text) = without_mark(text);
        let format = Format::of(&spot.path);
        let root = tree::parse(format, text).map_err(|wrong| EditError::Misspelt {
            line: tree::line(text, wrong.at),
            message: wrong.message,
        })?;
        let everywhere = sections(spot.client, &root)
            .into_iter()
            .find(|section| section.project.is_none());
        let keys = everywhere.map(|section| section.keys);
        let keys = keys.unwrap_or_else(|| usual(spot));
        Ok(Self {
            client: spot.client,
            format,
            text,
            root,
            keys,
        })
    }

    fn keys(&self) -> Vec<&str> {
        self.keys.iter().map(String::as_str).collect()
    }

    fn section(&self) -> Option<Section<'_>> {
        sections(self.client, &self.root)
            .into_iter()
            .find(|section| section.keys == self.keys)
    }

    fn servers(&self) -> Vec<(String, &Node)> {
        let all = self
            .section()
            .map(|section| named(&section))
            .unwrap_or_default();
        all.into_iter()
            .filter_map(|(name, _, node)| Some((name?, node)))
            .collect()
    }

    fn server(&self, name: &str) -> Option<&Node> {
        self.servers()
            .into_iter()
            .find(|(found, _)| found == name)
            .map(|(_, node)| node)
    }

    fn is_on(&self, name: &str) -> bool {
        self.server(name)
            .is_some_and(|node| match off(self.client) {
                Off::Switch { key, value } => node.get(key).and_then(Node::bool) != Some(value),
                Off::Aside => true,
            })
    }
}

/// Where servers go in a file that has none yet.
fn usual(spot: &Spot) -> Vec<String> {
    let keys: &[&str] = match spot.client {
        Client::VsCode if spot.path.ends_with("settings.json") => &["mcp", "servers"],
        Client::VsCode if spot.path.ends_with("mcp-config.json") => &["mcpServers"],
        Client::VsCode => &["servers"],
        Client::Zed => &["context_servers"],
        Client::Codex => &["mcp_servers"],
        Client::Goose => &["extensions"],
        Client::Opencode => &["mcp"],
        _ => &["mcpServers"],
    };
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// The servers that were on before and are not any more.
fn switched_off(before: &File<'_>, now: &File<'_>) -> Vec<String> {
    let names = before.servers().into_iter().map(|(name, _)| name);
    names
        .filter(|name| name != NAME && before.is_on(name) && !now.is_on(name))
        .collect()
}

fn place(spot: &Spot, text: &str, value: &Value, behind: &[String]) -> Result<String, EditError> {
    let (mark, text) = without_mark(text);
    let file = File::of(spot, text)?;
    if file
        .section()
        .is_some_and(|section| !section.node.holds_servers())
    {
        return Err(EditError::NotATable {
            key: file.keys.join("."),
        });
    }
    let names = file.servers().into_iter().map(|(name, _)| name);
    // In the order of the file, so that the same wish always gives the same text.
    let behind: Vec<String> = names
        .filter(|name| behind.contains(name) && file.is_on(name))
        .collect();
    let keys = file.keys();
    let mut new = file.text.to_owned();
    for name in &behind {
        new = match (file.format, off(spot.client)) {
            (Format::Json, Off::Switch { key, value }) => {
                json::switch(&new, &keys, name, key, value)?
            }
            (Format::Toml, Off::Switch { key, value }) => {
                toml::switch(&new, &keys, name, key, value)?
            }
            (Format::Yaml, Off::Switch { key, value }) => {
                yaml::switch(&new, &keys, name, key, value)?
            }
            (Format::Json, Off::Aside) => json::put_aside(&new, &keys, name)?,
            (Format::Yaml, Off::Aside) => yaml::put_aside(&new, &keys, name)?,
            (Format::Toml, Off::Aside) => return Err(EditError::Entangled),
        };
    }
    new = match file.format {
        Format::Json => json::add(&new, &keys, NAME, value)?,
        Format::Toml => toml::add(&new, &keys, NAME, value)?,
        Format::Yaml => yaml::add(&new, &keys, NAME, value, spot.client == Client::Continue)?,
    };
    check(&file, &File::of(spot, &new)?, value, &behind)?;
    Ok(format!("{mark}{new}"))
}

/// Whatever the editing has done, the servers that are not ours must be as they were.
fn check(
    before: &File<'_>,
    after: &File<'_>,
    value: &Value,
    behind: &[String],
) -> Result<(), EditError> {
    let ours = after
        .server(NAME)
        .is_some_and(|node| node.value() == *value);
    let untouched = |name: &String| match behind.contains(name) {
        true => !after.is_on(name),
        false => before.server(name) == after.server(name),
    };
    let others = before
        .servers()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name != NAME);
    let around = |file: &File<'_>| {
        let first = file.keys.first().map(String::as_str).unwrap_or_default();
        let kept = file
            .root
            .entries()
            .iter()
            .map(|(key, node)| (key.text.clone(), node.clone()));
        kept.filter(|(key, _)| !key.starts_with(first))
            .collect::<Vec<_>>()
    };
    let around_is_kept = before.text.trim().is_empty() || around(before) == around(after);
    let fine = ours && around_is_kept && others.into_iter().all(|name| untouched(&name));
    if fine {
        Ok(())
    } else {
        Err(EditError::Entangled)
    }
}

fn take_out(spot: &Spot, text: &str, behind: &[String]) -> Result<String, EditError> {
    let (mark, text) = without_mark(text);
    let file = File::of(spot, text)?;
    let keys = file.keys();
    let mut new = match file.format {
        Format::Json => json::bring_back(&json::remove(text, &keys, NAME)?, &keys)?,
        Format::Toml => toml::remove(text, &keys, NAME)?,
        Format::Yaml => yaml::bring_back(&yaml::remove(text, &keys, NAME)?),
    };
    if let Off::Switch { key, value } = off(spot.client) {
        for name in behind {
            new = match file.format {
                Format::Json => json::switch(&new, &keys, name, key, !value)?,
                Format::Toml => toml::switch(&new, &keys, name, key, !value)?,
                Format::Yaml => yaml::switch(&new, &keys, name, key, !value)?,
            };
        }
    }
    let after = File::of(spot, &new)?;
    let kept = file
        .servers()
        .into_iter()
        .all(|(name, _)| name == NAME || after.server(&name).is_some());
    if kept && after.server(NAME).is_none() {
        Ok(format!("{mark}{new}"))
    } else {
        Err(EditError::Entangled)
    }
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

/// The byte order mark that Windows puts in front, and the rest.
fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => text.split_at(text.len() - rest.len()),
        None => ("", text),
    }
}
