//! Checks if the store can be used, and which other users may read it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kitbag_config::Config;
use kitbag_domain::Lookup;
use kitbag_store::{Error, Store};

use super::finding::{Area, Finding};
use crate::key_check::{UnknownTenant, unknown_tenants};
use kitbag_gateway::clock::now;
use kitbag_gateway::vault;

const AREA: Area = Area::Store;

/// The facts about the store that the other checks need.
pub(super) struct StoreState {
    /// The source of the values of variables; none if servers cannot be started for want of a
    /// store.
    pub(super) lookup: Option<Lookup>,
    pub(super) has_keys: bool,
}

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) -> StoreState {
    let path = &config.store_path;
    findings.extend(around(path));
    let is_new = !path.exists();
    let opened = match not_writable(path) {
        Some(finding) => Err(finding),
        None => Store::open(path).await.map_err(|it| unusable(path, it)),
    };
    let store = match opened {
        Ok(store) => store,
        Err(finding) => {
            findings.push(finding);
            return StoreState {
                lookup: None,
                has_keys: false,
            };
        }
    };
    let state = look_into(&store, config, findings).await;
    store.close().await;
    let what = if is_new {
        "was made just now"
    } else {
        "opens and can be written"
    };
    findings.push(AREA.ok(path.display().to_string(), what));
    state
}

/// Checks the folder of the store: which users can look into it, and the room on its disk.
fn around(path: &Path) -> Vec<Finding> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let visible = "others on this machine can look into it";
    let mut findings: Vec<_> = open_to_others(folder, 0o700, visible).into_iter().collect();
    for (name, what) in PRIVATE {
        findings.extend(open_to_others(&path.with_file_name(name), 0o600, what));
    }
    findings.extend(nearly_full(folder));
    findings
}

async fn look_into(store: &Store, config: &Config, findings: &mut Vec<Finding>) -> StoreState {
    let unknown = unknown_tenants(&config.policy, store).await;
    findings.extend(unknown.unwrap_or_default().iter().map(|tenant| {
        AREA.warning(format!("tenant {tenant}"), UnknownTenant::WHAT)
            .mend(UnknownTenant::remedy(tenant))
    }));
    let lookup = vault::lookup(config, store).await;
    StoreState {
        lookup: lookup
            .map_err(|error| findings.push(AREA.error("secrets", error)))
            .ok(),
        has_keys: store.has_active_keys(now()).await.unwrap_or(false),
    }
}

const PRIVATE: [(&str, &str); 3] = [
    (
        "secret.key",
        "others can read it, and with it every secret in the store",
    ),
    (
        "pepper",
        "others can read it, and with the database forge API keys",
    ),
    ("kitbag.db", "others on this machine can read it"),
];

fn open_to_others(path: &Path, wanted: u32, what: &str) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let subject = path.display().to_string();
    (mode & 0o077 != 0).then(|| {
        AREA.problem(&subject, what)
            .mend(format!("run `chmod {wanted:o} {subject}`"))
    })
}

/// This is checked before the store is opened: closing the file later would drop the locks on it.
fn not_writable(path: &Path) -> Option<Finding> {
    let error = match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => error,
        _ => return None,
    };
    let subject = path.display().to_string();
    let advice = format!(
        "make it yours: `chown $USER {subject}` and `chmod 600 {subject}`, or choose --data-dir"
    );
    Some(
        AREA.problem(&subject, "cannot be written")
            .because(error.to_string())
            .mend(advice),
    )
}

fn unusable(path: &Path, error: Error) -> Finding {
    let advice = match &error {
        Error::Newer { .. } => "update Kitbag, or choose another place with --data-dir".to_owned(),
        Error::File { .. } => return AREA.error(path.display().to_string(), error),
        Error::Database { .. } => {
            format!(
                "if it is damaged, move it away and start anew: `mv {0} {0}.old`",
                path.display()
            )
        }
        _ => "see above; or choose another place with --data-dir".to_owned(),
    };
    let finding = AREA.error(path.display().to_string(), error);
    finding.mend(advice)
}

/// Returns a finding if little is left of the disk that the store lies on.
fn nearly_full(folder: &Path) -> Option<Finding> {
    const LITTLE: u64 = 100 << 20;
    const NOTHING: u64 = 5 << 20;
    let free = free(folder)?;
    let subject = folder.display().to_string();
    let what = format!("only {} MB are free on this disk", free >> 20);
    let finding = if free < NOTHING {
        AREA.problem(subject, what)
    } else {
        AREA.warning(subject, what)
    };
    (free < LITTLE).then(|| finding.mend("make room, or choose another disk with --data-dir"))
}

#[cfg(target_os = "linux")]
fn free(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(target_os = "linux"))]
fn free(_folder: &Path) -> Option<u64> {
    None
}
