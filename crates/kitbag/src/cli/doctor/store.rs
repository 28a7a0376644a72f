//! Checks that the store works and that other users cannot read it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kitbag_config::{Config, StoreLocation};
use kitbag_domain::{Lookup, Remedy as _};
use kitbag_store::{Error, Store};

use super::finding::{Area, Finding};
use crate::key_check::{UnknownTenant, unknown_tenants};
use kitbag_gateway::admin::priors_report::overdue_priors_age;
use kitbag_gateway::learning::priors::overdue::stale_message;
use kitbag_gateway::secrets::vault;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::store_address::{StoreConfigError, store_address, store_may_exist};

const AREA: Area = Area::Store;

/// The facts about the store that the other checks need.
pub(super) struct StoreState {
    /// The values of variables; `None` if the store cannot be opened, so no server can be started.
    pub(super) lookup: Option<Lookup>,
    pub(super) has_keys: bool,
}

pub(super) async fn check(config: &Config, findings: &mut Vec<Finding>) -> StoreState {
    let is_new = !store_may_exist(config);
    let store = match open_store(config, findings).await {
        Ok(store) => store,
        Err(finding) => {
            findings.push(finding);
            return StoreState {
                lookup: None,
                has_keys: false,
            };
        }
    };
    let state = check_contents(&store, config, findings).await;
    let what = if is_new {
        "created now"
    } else {
        "can be read and written"
    };
    findings.push(match store.check_writable().await {
        Ok(()) => AREA.ok(store.location(), what),
        Err(error) => store_error(store.location(), error),
    });
    store.close().await;
    state
}

async fn open_store(config: &Config, findings: &mut Vec<Finding>) -> Result<Store, Finding> {
    let address = store_address(config).map_err(address_error)?;
    if let StoreLocation::File(path) = &config.store {
        findings.extend(check_folder(path));
        check_writable(path).map_or(Ok(()), Err)?;
    }
    let place = address.to_string();
    let opened = Store::open(address).await;
    opened.map_err(|error| store_error(&place, error))
}

fn address_error(error: StoreConfigError) -> Finding {
    let remedy = error.remedy();
    let finding = AREA.error("address", error);
    remedy.into_iter().fold(finding, Finding::with_advice)
}

/// Checks the permissions of the store's files and the free space on its disk.
fn check_folder(path: &Path) -> Vec<Finding> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let visible = "other users on this machine can read it";
    let mut findings: Vec<_> = check_permissions(folder, 0o700, visible)
        .into_iter()
        .collect();
    for (name, what) in PRIVATE {
        findings.extend(check_permissions(&path.with_file_name(name), 0o600, what));
    }
    findings.extend(check_free_space(folder));
    findings
}

async fn check_contents(store: &Store, config: &Config, findings: &mut Vec<Finding>) -> StoreState {
    let unknown = unknown_tenants(&config.policy, store).await;
    findings.extend(unknown.unwrap_or_default().iter().map(|tenant| {
        AREA.warning(format!("tenant {tenant}"), UnknownTenant::MESSAGE)
            .with_advice(UnknownTenant::remedy(tenant))
    }));
    findings.extend(check_priors(store, config).await);
    let lookup = vault::open_lookup(config, store).await;
    StoreState {
        lookup: lookup
            .map_err(|error| findings.push(AREA.error("secrets", error)))
            .ok(),
        has_keys: store.has_active_keys(now()).await.unwrap_or(false),
    }
}

/// Warns if the priors are overdue.
async fn check_priors(store: &Store, config: &Config) -> Option<Finding> {
    let age = overdue_priors_age(config, store, now()).await.ok()??;
    let finding = AREA.warning("priors", stale_message(age));
    Some(
        finding.with_advice(
            "keep a gateway running, which computes them every night, or run `kitbag learned priors run`",
        ),
    )
}

const PRIVATE: [(&str, &str); 3] = [
    (
        "secret.key",
        "other users can read it and decrypt every secret in the store",
    ),
    (
        "pepper",
        "other users can read it and, with the database, forge API keys",
    ),
    ("kitbag.db", "other users on this machine can read it"),
];

fn check_permissions(path: &Path, wanted: u32, what: &str) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode() & 0o777;
    let subject = path.display().to_string();
    (mode & 0o077 != 0).then(|| {
        AREA.problem(&subject, what)
            .with_advice(format!("run `chmod {wanted:o} {subject}`"))
    })
}

/// Runs before the store is opened, since closing the file releases the locks on it.
fn check_writable(path: &Path) -> Option<Finding> {
    let error = match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => error,
        _ => return None,
    };
    let subject = path.display().to_string();
    let advice = format!(
        "take ownership with `chown $USER {subject}` and `chmod 600 {subject}`, or choose --data-dir"
    );
    Some(
        AREA.problem(&subject, "cannot be written")
            .with_reason(error.to_string())
            .with_advice(advice),
    )
}

fn store_error(place: &str, error: Error) -> Finding {
    let advice = match &error {
        Error::Newer { .. } => "update Kitbag, or choose another store with --store".to_owned(),
        Error::File { .. } | Error::Full { .. } => return AREA.error(place, error),
        Error::Unavailable { .. } | Error::Silent { .. } => {
            "check that the database server is running, and check the host, the password and `sslmode` in the address"
                .to_owned()
        }
        Error::Busy { .. } => "find the program that holds the lock, and try again".to_owned(),
        Error::Database { .. } if !place.starts_with("postgres://") => {
            format!("if it is damaged, move it away to start with a new one: `mv {place} {place}.old`")
        }
        _ => "see above, or choose another store with --store".to_owned(),
    };
    let finding = AREA.error(place, error);
    finding.with_advice(advice)
}

fn check_free_space(folder: &Path) -> Option<Finding> {
    const WARNING_LIMIT: u64 = 100 << 20;
    const PROBLEM_LIMIT: u64 = 5 << 20;
    let free = free_bytes(folder)?;
    let subject = folder.display().to_string();
    let what = format!("only {} MB are free on this disk", free >> 20);
    let finding = if free < PROBLEM_LIMIT {
        AREA.problem(subject, what)
    } else {
        AREA.warning(subject, what)
    };
    (free < WARNING_LIMIT)
        .then(|| finding.with_advice("free some space, or choose another disk with --data-dir"))
}

#[cfg(target_os = "linux")]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}
