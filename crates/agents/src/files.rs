//! The files of the data: built in, or in a directory with the same layout.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::check::{LocatedProblem, check_file};
use crate::error::{DataError, DataPosition, DataProblem};
use crate::record::AgentFile;

/// The texts of a library, each with its path for the maintainer.
pub(crate) struct DataTexts {
    pub(crate) agents: Vec<AgentText>,
    pub(crate) aliases: AliasText,
    pub(crate) agent_aliases: AliasText,
}

pub(crate) struct AliasText {
    file: String,
    text: String,
    /// True if an alias for an unknown name is a mistake.
    pub(crate) must_fit: bool,
}

pub(crate) struct AgentText {
    pub(crate) file: String,
    folder: String,
    text: String,
}

const ALIASES: &str = "framework/data/aliases.json";
const AGENT_ALIASES: &str = "framework/data/agent-aliases.json";

impl DataTexts {
    pub(crate) fn built_in() -> Self {
        macro_rules! agents {
            ($($id:literal)*) => {
                vec![$(AgentText {
                    file: current($id),
                    folder: $id.to_owned(),
                    text: include_str!(concat!("../../../agents/", $id, "/capabilities/current.json")).to_owned(),
                }),*]
            };
        }
        Self {
            agents: agents![
                "aider" "claude-code" "cline" "codex-cli" "copilot-cli" "cursor" "gemini-cli" "goose" "opencode"
                "vscode-copilot" "windsurf" "zed"
            ],
            aliases: AliasText::new(
                ALIASES,
                include_str!("../../../framework/data/aliases.json"),
            ),
            agent_aliases: AliasText::new(
                AGENT_ALIASES,
                include_str!("../../../framework/data/agent-aliases.json"),
            ),
        }
    }

    pub(crate) fn read(directory: &Path) -> Result<Self, DataError> {
        let mut agents = Vec::new();
        for folder in folders(&directory.join("agents"))? {
            if let Some((file, text)) = read_optional(directory, &current(&folder))? {
                agents.push(AgentText { file, folder, text });
            }
        }
        if agents.is_empty() {
            return Err(DataError::Empty {
                directory: directory.to_owned(),
            });
        }
        let built_in = Self::built_in();
        Ok(Self {
            aliases: built_in.aliases.or_from_directory(directory)?,
            agent_aliases: built_in.agent_aliases.or_from_directory(directory)?,
            agents,
        })
    }
}

impl AliasText {
    fn new(file: &str, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            must_fit: true,
        }
    }

    /// Returns the file in the directory, or else the applicable part of the built-in one.
    fn or_from_directory(self, directory: &Path) -> Result<Self, DataError> {
        Ok(match read_optional(directory, &self.file)? {
            Some((file, text)) => Self {
                file,
                text,
                must_fit: true,
            },
            None => Self {
                must_fit: false,
                ..self
            },
        })
    }

    pub(crate) fn alias_error(&self, alias: &str, problem: DataProblem) -> DataError {
        DataError::new(&self.file, DataPosition::field(alias), problem)
    }
}

fn current(folder: &str) -> String {
    format!("agents/{folder}/capabilities/current.json")
}

/// Returns the names in a directory, sorted.
fn folders(directory: &Path) -> Result<Vec<String>, DataError> {
    let entries = fs::read_dir(directory).map_err(|source| unreadable_error(directory, source))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| unreadable_error(directory, source))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the path and the text of a file, if there is one.
fn read_optional(directory: &Path, path: &str) -> Result<Option<(String, String)>, DataError> {
    let path = directory.join(path);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(source) => match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(unreadable_error(&path, source)),
        },
    }
}

fn unreadable_error(path: &Path, source: io::Error) -> DataError {
    DataError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn parse_agent(text: &AgentText) -> Result<AgentFile, DataError> {
    let file = try_parse_agent(text);
    file.map_err(|(position, problem)| DataError::new(&text.file, position, problem))
}

fn try_parse_agent(text: &AgentText) -> Result<AgentFile, LocatedProblem> {
    let value: Value = serde_json::from_str(&text.text).map_err(|error| not_json(&error))?;
    let file: AgentFile = serde_path_to_error::deserialize(&value).map_err(|error| {
        let position = position_of(&error.path().to_string(), &value);
        (position, DataProblem::Shape(error.inner().to_string()))
    })?;
    check_file(&file, &text.folder)?;
    Ok(file)
}

pub(crate) fn parse_aliases<T: DeserializeOwned>(
    from: &AliasText,
) -> Result<BTreeMap<String, T>, DataError> {
    let aliases = try_parse_aliases(&from.text);
    aliases.map_err(|(position, problem)| DataError::new(&from.file, position, problem))
}

fn try_parse_aliases<T: DeserializeOwned>(
    text: &str,
) -> Result<BTreeMap<String, T>, LocatedProblem> {
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let position = DataPosition::field(error.path().to_string());
        (position, DataProblem::Shape(error.inner().to_string()))
    })
}

fn not_json(error: &serde_json::Error) -> LocatedProblem {
    let position = DataPosition::field(format!("line {}, column {}", error.line(), error.column()));
    (position, DataProblem::Shape(error.to_string()))
}

/// Turns `capabilities[3].tier` into the name of the entry and the field.
fn position_of(path: &str, value: &Value) -> DataPosition {
    let inside = path.strip_prefix("capabilities[");
    let Some((number, field)) = inside.and_then(|rest| rest.split_once(']')) else {
        return DataPosition::field(path);
    };
    let index = number.parse::<usize>().ok();
    let name = index.and_then(|index| value["capabilities"][index]["name"].as_str());
    let entry = name.map_or_else(|| format!("number {number}"), str::to_owned);
    DataPosition::entry(&entry, field.trim_start_matches('.'))
}
