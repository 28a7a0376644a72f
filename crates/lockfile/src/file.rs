//! The lock file: one sorted line per approved definition, so that versions of the file can be
//! merged and a change can be reviewed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

use kitbag_domain::text::reveal_invisible;
use kitbag_domain::toml_problem::line_number;
use kitbag_domain::{DefinitionKind, ServerName};
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

/// The approved definitions of one kind, by the server's own names or URIs.
pub type ApprovedHashes = BTreeMap<String, DefinitionHash>;

/// The approved definitions of one server, by kind. Tools and prompts are always locked; another
/// kind is not locked if it is absent, as in files of earlier versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedServer(BTreeMap<DefinitionKind, ApprovedHashes>);

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
# The approved definitions of servers, each by its hash. Kitbag wrote this file:
# see what has changed with `kitbag lock diff`, and approve it with
# `kitbag lock approve`.
";

/// The names of the tables, in the order in which they are written.
const TABLES: [(&str, DefinitionKind); 5] = [
    ("tools", DefinitionKind::Tool),
    ("prompts", DefinitionKind::Prompt),
    ("resource_templates", DefinitionKind::ResourceTemplate),
    ("skills", DefinitionKind::Skill),
    ("resources", DefinitionKind::Resource),
];

impl LockFile {
    pub fn parse(text: &str) -> Result<Self, (Option<usize>, LockFileProblem)> {
        let read = read_lock_file(text);
        read.map_err(|(span, problem)| (span.map(|span| line_number(text, span.start)), problem))
    }

    /// Serializes the file deterministically.
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEADING}version = {VERSION}\n");
        for (server, locked) in &self.servers {
            for (table, kind) in TABLES {
                let Some(hashes) = locked.definitions_of(kind) else {
                    continue;
                };
                // A server without prompts is locked by its table of tools, so new prompts are
                // detected as well.
                if hashes.is_empty() && kind == DefinitionKind::Prompt {
                    continue;
                }
                let _ = writeln!(text, "\n[servers.{server}.{table}]");
                for (name, hash) in hashes {
                    let _ = writeln!(text, "{} = \"{hash}\"", quote_key(name));
                }
            }
        }
        text
    }
}

impl Default for LockedServer {
    fn default() -> Self {
        let always = [DefinitionKind::Tool, DefinitionKind::Prompt];
        Self(always.map(|kind| (kind, BTreeMap::new())).into())
    }
}

impl LockedServer {
    /// The kinds that are locked unless the operator asks for more. Resources are data, and many
    /// servers list new ones every minute.
    pub const USUAL_KINDS: [DefinitionKind; 4] = [
        DefinitionKind::Tool,
        DefinitionKind::Prompt,
        DefinitionKind::ResourceTemplate,
        DefinitionKind::Skill,
    ];

    /// Approves the listed definitions of these kinds, and of all tools and prompts.
    pub fn from_listed(kinds: &[DefinitionKind], listed: &[ListedDefinition]) -> Self {
        let mut locked = Self(BTreeMap::new());
        for kind in Self::default().0.keys().chain(kinds) {
            locked.lock_kind(*kind, listed);
        }
        locked
    }

    /// Locks the definitions of one kind, and approves the listed ones. Returns false if the kind
    /// is locked already; then nothing is approved.
    pub fn lock_kind(&mut self, kind: DefinitionKind, listed: &[ListedDefinition]) -> bool {
        if self.locks(kind) {
            return false;
        }
        self.0.insert(kind, BTreeMap::new());
        // Of a name that is listed twice, the first counts.
        let listed = listed.iter().rev().filter(|it| it.kind == kind);
        listed.for_each(|it| self.approve(it));
        true
    }

    pub fn approve(&mut self, definition: &ListedDefinition) {
        let hashes = self.0.entry(definition.kind).or_default();
        hashes.insert(definition.name.clone(), definition.hash);
    }

    /// Approves the current state of one drifted definition.
    pub fn approve_drift(&mut self, drifted: &DriftedDefinition) {
        let hashes = self.0.entry(drifted.kind).or_default();
        if let Drift::Renamed { from } = &drifted.drift {
            hashes.remove(from);
        }
        match drifted.hash {
            Some(hash) => hashes.insert(drifted.name.clone(), hash),
            None => hashes.remove(&drifted.name),
        };
    }

    /// True if callers may get this definition.
    pub fn is_approved(&self, definition: &ListedDefinition) -> bool {
        self.approved_hash(definition.kind, &definition.name)
            .is_some_and(|approved| definition.matches_approved(approved))
    }

    pub fn approved_hash(&self, kind: DefinitionKind, name: &str) -> Option<&DefinitionHash> {
        self.definitions_of(kind)?.get(name)
    }

    /// The approved definitions of one kind, if it is locked.
    pub fn definitions_of(&self, kind: DefinitionKind) -> Option<&ApprovedHashes> {
        self.0.get(&kind)
    }

    pub fn locks(&self, kind: DefinitionKind) -> bool {
        self.0.contains_key(&kind)
    }

    /// Returns all approved names and URIs.
    pub fn names(&self) -> impl Iterator<Item = (DefinitionKind, &str)> {
        let tables = self.0.iter();
        tables.flat_map(|(kind, hashes)| hashes.keys().map(|name| (*kind, name.as_str())))
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
    tools: RawHashes,
    prompts: RawHashes,
    resource_templates: Option<RawHashes>,
    skills: Option<RawHashes>,
    resources: Option<RawHashes>,
}

type RawHashes = BTreeMap<String, Spanned<String>>;

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
    let tables = [
        (DefinitionKind::Tool, Some(raw.tools)),
        (DefinitionKind::Prompt, Some(raw.prompts)),
        (DefinitionKind::ResourceTemplate, raw.resource_templates),
        (DefinitionKind::Skill, raw.skills),
        (DefinitionKind::Resource, raw.resources),
    ];
    let tables = tables.into_iter();
    let tables = tables.filter_map(|(kind, hashes)| Some((kind, hashes?)));
    let tables = tables.map(|(kind, hashes)| Ok((kind, read_hashes(hashes)?)));
    let locked = LockedServer(tables.collect::<Result<_, _>>()?);
    Ok((server, locked))
}

fn read_hashes(raw: RawHashes) -> Result<ApprovedHashes, Misread> {
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

    fn approved_definition(kind: DefinitionKind, name: &str) -> ListedDefinition {
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
        for (kind, name) in DefinitionKind::ALL
            .iter()
            .flat_map(|kind| odd.map(|name| (*kind, name)))
        {
            git.approve(&approved_definition(kind, name));
        }
        let mut without_skills = LockedServer::default();
        without_skills.lock_kind(DefinitionKind::Skill, &[]);
        let file = LockFile {
            servers: BTreeMap::from([
                ("git".parse().unwrap(), git),
                ("bare".parse().unwrap(), LockedServer::default()),
                ("none".parse().unwrap(), without_skills),
            ]),
        };
        let text = file.to_text();
        assert_eq!(LockFile::parse(&text), Ok(file));
        assert!(text.contains("\"x\\U0000202Ey"), "{text}");
        assert!(text.is_ascii(), "{text}");
    }

    #[test]
    fn a_file_of_an_earlier_version_locks_tools_and_prompts_only() {
        let file = LockFile::parse("version = 1\n[servers.git.tools]\n").unwrap();
        let locked = file.servers.values().next().unwrap();
        let kinds = DefinitionKind::ALL.into_iter();
        let kinds: Vec<_> = kinds.filter(|kind| locked.locks(*kind)).collect();
        assert_eq!(kinds, [DefinitionKind::Tool, DefinitionKind::Prompt]);
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
