//! `[lock]`: the reaction to drift from approved definitions, and the lock file that records them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kitbag_domain::{DefinitionKind, ServerName};
use kitbag_lockfile::file::LockFileProblem;
use kitbag_lockfile::{LockFile, LockFileError, LockedServer};
use toml::Spanned;

use crate::error::Fault;
use crate::raw::RawDuration;
use crate::rows::{KeyRow, KeyTable, SectionRow};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.lock));

const TABLE: KeyTable = KeyTable {
    path: "lock",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "on_drift",
            meaning: "What to do when a server in the [lock file](lock.md) lists a definition that differs from \
                      the approved one. `\"hold\"`: callers get it only after `kitbag lock approve`. `\"report\"`: the log, \
                      the metrics and `kitbag lock status` report it.",
            ..KeyRow::text(|| HOLD.to_owned())
        },
        KeyRow {
            name: "recheck_after",
            meaning: "The longest age of a locked server's listing when one of its tools or prompts is called. An \
                      older listing is fetched again first, because not every server announces its changes.",
            ..KeyRow::duration(|| RECHECK_AFTER)
        },
    ],
};

/// A healthy server is asked at most twelve times an hour.
const RECHECK_AFTER: Duration = Duration::from_secs(300);

const HOLD: &str = "hold";
const CHOICES: [(&str, OnDrift); 2] = [(HOLD, OnDrift::Hold), ("report", OnDrift::Report)];

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawLock {
    on_drift: Option<Spanned<String>>,
    recheck_after: Option<Spanned<RawDuration>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDrift {
    #[default]
    Hold,
    Report,
}

/// The approved definitions, and the reaction to drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    pub on_drift: OnDrift,
    /// Listings older than this are fetched again before a call.
    pub recheck_after: Duration,
    pub state: LockState,
    /// The server that ships with Kitbag and needs no approval.
    pub built_in: Option<ServerName>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LockState {
    /// Nothing was ever approved, so everything passes.
    #[default]
    Absent,
    Read(LockFile),
    Unreadable(LockFileError),
}

/// The approved definitions of one server.
#[derive(Debug, Clone, Copy)]
pub enum ServerLock<'a> {
    /// The server is not locked.
    Unlocked,
    Locked(&'a LockedServer),
    /// The lock file cannot be read, so the approved definitions are unknown.
    Unreadable,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            on_drift: OnDrift::default(),
            recheck_after: RECHECK_AFTER,
            state: LockState::default(),
            built_in: None,
        }
    }
}

impl Lock {
    /// Returns the approved definitions of a server.
    pub fn server_lock(&self, server: &ServerName) -> ServerLock<'_> {
        if self.built_in.as_ref() == Some(server) {
            return ServerLock::Unlocked;
        }
        match &self.state {
            LockState::Absent => ServerLock::Unlocked,
            LockState::Read(file) => match file.servers.get(server) {
                Some(locked) => ServerLock::Locked(locked),
                None => ServerLock::Unlocked,
            },
            LockState::Unreadable(_) => ServerLock::Unreadable,
        }
    }

    /// True if the definitions of this kind are compared with the approved ones. With an unreadable
    /// lock file, all are.
    pub fn locks_kind(&self, server: &ServerName, kind: DefinitionKind) -> bool {
        match self.server_lock(server) {
            ServerLock::Unlocked => false,
            ServerLock::Locked(locked) => locked.locks(kind),
            ServerLock::Unreadable => true,
        }
    }

    /// True if callers get only approved definitions of this server.
    pub fn requires_approval(&self, server: &ServerName) -> bool {
        self.on_drift == OnDrift::Hold && !matches!(self.server_lock(server), ServerLock::Unlocked)
    }
}

impl LockState {
    pub(crate) fn load(path: &Path) -> Self {
        let text = match fs::read_to_string(path) {
            // A dangling link is a mistake, not a decision against locking.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Self::Absent;
            }
            read => read.map_err(|error| {
                let reason = error.to_string();
                (None, LockFileProblem::Unreadable { reason })
            }),
        };
        match text.and_then(|text| LockFile::parse(&text)) {
            Ok(file) => Self::Read(file),
            Err((line, problem)) => Self::Unreadable(LockFileError {
                path: path.to_owned(),
                line,
                problem,
            }),
        }
    }
}

/// The lock file next to a configuration: `kitbag.lock` next to `kitbag.toml`.
pub(crate) fn lock_file_path(configuration: &Path) -> PathBuf {
    configuration.with_extension("lock")
}

pub(crate) fn build(raw: RawLock) -> Result<Lock, Fault> {
    let section = Section::new("lock");
    let on_drift = section.parse_choice("on_drift", raw.on_drift, &CHOICES)?;
    Ok(Lock {
        on_drift: on_drift.unwrap_or_default(),
        recheck_after: section.parse_duration("recheck_after", raw.recheck_after, RECHECK_AFTER)?,
        ..Lock::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{check, config};

    #[test]
    fn drift_is_withheld_unless_the_operator_only_wants_a_report() {
        let chosen = |text: &str| config(text).unwrap().lock.on_drift;
        assert_eq!(chosen(""), OnDrift::Hold);
        assert_eq!(chosen("lock.on_drift = 'report'"), OnDrift::Report);
        check(
            "[lock]\non_drift = \"ignore\"",
            "line 2, in `lock.on_drift`: `ignore` is not one of `hold`, `report`",
        );
    }

    #[test]
    fn a_lock_that_cannot_be_read_locks_every_server_but_the_built_in_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kitbag.lock");
        let lock = || Lock {
            state: LockState::load(&path),
            built_in: Some("agents".parse().unwrap()),
            ..Lock::default()
        };
        let git = "git".parse().unwrap();
        assert!(!lock().requires_approval(&git));
        for broken in ["", "version = 1\n<<<<<<< ours", "version = 9"] {
            fs::write(&path, broken).unwrap();
            assert!(lock().requires_approval(&git), "{broken}");
            assert!(!lock().requires_approval(&"agents".parse().unwrap()));
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert!(lock().requires_approval(&git));
        fs::remove_file(&path).unwrap();
        fs::write(&path, "version = 1\n[servers.git.tools]").unwrap();
        assert!(
            lock().requires_approval(&git) && !lock().requires_approval(&"other".parse().unwrap())
        );
    }
}
