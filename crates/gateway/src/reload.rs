//! Follows the configuration while the gateway runs: an edit is taken over within a second, and
//! one that cannot be used is told while everything goes on as before.
//!
//! Files are looked at rather than watched: that holds for editors that put a new file in place
//! of the old, for links that are turned elsewhere, for network and container mounts, and for
//! files in folders that do not exist yet.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;

use crate::app::{NoKeys, check_keys};
use crate::background;
use crate::config::{Config, ConfigError, OpenDoor, Serve, Whereabouts};
use crate::house::House;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Whoever is still writing is given this long to finish.
const SETTLE: Duration = Duration::from_millis(100);

/// Where the configuration is, what its files looked like when they were read last, and what the
/// gateway was started with.
#[derive(Debug)]
pub struct Follower {
    whereabouts: Whereabouts,
    seen: Vec<Look>,
    running: Config,
}

/// Through which door clients come; the network needs more care than a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entrance {
    Http,
    Stdio,
}

/// What can be told of a file without reading it; nothing when it is not there.
type Look = (PathBuf, Option<(SystemTime, u64)>);

impl Follower {
    /// Looks first and reads then, so that no edit is lost between the two.
    pub fn begin(whereabouts: Whereabouts) -> Result<Self, ConfigError> {
        let seen = looks(&whereabouts);
        let running = whereabouts.load()?;
        Ok(Self { whereabouts, seen, running })
    }

    pub fn running(&self) -> &Config {
        &self.running
    }

    /// Until the house closes.
    pub(crate) async fn follow(mut self, house: Arc<House>, entrance: Entrance) {
        loop {
            self.edited().await;
            match self.take_over(&house, entrance).await {
                Ok(()) => {
                    background::announce_everything(&house.rooms());
                    tokio::spawn(background::list_unknown(house.clone()));
                }
                Err(error) => tracing::error!(
                    remedy = remedy(&error),
                    "the changed configuration cannot be used, the one before stays in force: {error:#}"
                ),
            }
        }
    }

    /// Comes back when a file has changed, and has stopped changing.
    async fn edited(&mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let mut now = looks(&self.whereabouts);
            if now == self.seen {
                continue;
            }
            loop {
                tokio::time::sleep(SETTLE).await;
                let then = std::mem::replace(&mut now, looks(&self.whereabouts));
                if now == then {
                    self.seen = now;
                    return;
                }
            }
        }
    }

    async fn take_over(&self, house: &House, entrance: Entrance) -> anyhow::Result<()> {
        let config = self.whereabouts.load()?;
        if entrance == Entrance::Http {
            let serve = Serve { bind: self.running.serve.bind, ..config.serve.clone() };
            serve.guarded()?;
            check_keys(&serve, &house.rooms().store).await?;
        }
        let done = house.refurnish(&config).await.context("it was read, but cannot be put to work")?;
        tracing::info!(
            added = names(&done.added),
            changed = names(&done.changed),
            removed = names(&done.removed),
            "the changed configuration is in force"
        );
        for key in until_restart(&self.running, &config) {
            tracing::warn!(key, "a change of this takes effect when Kitbag is started again");
        }
        Ok(())
    }
}

fn looks(whereabouts: &Whereabouts) -> Vec<Look> {
    let look = |path: PathBuf| {
        let look = look(&path);
        (path, look)
    };
    whereabouts.files().into_iter().map(look).collect()
}

fn look(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// What is bound to the life of the process.
fn until_restart(running: &Config, config: &Config) -> Vec<&'static str> {
    let same = [
        ("serve.bind", running.serve.bind == config.serve.bind),
        ("store.path", running.store_path == config.store_path),
        ("index.embedder", running.embedder == config.embedder),
        ("telemetry.otlp_endpoint", running.telemetry == config.telemetry),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
}

fn remedy(error: &anyhow::Error) -> String {
    let found = error.chain().find_map(|cause| match cause.downcast_ref::<ConfigError>() {
        Some(config) => config.remedy(),
        None if cause.is::<OpenDoor>() => Some(OpenDoor::REMEDY.to_owned()),
        None => cause.is::<NoKeys>().then(|| NoKeys::REMEDY.to_owned()),
    });
    found.unwrap_or_default()
}

fn names(servers: &std::collections::BTreeSet<kitbag_domain::ServerName>) -> String {
    servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
