//! `[agents]`: the built-in server with knowledge about coding agents.

use std::ops::Range;
use std::path::{Path, PathBuf};

use kitbag_domain::ServerName;
use kitbag_upstream::{ServerKind, ServerLimits, ServerSpec};

use toml::{Spanned, Value};

use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::rows::{Fallback, KeyRow, KeyTable, SectionRow, TableLayout, ValueType};
use crate::values::Section;

pub(crate) const SECTION: SectionRow = SectionRow {
    name: NAME,
    layout: TableLayout::One(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.agents)),
};

const TABLE: KeyTable = KeyTable {
    path: NAME,
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "enabled",
            value: ValueType::Flag,
            default: Fallback::Value(|| Value::Boolean(true)),
            meaning: "`false` disables the built-in server.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "directory",
            default: Fallback::Unset("the data in the binary"),
            meaning: "A directory with data of your own: `agents/<agent>/capabilities/current.json`, and if you like \
                      `framework/data/aliases.json` and `framework/data/agent-aliases.json`. Read when the server \
                      starts.",
            ..KeyRow::PLAIN
        },
    ],
};

/// The name of the built-in server and of its section.
const NAME: &str = "agents";

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawAgents {
    enabled: Option<Spanned<bool>>,
    directory: Option<Spanned<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agents {
    /// The directory of the data, unless the data in the binary is used.
    pub directory: Option<PathBuf>,
    pub spec: ServerSpec,
}

/// Returns `None` if the server is disabled, or if a configured server or provider already has its
/// name. A taken name is an error only if the user also set `enabled = true` or `directory` under
/// `[agents]`.
pub(crate) fn build(
    raw: RawAgents,
    taken: impl Fn(&ServerName) -> bool,
    base_dirs: &BaseDirs,
) -> Result<Option<Agents>, Fault> {
    let name: ServerName = NAME.parse().expect("a valid name");
    let enabled = raw.enabled.as_ref().map(|it| *it.get_ref());
    if enabled == Some(false) {
        return Ok(None);
    }
    if taken(&name) {
        return match raw.requested_at() {
            Some(span) => Err(name_taken_fault(name, span)),
            None => Ok(None),
        };
    }
    let directory = raw
        .directory
        .map(|path| base_dirs.resolve_path(path.get_ref()));
    let spec = server_spec(name, directory.as_deref());
    Ok(Some(Agents { directory, spec }))
}

impl RawAgents {
    /// Returns the range of a key that explicitly asks for the server.
    fn requested_at(&self) -> Option<Range<usize>> {
        let enabled = self.enabled.as_ref().map(Spanned::span);
        enabled.or_else(|| self.directory.as_ref().map(Spanned::span))
    }
}

fn name_taken_fault(name: ServerName, span: Range<usize>) -> Fault {
    let section = Section {
        key: NAME.to_owned(),
        span,
    };
    section.fault(Problem::NameTaken { name })
}

fn server_spec(name: ServerName, directory: Option<&Path>) -> ServerSpec {
    let place = directory.map(|path| path.display().to_string());
    let version = format!(
        "{} {}",
        env!("CARGO_PKG_VERSION"),
        place.unwrap_or_default()
    );
    ServerSpec {
        name,
        kind: ServerKind::BuiltIn { version },
        description: None,
        oauth: Default::default(),
        era: None,
        limits: ServerLimits::default(),
    }
}
