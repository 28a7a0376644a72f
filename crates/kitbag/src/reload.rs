//! Follows the configuration while the gateway runs: an edit is taken over within a second; an edit
//! that cannot be used is reported, and everything goes on as before. If the configuration says so,
//! the files of clients are followed, too, and new servers there are imported.
//!
//! Files are looked at rather than watched: that holds for editors that put a new file in place
//! of the old, for links that are turned elsewhere, for network and container mounts, and for
//! files in folders that do not exist yet.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use kitbag_clients::Client;
use kitbag_config::{
    Config, ConfigError, ConfigSource, Project, Serve, UnprotectedBind, changed_sections,
    keys_needing_restart,
};
use kitbag_domain::{Action, Event, ShortText};
use tokio::sync::watch;

use crate::import::{self, ImportAction, ImportRow};
use crate::key_check::{NoKeys, check_keys};
use crate::trail;
use kitbag_gateway::catalog::list_servers;
use kitbag_gateway::front::announce;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::host::{GatewayHost, ServerChanges};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A program that is still writing is given this long to finish.
const SETTLE: Duration = Duration::from_millis(100);

/// The place of the configuration, the looks of its files when they were read last, and the
/// configuration that the gateway was started with.
#[derive(Debug)]
pub(crate) struct Follower {
    whereabouts: ConfigSource,
    running: Config,
    /// The configuration that the gateway works by now.
    in_force: Config,
    /// The file in force.
    origin: Option<PathBuf>,
    /// The project's file beside the file in force.
    project: Project,
    /// The clients to follow.
    clients: Vec<Client>,
    configured: Vec<FileLook>,
    settled: watch::Sender<Settled>,
    /// The list is empty until the clients' files were looked at first: they may have changed while
    /// no gateway ran.
    written_down: Vec<FileLook>,
}

#[derive(Debug, Clone, Copy)]
enum Edited {
    Configuration,
    Clients,
}

/// The way by which clients connect; the network needs more care than a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServingTransport {
    Http,
    Stdio,
}

/// The facts that can be told of a file without reading it; nothing when it is not there.
type FileLook = (PathBuf, Option<(SystemTime, u64)>);

impl Follower {
    /// Looks at the files first and reads them then, so that no edit is lost between the two.
    pub(crate) fn begin(whereabouts: ConfigSource) -> Result<Self, ConfigError> {
        let configured = looks(whereabouts.source_files());
        let running = whereabouts.load()?;
        tell(&running.project);
        let (origin, project) = (running.origin.clone(), running.project.clone());
        let (clients, written_down) = (running.follow.clone(), Vec::new());
        let settled = watch::Sender::new(Settled {
            looks: configured.clone(),
            project: project.clone(),
        });
        let in_force = running.clone();
        Ok(Self {
            whereabouts,
            running,
            in_force,
            origin,
            project,
            clients,
            configured,
            settled,
            written_down,
        })
    }

    pub(crate) fn whereabouts(&self) -> &ConfigSource {
        &self.whereabouts
    }

    /// Returns the value by which other tasks can wait until the latest edit has been looked at.
    pub(crate) fn freshness(&self) -> Freshness {
        Freshness {
            whereabouts: self.whereabouts.clone(),
            settled: self.settled.subscribe(),
        }
    }

    pub(crate) fn running(&self) -> &Config {
        &self.running
    }

    /// Follows the files until the gateway closes.
    pub(crate) async fn follow(mut self, host: Arc<GatewayHost>, entrance: ServingTransport) {
        loop {
            let done = match self.edited().await {
                Edited::Configuration => self.take_over(&host, entrance).await,
                Edited::Clients => self.import(&host).await,
            };
            if let Err(error) = done {
                let remedy = remedy(&error);
                tracing::error!(
                    remedy,
                    "a change cannot be used, what was before stays in force: {error:#}"
                );
            }
            let (looks, project) = (self.configured.clone(), self.project.clone());
            self.settled.send_replace(Settled { looks, project });
        }
    }

