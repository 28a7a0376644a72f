//! Checks if the store can be used, and which other users may read it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kitbag_config::{Config, StoreLocation};
use kitbag_domain::{Lookup, Remedy as _};
use kitbag_store::{Error, Store};

use super::finding::{Area, Finding};
use crate::key_check::{UnknownTenant, unknown_tenants};
use kitbag_gateway::admin::priors_report::stale_since;
use kitbag_gateway::learning::priors::overdue::stale;
use kitbag_gateway::secrets::vault;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::store_address::{StoreConfigError, store_address, store_may_exist};

const AREA: Area = Area::Store;

/// The facts about the store that the other checks need.
pub(super) struct StoreState {
    /// The source of the values of variables; none if servers cannot be started for want of a
    /// store.
    pub(super) lookup: Option<Lookup>,
    pub(super) has_keys: bool,
}

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) -> StoreState {
    let is_new = !store_may_exist(config);
    let store = match open(config, findings).await {
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
    let what = if is_new {
        "was made just now"
    } else {
        "opens and can be written"
    };
    findings.push(match store.check_writable().await {
        Ok(()) => AREA.ok(store.place(), what),
        Err(error) => unusable(store.place(), error),
    });
    store.close().await;
    state
}

async fn open(config: &Config, findings: &mut Vec<Finding>) -> Result<Store, Finding> {
    let address = store_address(config).map_err(without_address)?;
    if let StoreLocation::File(path) = &config.store {
        findings.extend(around(path));
        not_writable(path).map_or(Ok(()), Err)?;
    }
    let place = address.to_string();
    let opened = Store::open(address).await;
    opened.map_err(|error| unusable(&place, error))
}

fn without_address(error: StoreConfigError) -> Finding {
    let remedy = error.remedy();
    let finding = AREA.error("address", error);
    remedy.into_iter().fold(finding, Finding::mend)
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
    findings.extend(stale_priors(store, config).await);
    let lookup = vault::lookup(config, store).await;
    StoreState {
        lookup: lookup
            .map_err(|error| findings.push(AREA.error("secrets", error)))
            .ok(),
        has_keys: store.has_active_keys(now()).await.unwrap_or(false),
    }
}

/// Returns a finding if the records of tools should have been computed again by now.
async fn stale_priors(store: &Store, config: &Config) -> Option<Finding> {
    let age = stale_since(config, store, now()).await.ok()??;
    let finding = AREA.warning("priors", stale(age));
    Some(
        finding.mend(
            "let a gateway serve, which computes them every night, or run `kitbag priors run`",
        ),
    )
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

fn unusable(place: &str, error: Error) -> Finding {
    let advice = match &error {
        Error::Newer { .. } => "update Kitbag, or choose another place with --store".to_owned(),
        Error::File { .. } | Error::Full { .. } => return AREA.error(place, error),
        Error::Away { .. } | Error::Silent { .. } => {
            "check that the database server runs, and the address, the password and `sslmode` in it"
                .to_owned()
        }
        Error::Busy { .. } => "see which program holds the lock, and try again".to_owned(),
        Error::Database { .. } if !place.starts_with("postgres://") => {
            format!("if it is damaged, move it away and start anew: `mv {place} {place}.old`")
        }
        _ => "see above; or choose another place with --store".to_owned(),
    };
    let finding = AREA.error(place, error);
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
