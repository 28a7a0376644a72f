//! Reloads the configuration while the gateway runs. An edit takes effect within a second. An
//! invalid edit is logged, and the gateway keeps the configuration it has. With `follow` in
//! [import], new servers in the files of clients are imported, too.
//!
//! Polling works where file events do not: with editors that replace the file, changed links,
//! network and container mounts, and folders that do not exist yet.

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

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long a file must stay unchanged, since a program may still be writing it.
const SETTLE_TIME: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct ConfigFollower {
    source: ConfigSource,
    initial: Config,
    /// The configuration in use.
    effective: Config,
    /// The file of the configuration in use.
    origin: Option<PathBuf>,
    /// The project file in addition to it.
    project: Project,
    clients: Vec<Client>,
    config_stamps: Vec<FileStamp>,
    settled: watch::Sender<ReadFiles>,
    /// Empty at first, since the clients' files may have changed while no gateway ran.
    client_stamps: Vec<FileStamp>,
}

#[derive(Debug, Clone, Copy)]
enum ChangedFiles {
    Configuration,
    Clients,
}

/// Only HTTP needs a check of who can connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServingTransport {
    Http,
    Stdio,
}

/// The path of a file, and its modification time and length if it exists.
type FileStamp = (PathBuf, Option<(SystemTime, u64)>);

impl ConfigFollower {
    /// Stamps the files before it reads them, so that no edit between the two is lost.
    pub(crate) fn new(source: ConfigSource) -> Result<Self, ConfigError> {
        let config_stamps = stamp_files(source.source_files());
        let running = source.load()?;
        log_project_notices(&running.project);
        let (origin, project) = (running.origin.clone(), running.project.clone());
        let (clients, client_stamps) = (running.follow.clone(), Vec::new());
        let settled = watch::Sender::new(ReadFiles {
            stamps: config_stamps.clone(),
            project: project.clone(),
        });
        let effective = running.clone();
        Ok(Self {
            source,
            initial: running,
            effective,
            origin,
            project,
            clients,
            config_stamps,
            settled,
            client_stamps,
        })
    }

    pub(crate) fn source(&self) -> &ConfigSource {
        &self.source
    }

    /// Lets other tasks wait until the latest edit has been handled.
    pub(crate) fn freshness(&self) -> Freshness {
        Freshness {
            source: self.source.clone(),
            read_files: self.settled.subscribe(),
        }
    }

    pub(crate) fn initial_config(&self) -> &Config {
        &self.initial
    }

    /// Follows the files until the gateway closes.
    pub(crate) async fn follow(mut self, host: Arc<GatewayHost>, transport: ServingTransport) {
        loop {
            let done = match self.wait_for_change().await {
                ChangedFiles::Configuration => self.reload_config(&host, transport).await,
                ChangedFiles::Clients => self.import_additions(&host).await,
            };
            if let Err(error) = done {
                let remedy = find_remedy(&error);
                tracing::error!(
                    remedy,
                    "the change is invalid, keeping the previous configuration: {error:#}"
                );
            }
            let (stamps, project) = (self.config_stamps.clone(), self.project.clone());
            self.settled.send_replace(ReadFiles { stamps, project });
        }
    }

