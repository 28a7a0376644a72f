//! The lock file: one sorted line per approved definition, so that versions of the file can be
//! merged and a change can be reviewed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use kitbag_domain::text::reveal_invisible;
use kitbag_domain::toml_problem::line_number;
use kitbag_domain::{Kind, ServerName};
use serde::Deserialize as _;
use toml::Spanned;
use toml::de::DeTable;

use crate::canonical::{DefinitionHash, ListedDefinition};
use crate::drift::{Drift, DriftedDefinition};

/// The approved definitions of all locked servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    pub servers: BTreeMap<ServerName, LockedServer>,
}

/// The approved definitions of one server, by the server's own names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockedServer {
    pub tools: BTreeMap<String, DefinitionHash>,
    pub prompts: BTreeMap<String, DefinitionHash>,
}

/// A lock file that cannot be read, and the line with the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{} cannot be read: {problem}", path.display(), describe_line(*line))]
pub struct LockFileError {
    pub path: PathBuf,
    pub line: Option<usize>,
    pub problem: LockFileProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockFileProblem {
    #[error("{reason}")]
    Unreadable { reason: String },
    #[error("invalid TOML: {message}")]
    Syntax { message: String },
    #[error("{message}")]
    Misfit { message: String },
    #[error("unsupported version {found}; this Kitbag supports version {VERSION}")]
    Version { found: u32 },
    #[error("`{found}` is not a valid server name")]
    Server { found: String },
    #[error("`{found}` is not a hash of 64 hexadecimal digits")]
    Hash { found: String },
}

/// The version of the file format and of the canonical text.
const VERSION: u32 = 1;

const HEADING: &str = "\
# The approved definitions of tools and prompts, each by its hash. Kitbag wrote
# this file: see what has changed with `kitbag lock diff`, and approve it with
# `kitbag lock approve`.
";

impl LockFile {
    pub fn parse(text: &str) -> Result<Self, (Option<usize>, LockFileProblem)> {
        let read = read_lock_file(text);
        read.map_err(|(span, problem)| (span.map(|span| line_number(text, span.start)), problem))
    }

    /// Serializes the file deterministically.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADING}version = {VERSION}\n");
        for (server, locked) in &self.servers {
            for (kind, hashes) in [("tools", &locked.tools), ("prompts", &locked.prompts)] {
                // A server without prompts is locked by its table of tools, so new prompts are
                // detected as well.
                if hashes.is_empty() && kind == "prompts" {
                    continue;
                }
                let _ = writeln!(text, "\n[servers.{server}.{kind}]");
                for (name, hash) in hashes {
                    let _ = writeln!(text, "{} = \"{hash}\"", quote_key(name));
                }
            }
        }
        text
    }
}

impl LockedServer {
    /// Approves everything that a server lists.
    pub fn from_listed(listed: &[ListedDefinition]) -> Self {
        let mut locked = Self::default();
        // Of a name that is listed twice, the first counts.
        listed.iter().rev().for_each(|it| locked.approve(it));
        locked
    }

    pub fn approve(&mut self, definition: &ListedDefinition) {
        self.definitions_of_mut(definition.kind)
            .insert(definition.name.clone(), definition.hash);
    }

    /// Approves the current state of one drifted definition.
    pub fn approve_drift(&mut self, drifted: &DriftedDefinition) {
        let hashes = self.definitions_of_mut(drifted.kind);
        if let Drift::Renamed { from } = &drifted.drift {
            hashes.remove(from);
        }
        match drifted.hash {
            Some(hash) => hashes.insert(drifted.name.clone(), hash),
            None => hashes.remove(&drifted.name),
        };
    }

    pub fn is_approved(&self, definition: &ListedDefinition) -> bool {
        let approved = self.definitions_of(definition.kind).get(&definition.name);
        approved.is_some_and(|approved| definition.matches_approved(approved))
    }

    /// The approved definitions of one kind. Resources are not approved, because their descriptions
    /// do not instruct a model.
    pub fn definitions_of(&self, kind: Kind) -> &BTreeMap<String, DefinitionHash> {
        static NONE: BTreeMap<String, DefinitionHash> = BTreeMap::new();
        match kind {
            Kind::Tool => &self.tools,
            Kind::Prompt => &self.prompts,
            Kind::Resource => &NONE,
        }
    }

