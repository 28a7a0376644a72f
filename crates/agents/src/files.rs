//! The files the data is kept in: in the binary, or in a directory that is laid out the same.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::check::check_file;
use crate::error::{DataError, Place, Problem};
use crate::record::AgentFile;

/// The texts a library is made of, each under the name a person knows it by.
pub(crate) struct Texts {
    pub(crate) agents: Vec<AgentText>,
    pub(crate) aliases: AliasText,
    pub(crate) agent_aliases: AliasText,
}

pub(crate) struct AliasText {
    file: String,
    text: String,
    /// Whether an alias for what is not there is a mistake.
    pub(crate) must_fit: bool,
}

pub(crate) struct AgentText {
    pub(crate) file: String,
    folder: String,
    text: String,
}

const ALIASES: &str = "framework/data/aliases.json";
const AGENT_ALIASES: &str = "framework/data/agent-aliases.json";

impl Texts {
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
        let shelf = directory.join("agents");
        let folders = fs::read_dir(&shelf).map_err(|source| unreadable(&shelf, source))?;
        let mut agents = Vec::new();
        for folder in folders {
            let folder = folder
                .map_err(|source| unreadable(&shelf, source))?
                .file_name();
            let folder = folder.to_string_lossy().into_owned();
            if let Some((file, text)) = optional(directory, &current(&folder))? {
                agents.push(AgentText { file, folder, text });
            }
        }
        if agents.is_empty() {
            return Err(DataError::Empty {
                directory: directory.to_owned(),
            });
        }
        agents.sort_by(|a, b| a.folder.cmp(&b.folder));
        let ours = Self::built_in();
        Ok(Self {
            aliases: ours.aliases.or_theirs(directory)?,
            agent_aliases: ours.agent_aliases.or_theirs(directory)?,
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

    /// The file in the directory, or else ours as far as it fits.
    fn or_theirs(self, directory: &Path) -> Result<Self, DataError> {
        Ok(match optional(directory, &self.file)? {
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

    pub(crate) fn wrong(&self, alias: &str, problem: Problem) -> DataError {
        DataError::wrong(&self.file, Place::field(alias), problem)
    }
}

fn current(folder: &str) -> String {
    format!("agents/{folder}/capabilities/current.json")
}

/// A file with the path a person finds it under, if there is one.
fn optional(directory: &Path, path: &str) -> Result<Option<(String, String)>, DataError> {
    let path = directory.join(path);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(source) => Err(unreadable(&path, source)),
    }
}

fn unreadable(path: &Path, source: io::Error) -> DataError {
    DataError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

pub(crate) fn parse_agent(text: &AgentText) -> Result<AgentFile, DataError> {
    let wrong = |(place, problem)| DataError::wrong(&text.file, place, problem);
    let value: Value = serde_json::from_str(&text.text).map_err(|error| wrong(not_json(&error)))?;
    let file: AgentFile = serde_path_to_error::deserialize(&value).map_err(|error| {
        let place = place_of(&error.path().to_string(), &value);
        wrong((place, Problem::Shape(error.inner().to_string())))
    })?;
    check_file(&file, &text.folder).map_err(wrong)?;
    Ok(file)
}

pub(crate) fn parse_aliases<T: DeserializeOwned>(
    from: &AliasText,
) -> Result<BTreeMap<String, T>, DataError> {
    let wrong = |(place, problem)| DataError::wrong(&from.file, place, problem);
    let value: Value = serde_json::from_str(&from.text).map_err(|error| wrong(not_json(&error)))?;
    serde_path_to_error::deserialize(&value).map_err(|error| {
        wrong((
            Place::field(error.path().to_string()),
            Problem::Shape(error.inner().to_string()),
        ))
    })
}

fn not_json(error: &serde_json::Error) -> (Place, Problem) {
    let place = Place::field(format!("line {}, column {}", error.line(), error.column()));
    (place, Problem::Shape(error.to_string()))
}

/// `capabilities[3].tier` as a person would say it: the entry by its name.
fn place_of(path: &str, value: &Value) -> Place {
    let inside = path
        .strip_prefix("capabilities[")
        .and_then(|rest| rest.split_once(']'));
    let Some((number, field)) = inside else {
        return Place::field(path);
    };
    let name = number
        .parse()
        .ok()
        .and_then(|number: usize| value["capabilities"][number]["name"].as_str());
    let entry = name.map_or_else(|| format!("number {number}"), str::to_owned);
    Place::entry(&entry, field.trim_start_matches('.'))
}