    /// Waits until a file has changed and settled.
    async fn wait_for_change(&mut self) -> ChangedFiles {
        loop {
            let config_stamps = wait_until_settled(
                || stamp_files(self.source.source_files()),
                &self.config_stamps,
            )
            .await;
            if let Some(changed) = config_stamps {
                self.config_stamps = changed;
                return ChangedFiles::Configuration;
            }
            let client_stamps =
                wait_until_settled(|| self.stamp_client_files(), &self.client_stamps).await;
            if let Some(changed) = client_stamps {
                self.client_stamps = changed;
                return ChangedFiles::Clients;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn stamp_client_files(&self) -> Vec<FileStamp> {
        stamp_files(import::client_files(
            &self.clients,
            &self.source.environment,
        ))
    }

    /// Adds servers to the configuration file, which then counts as edited.
    async fn import_additions(&self, host: &GatewayHost) -> anyhow::Result<()> {
        let plan = import::import_additions(&self.clients, &self.source).await?;
        for problem in plan
            .problems
            .iter()
            .filter(|problem| !problem.is_harmless())
        {
            tracing::warn!("{problem}");
        }
        plan.rows.iter().for_each(log_import);
        for edit in kitbag_config::take_edits() {
            host.gateway()
                .services
                .audit
                .record_event(trail::edit_event("kitbag serve", &edit));
        }
        Ok(())
    }

    async fn reload_config(
        &mut self,
        host: &Arc<GatewayHost>,
        transport: ServingTransport,
    ) -> anyhow::Result<()> {
        if let Some(path) = self.origin.as_ref().filter(|path| !path.exists()) {
            // A missing file is an accident: an empty file is the way to serve nothing.
            bail!("{} no longer exists", path.display());
        }
        let config = self.source.load()?;
        if transport == ServingTransport::Http {
            self.check_exposure(&config, host).await?;
        }
        let done = host
            .replace_config(&config)
            .await
            .context("the configuration is valid but cannot be applied")?;
        tracing::info!(
            added = join_names(&done.added),
            changed = join_names(&done.changed),
            removed = join_names(&done.removed),
            "configuration reloaded"
        );
        for key in keys_needing_restart(&self.initial, &config) {
            tracing::warn!(key, "this change takes effect when Kitbag is restarted");
        }
        announce::announce_all_lists(&host.gateway());
        tokio::spawn(list_servers::list_new_servers(host.clone()));
        if config.project != self.project {
            log_project_notices(&config.project);
        }
        host.gateway()
            .services
            .audit
            .record_event(reload_event(&self.effective, &config, &done));
        self.clients = config.follow.clone();
        self.origin = config.origin.clone();
        self.project = config.project.clone();
        self.effective = config;
        Ok(())
    }

    /// The gateway keeps the address it was started with.
    async fn check_exposure(&self, config: &Config, host: &GatewayHost) -> anyhow::Result<()> {
        let serve = Serve {
            bind: self.initial.serve.bind,
            ..config.serve.clone()
        };
        serve.check_exposure()?;
        check_keys(&serve, &host.gateway().services.store).await
    }
}

fn log_import(row: &ImportRow) {
    let server = &row.name;
    match (row.action, &row.reason) {
        (ImportAction::Add, _) if row.awaits_review() => {
            let why: Vec<_> = row.dangers.iter().map(ToString::to_string).collect();
            let why = why.join("; ");
            let remedy = format!("to enable it: kitbag servers enable {server}");
            tracing::warn!(%server, why, remedy, "imported from a client; disabled until you have reviewed it");
        }
        (ImportAction::Add, _) => tracing::info!(%server, "imported from a client"),
        (ImportAction::Refused, Some(reason)) => {
            tracing::warn!(%server, "cannot import the server: {reason}");
        }
        _ => {}
    }
}

/// Logs why a project file is ignored.
pub(crate) fn log_project_notices(project: &Project) {
    for (what, remedy) in project.notices() {
        tracing::warn!(remedy, "{what}");
    }
}

/// The state of the files when they were last read.
#[derive(Debug)]
struct ReadFiles {
    stamps: Vec<FileStamp>,
    project: Project,
}

/// Waits for the gateway to read the current configuration files.
#[derive(Debug)]
pub(crate) struct Freshness {
    source: ConfigSource,
    read_files: watch::Receiver<ReadFiles>,
}

impl Freshness {
    /// Waits until the current files have been loaded or rejected, so that an edit before this call
    /// is effective. Returns the active project file.
    pub(crate) async fn wait_until_current(&self) -> Option<PathBuf> {
        let now = stamp_files(self.source.source_files());
        let mut settled = self.read_files.clone();
        // Fails if the follower has stopped, in which case nothing changes any more.
        let waiting = settled.wait_for(|settled| settled.stamps == now);
        let _late = tokio::time::timeout(MAX_WAIT, waiting).await;
        self.read_files
            .borrow()
            .project
            .active_path()
            .map(Path::to_owned)
    }
}

/// A file that is written continuously never settles.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// If the files have changed, waits for them to settle and returns their stamps.
async fn wait_until_settled(
    stamp: impl Fn() -> Vec<FileStamp>,
    before: &[FileStamp],
) -> Option<Vec<FileStamp>> {
    let mut now = stamp();
    if now == before {
        return None;
    }
    loop {
        tokio::time::sleep(SETTLE_TIME).await;
        let then = std::mem::replace(&mut now, stamp());
        if now == then {
            return Some(now);
        }
    }
}

fn stamp_files(paths: Vec<PathBuf>) -> Vec<FileStamp> {
    let stamp = |path| {
        let written = fs::metadata(&path).ok();
        let written = written.and_then(|it| Some((it.modified().ok()?, it.len())));
        (path, written)
    };
    paths.into_iter().map(stamp).collect()
}

/// Returns the audit event with the changed servers and sections.
fn reload_event(before: &Config, after: &Config, servers: &ServerChanges) -> Event {
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
    .map(|(what, servers)| format!("{what} {}", join_names(servers)))
    .collect();
    let sections = changed_sections(before, after);
    if !sections.is_empty() {
        changes.push(format!("sections {}", sections.join(" ")));
    }
    Event {
        client: Some(ShortText::truncate("kitbag serve")),
        detail: (!changes.is_empty()).then(|| ShortText::truncate(&changes.join("; "))),
        ..Event::new(
            now(),
            Action::ConfigurationLoaded,
            path.as_deref().unwrap_or("(none)"),
        )
    }
}

fn find_remedy(error: &anyhow::Error) -> Option<String> {
    error
        .chain()
        .find_map(|cause| match cause.downcast_ref::<ConfigError>() {
            Some(config) => config.remedy(),
            None if cause.is::<UnprotectedBind>() => Some(UnprotectedBind::REMEDY.to_owned()),
            None => cause.is::<NoKeys>().then(|| NoKeys::REMEDY.to_owned()),
        })
}

fn join_names(servers: &std::collections::BTreeSet<kitbag_domain::ServerName>) -> String {
    servers
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}