    /// Comes back when a file has changed, and has stopped changing.
    async fn edited(&mut self) -> Edited {
        loop {
            let configured =
                settled(|| looks(self.whereabouts.source_files()), &self.configured).await;
            if let Some(changed) = configured {
                self.configured = changed;
                return Edited::Configuration;
            }
            let written_down = settled(|| self.client_looks(), &self.written_down).await;
            if let Some(changed) = written_down {
                self.written_down = changed;
                return Edited::Clients;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn client_looks(&self) -> Vec<FileLook> {
        looks(import::files(&self.clients, &self.whereabouts.environment))
    }

    /// Each added server is an edit of the configuration, and taken over as one.
    async fn import(&self, host: &GatewayHost) -> anyhow::Result<()> {
        let plan = import::additions(&self.clients, &self.whereabouts).await?;
        for problem in plan
            .problems
            .iter()
            .filter(|problem| !problem.is_harmless())
        {
            tracing::warn!("{problem}");
        }
        plan.rows.iter().for_each(mention);
        for edit in kitbag_config::take_edits() {
            host.gateway()
                .services
                .audit
                .note(trail::edit("kitbag serve", &edit));
        }
        Ok(())
    }

    async fn take_over(
        &mut self,
        host: &Arc<GatewayHost>,
        entrance: ServingTransport,
    ) -> anyhow::Result<()> {
        if let Some(path) = self.origin.as_ref().filter(|path| !path.exists()) {
            // An operator who wants to serve nothing can say so; a file that vanished is an
            // accident.
            bail!("{} is gone", path.display());
        }
        let config = self.whereabouts.load()?;
        if entrance == ServingTransport::Http {
            self.check_open_address(&config, host).await?;
        }
        let done = host
            .replace_config(&config)
            .await
            .context("it was read, but cannot be put to work")?;
        tracing::info!(
            added = names(&done.added),
            changed = names(&done.changed),
            removed = names(&done.removed),
            "the changed configuration is in force"
        );
        for key in keys_needing_restart(&self.running, &config) {
            tracing::warn!(
                key,
                "a change of this takes effect when Kitbag is started again"
            );
        }
        announce::announce_everything(&host.gateway());
        tokio::spawn(list_servers::list_unknown(host.clone()));
        if config.project != self.project {
            tell(&config.project);
        }
        host.gateway()
            .services
            .audit
            .note(in_force(&self.in_force, &config, &done));
        self.clients = config.follow.clone();
        self.origin = config.origin.clone();
        self.project = config.project.clone();
        self.in_force = config;
        Ok(())
    }

    /// The address stays the one that the gateway was started with.
    async fn check_open_address(&self, config: &Config, host: &GatewayHost) -> anyhow::Result<()> {
        let serve = Serve {
            bind: self.running.serve.bind,
            ..config.serve.clone()
        };
        serve.check_exposure()?;
        check_keys(&serve, &host.gateway().services.store).await
    }
}

/// Logs what became of a server that a client has.
fn mention(row: &ImportRow) {
    let server = &row.name;
    match (row.action, &row.reason) {
        (ImportAction::Add, _) if row.waits() => {
            let why: Vec<_> = row.dangers.iter().map(ToString::to_string).collect();
            let why = why.join("; ");
            let remedy =
                format!("if you want it, remove `enabled = false` from [servers.{server}]");
            tracing::warn!(%server, why, remedy, "imported from a client, and switched off until you look at it");
        }
        (ImportAction::Add, _) => tracing::info!(%server, "imported from a client"),
        (ImportAction::Refused, Some(reason)) => {
            tracing::warn!(%server, "cannot be imported: {reason}");
        }
        _ => {}
    }
}

/// Logs the notices of a project's file, so that the operator soon sees that the file is not
/// obeyed.
pub(crate) fn tell(project: &Project) {
    for (what, remedy) in project.notices() {
        tracing::warn!(remedy, "{what}");
    }
}

/// The files that were looked at last.
#[derive(Debug)]
struct Settled {
    /// The files as they were when they were taken over, or refused.
    looks: Vec<FileLook>,
    /// The state of the project's file since then.
    project: Project,
}

/// Tells if the gateway has caught up with the files of its configuration.
#[derive(Debug)]
pub(crate) struct Freshness {
    whereabouts: ConfigSource,
    settled: watch::Receiver<Settled>,
}

impl Freshness {
    /// Comes back when the files as they are now have been taken over or refused: an edit made
    /// before this call is then in force if it can be. Returns the project's file that is in force.
    pub(crate) async fn caught_up(&self) -> Option<PathBuf> {
        let now = looks(self.whereabouts.source_files());
        let mut settled = self.settled.clone();
        // A gateway that has stopped following will not change any more.
        let waiting = settled.wait_for(|settled| settled.looks == now);
        let _late = tokio::time::timeout(CATCHING_UP, waiting).await;
        self.settled
            .borrow()
            .project
            .active_path()
            .map(Path::to_owned)
    }
}

/// The longest wait: a file that is written again and again is never caught up with.
const CATCHING_UP: Duration = Duration::from_secs(5);

/// Returns the looks of the files if they are not as before, as soon as they stay the same for a
/// moment.
async fn settled(look: impl Fn() -> Vec<FileLook>, before: &[FileLook]) -> Option<Vec<FileLook>> {
    let mut now = look();
    if now == before {
        return None;
    }
    loop {
        tokio::time::sleep(SETTLE).await;
        let then = std::mem::replace(&mut now, look());
        if now == then {
            return Some(now);
        }
    }
}

fn looks(paths: Vec<PathBuf>) -> Vec<FileLook> {
    paths.into_iter().map(look).collect()
}

fn look(path: PathBuf) -> FileLook {
    let written = fs::metadata(&path).ok();
    let written = written.and_then(|it| Some((it.modified().ok()?, it.len())));
    (path, written)
}

/// Returns the event for the audit: the servers and the sections that have changed.
fn in_force(before: &Config, after: &Config, servers: &ServerChanges) -> Event {
    let path = after
        .origin
        .as_deref()
        .map(|path| path.display().to_string());
    let mut changes: Vec<String> = [
        ("added", &servers.added),
        ("changed", &servers.changed),
        ("removed", &servers.removed),
    ]
    .into_iter()
    .filter(|(_, servers)| !servers.is_empty())
    .map(|(what, servers)| format!("{what} {}", names(servers)))
    .collect();
    let sections = changed_sections(before, after);
    if !sections.is_empty() {
        changes.push(format!("sections {}", sections.join(" ")));
    }
    Event {
        client: Some(ShortText::cut("kitbag serve")),
        detail: (!changes.is_empty()).then(|| ShortText::cut(&changes.join("; "))),
        ..Event::new(
            now(),
            Action::ConfigurationInForce,
            path.as_deref().unwrap_or("(none)"),
        )
    }
}

fn remedy(error: &anyhow::Error) -> Option<String> {
    error
        .chain()
        .find_map(|cause| match cause.downcast_ref::<ConfigError>() {
            Some(config) => config.remedy(),
            None if cause.is::<UnprotectedBind>() => Some(UnprotectedBind::REMEDY.to_owned()),
            None => cause.is::<NoKeys>().then(|| NoKeys::REMEDY.to_owned()),
        })
}

fn names(servers: &std::collections::BTreeSet<kitbag_domain::ServerName>) -> String {
    servers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}
