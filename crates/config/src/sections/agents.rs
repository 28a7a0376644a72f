//! `[agents]`: the built-in server with knowledge about coding agents.

use std::path::PathBuf;

use kitbag_domain::ServerName;
use kitbag_upstream::{ServerKind, ServerLimits, ServerSpec};

use toml::Spanned;

use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::rows::{KeyRow, KeyTable, SectionRow};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.agents));

const TABLE: KeyTable = KeyTable {
    path: NAME,
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "enabled",
            meaning: "`false` disables the built-in server.",
            ..KeyRow::flag(|| true)
        },
        KeyRow {
            name: "directory",
            meaning: "A directory with data of your own: `agents/<agent>/capabilities/current.json`, and if you like \
                      `framework/data/aliases.json` and `framework/data/agent-aliases.json`. Read when the server \
                      starts.",
            ..KeyRow::unset("the data in the binary")
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
        let enabled = raw.enabled.as_ref().map(Spanned::span);
        let requested = enabled.or_else(|| raw.directory.as_ref().map(Spanned::span));
        return match requested {
            Some(span) => Err(Fault::new(span, NAME, Problem::NameTaken { name })),
            None => Ok(None),
        };
    }
    let directory = raw
        .directory
        .map(|path| base_dirs.resolve_path(path.get_ref()));
    let place = directory.as_ref().map(|path| path.display().to_string());
    let place = place.unwrap_or_default();
    let version = format!("{} {place}", env!("CARGO_PKG_VERSION"));
    let spec = ServerSpec {
        name,
        kind: ServerKind::BuiltIn { version },
        description: None,
        oauth: Default::default(),
        era: None,
        limits: ServerLimits::default(),
    };
    Ok(Some(Agents { directory, spec }))
}