    fn definitions_of_mut(&mut self, kind: Kind) -> &mut BTreeMap<String, DefinitionHash> {
        match kind {
            Kind::Prompt => &mut self.prompts,
            Kind::Tool | Kind::Resource => &mut self.tools,
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLockFile {
    version: Spanned<u32>,
    #[serde(default)]
    servers: BTreeMap<Spanned<String>, RawLockedServer>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawLockedServer {
    tools: BTreeMap<String, Spanned<String>>,
    prompts: BTreeMap<String, Spanned<String>>,
}

type Misread = (Option<Range<usize>>, LockFileProblem);

fn read_lock_file(text: &str) -> Result<LockFile, Misread> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().to_owned();
        (error.span(), LockFileProblem::Syntax { message })
    })?;
    let raw = RawLockFile::deserialize(toml::Deserializer::from(document)).map_err(|error| {
        let message = error.message().to_owned();
        (error.span(), LockFileProblem::Misfit { message })
    })?;
    if *raw.version.get_ref() != VERSION {
        let found = *raw.version.get_ref();
        return Err((Some(raw.version.span()), LockFileProblem::Version { found }));
    }
    let servers = raw.servers.into_iter().map(read_server);
    Ok(LockFile {
        servers: servers.collect::<Result<_, _>>()?,
    })
}

fn read_server(
    (name, raw): (Spanned<String>, RawLockedServer),
) -> Result<(ServerName, LockedServer), Misread> {
    let server = name.get_ref().parse().map_err(|_| {
        let found = reveal_invisible(name.get_ref()).into_owned();
        (Some(name.span()), LockFileProblem::Server { found })
    })?;
    let locked = LockedServer {
        tools: read_hashes(raw.tools)?,
        prompts: read_hashes(raw.prompts)?,
    };
    Ok((server, locked))
}

fn read_hashes(
    raw: BTreeMap<String, Spanned<String>>,
) -> Result<BTreeMap<String, DefinitionHash>, Misread> {
    raw.into_iter()
        .map(|(name, hash)| Ok((name, parse_hash(&hash)?)))
        .collect()
}

fn parse_hash(hash: &Spanned<String>) -> Result<DefinitionHash, Misread> {
    hash.get_ref().parse().map_err(|_| {
        let found = reveal_invisible(hash.get_ref()).into_owned();
        (Some(hash.span()), LockFileProblem::Hash { found })
    })
}

fn describe_line(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line},"))
        .unwrap_or_default()
}

/// A name as a key of TOML. Servers choose names, and a reviewer must see every character.
fn quote_key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            other => {
                let _ = write!(quoted, "\\U{:08X}", other as u32);
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approved_definition(kind: Kind, name: &str) -> ListedDefinition {
        ListedDefinition {
            kind,
            name: name.to_owned(),
            hash: DefinitionHash::hash_text(name),
            text: String::new(),
            unmasked: None,
        }
    }

    #[test]
    fn a_written_file_is_parsed_back_with_any_tool_names() {
        let odd = ["a.b", "", "x\u{202e}y\"\\\n", "Привет", "log", "-1"];
        let mut git = LockedServer::default();
        for name in odd {
            git.approve(&approved_definition(Kind::Tool, name));
            git.approve(&approved_definition(Kind::Prompt, name));
        }
        let file = LockFile {
            servers: BTreeMap::from([
                ("git".parse().unwrap(), git),
                ("bare".parse().unwrap(), LockedServer::default()),
            ]),
        };
        let text = file.to_text();
        assert_eq!(LockFile::parse(&text), Ok(file));
        assert!(text.contains("\"x\\U0000202Ey"), "{text}");
        assert!(text.is_ascii(), "{text}");
    }

    #[track_caller]
    fn check(text: &str, line: usize, message: &str) {
        let (at, problem) = LockFile::parse(text).unwrap_err();
        assert_eq!((at, problem.to_string().as_str()), (Some(line), message));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_reported_with_its_line() {
        check("", 1, "missing field `version`");
        check(
            "version = 2",
            1,
            "unsupported version 2; this Kitbag supports version 1",
        );
        check(
            "version = 1\n[servers.git.tools]\nlog = \"f00\"",
            3,
            "`f00` is not a hash of 64 hexadecimal digits",
        );
        check(
            "version = 1\n\n[servers.\"a b\".tools]",
            3,
            "`a b` is not a valid server name",
        );
        let (at, problem) = LockFile::parse("version = 1\n<<<<<<< ours\n").unwrap_err();
        assert_eq!(at, Some(2));
        assert!(matches!(problem, LockFileProblem::Syntax { .. }));
    }
}
