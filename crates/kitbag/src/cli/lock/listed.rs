//! The current definitions of servers, compared with the approved ones.

use std::collections::BTreeMap;

use anyhow::anyhow;
use kitbag_config::Config;
use kitbag_domain::{DefinitionKind, ExposedName, ServerName};
use kitbag_gateway::admin::app::ServerDefinitions;
use kitbag_lockfile::{Drift, ListedDefinition, LockFile, LockedServer};
use kitbag_store::Store;

use super::row::{ApprovedText, DriftRow};
use crate::cli::Invocation;
use crate::cli::failure::{Advise as _, with_advice};
use crate::cli::gateway::{CommandGateway, JoinChoice};
use crate::cli::output::Output;
use crate::cli::servers::find;

pub(super) struct ListedServers {
    pub(super) listed: BTreeMap<ServerName, Vec<ListedDefinition>>,
    /// Servers that failed to answer.
    pub(super) unanswered: Vec<ServerName>,
    /// True if every server has answered.
    pub(super) is_complete: bool,
}

impl ListedServers {
    pub(super) async fn fetch(
        servers: Vec<ServerName>,
        join: JoinChoice,
        config: &Config,
        invocation: &Invocation,
    ) -> anyhow::Result<Self> {
        let mut gateway = CommandGateway::join_or_open(join, config, invocation).await?;
        let answers = gateway.fetch_definitions(servers, invocation.output).await;
        gateway.close().await;
        Ok(Self::from_answers(answers?, invocation.output))
    }

    fn from_answers(answers: Vec<ServerDefinitions>, output: Output) -> Self {
        let (mut listed, mut unanswered) = (BTreeMap::new(), Vec::new());
        for answer in answers {
            for gap in &answer.gaps {
                output.warn(&format!(
                    "`{}` returned an incomplete list: {gap}",
                    answer.server
                ));
            }
            match &answer.silence {
                Some(reason) => {
                    output.warn(reason);
                    unanswered.push(answer.server);
                }
                None => {
                    let definitions = answer.definitions();
                    listed.insert(answer.server, definitions);
                }
            }
        }
        Self {
            is_complete: unanswered.is_empty(),
            listed,
            unanswered,
        }
    }

    /// Returns all drift, or only definitions and servers with one of these names.
    pub(super) fn detect_drift(
        &self,
        file: &LockFile,
        names: &[String],
    ) -> anyhow::Result<Vec<DriftRow>> {
        let mut rows = Vec::new();
        for (server, listed) in &self.listed {
            let drifted = file
                .servers
                .get(server)
                .map(|locked| locked.detect_drift(listed));
            let drifted = drifted.into_iter().flatten();
            rows.extend(drifted.map(|it| DriftRow::new(server, it)));
        }
        for name in names {
            self.check_name(name, file)?;
        }
        if !names.is_empty() {
            rows.retain(|row| names.iter().any(|name| row.matches(name)));
        }
        Ok(rows)
    }

    /// Rejects unknown names, which would otherwise look like definitions without drift.
    fn check_name(&self, name: &str, file: &LockFile) -> anyhow::Result<()> {
        let listed = self
            .listed
            .iter()
            .flat_map(|(server, listed)| listed.iter().map(move |it| (server, it.name.as_str())));
        let approved = file.servers.iter().flat_map(|(server, locked)| {
            let names = locked.names();
            names.map(move |(_, own)| (server, own))
        });
        let mut known = listed.chain(approved);
        let is_known = file.servers.keys().any(|server| server.as_str() == name)
            || known.any(|(server, own)| super::row::matches_name(name, server, own));
        match is_known {
            true => Ok(()),
            false => Err(anyhow!("no locked server has a definition `{name}`"))
                .advise(|| "list drift with `kitbag lock status`".to_owned()),
        }
    }

    /// Adds the difference from the approved text to each row.
    pub(super) async fn explain(
        &self,
        rows: &mut [DriftRow],
        file: &LockFile,
        store: &Store,
    ) -> anyhow::Result<()> {
        for row in rows {
            let approved = approved_text(row, file, store).await?;
            let now = self.find_text(row);
            row.explain(approved, now);
        }
        Ok(())
    }

    fn find_text(&self, row: &DriftRow) -> Option<&str> {
        let mut listed = self.listed.get(&row.server)?.iter();
        let found = listed.find(|it| it.kind == row.drifted.kind && it.name == row.drifted.name);
        found.map(|it| it.text.as_str())
    }

    /// Returns the listed definitions that the file approves.
    pub(super) fn approved_definitions(&self, file: &LockFile) -> Vec<ListedDefinition> {
        let all = self.listed.iter().flat_map(|(server, listed)| {
            let locked = file.servers.get(server);
            listed
                .iter()
                .filter(move |it| locked.is_some_and(|locked| locked.is_approved(it)))
        });
        all.cloned().collect()
    }
}

async fn approved_text(
    row: &DriftRow,
    file: &LockFile,
    store: &Store,
) -> anyhow::Result<ApprovedText> {
    let name = match &row.drifted.drift {
        Drift::New => return Ok(ApprovedText::None),
        Drift::Renamed { from } => from,
        Drift::Changed | Drift::Gone => &row.drifted.name,
    };
    let locked = file.servers.get(&row.server);
    let hash = locked.and_then(|locked| locked.approved_hash(row.drifted.kind, name));
    let Some(hash) = hash.map(|hash| *hash.as_bytes()) else {
        return Ok(ApprovedText::None);
    };
    let mut known = store.approved_bodies(&[hash]).await?;
    Ok(known
        .remove(&hash)
        .map_or(ApprovedText::Unknown, ApprovedText::Known))
}

/// Returns the servers to lock: the named ones, or all configured ones.
pub(super) fn servers_to_lock(
    named: &[ServerName],
    config: &Config,
) -> anyhow::Result<Vec<ServerName>> {
    for name in named {
        let spec = find(config, name)?;
        if spec.is_built_in() {
            return Err(anyhow!("`{name}` is built in and needs no approval"));
        }
        check_enabled(name, config)?;
    }
    Ok(match named {
        [] => config.servers.keys().cloned().collect(),
        named => named.to_vec(),
    })
}

/// Returns the locked servers that the names refer to, or all of them.
pub(super) fn find_servers(
    names: &[String],
    file: &LockFile,
    config: &Config,
) -> anyhow::Result<Vec<ServerName>> {
    if names.is_empty() {
        let locked = file.servers.keys();
        return Ok(locked
            .filter(|name| config.servers.contains_key(*name))
            .cloned()
            .collect());
    }
    let mut servers = Vec::new();
    for name in names {
        let server = parse_server(name)
            .ok_or_else(|| anyhow!("`{name}` is not a server, tool or prompt"))
            .advise(|| "use SERVER, SERVER__TOOL as clients see it, or SERVER/URI".to_owned())?;
        if !file.servers.contains_key(&server) {
            return Err(not_locked_error(&server));
        }
        find(config, &server)?;
        check_enabled(&server, config)?;
        servers.push(server);
    }
    Ok(servers)
}

fn parse_server(name: &str) -> Option<ServerName> {
    let own = name
        .split_once('/')
        .and_then(|(server, _)| server.parse().ok());
    own.or_else(|| ExposedName::server_in(name))
        .or_else(|| name.parse().ok())
}

fn check_enabled(server: &ServerName, config: &Config) -> anyhow::Result<()> {
    match config.servers.contains_key(server) {
        true => Ok(()),
        false => Err(anyhow!("`{server}` is disabled"))
            .advise(|| format!("enable it: kitbag servers enable {server}")),
    }
}

/// Returns the configured servers that are not in the lock file.
pub(super) fn unlocked_servers(file: &LockFile, config: &Config) -> Vec<ServerName> {
    let servers = config.servers.keys();
    servers
        .filter(|server| !file.servers.contains_key(*server))
        .cloned()
        .collect()
}

/// Returns the kinds that are not locked of servers in the lock file: an earlier version wrote it.
pub(super) fn unlocked_kinds<'a>(
    file: &'a LockFile,
    config: &Config,
) -> BTreeMap<&'a ServerName, Vec<DefinitionKind>> {
    let servers = file.servers.iter();
    let servers = servers.filter(|(server, _)| config.servers.contains_key(*server));
    let unlocked = servers.map(|(server, locked)| {
        let kinds = LockedServer::USUAL_KINDS.into_iter();
        let kinds: Vec<_> = kinds.filter(|kind| !locked.locks(*kind)).collect();
        (server, kinds)
    });
    unlocked.filter(|(_, kinds)| !kinds.is_empty()).collect()
}

pub(super) fn not_locked_error(server: &ServerName) -> anyhow::Error {
    with_advice(
        anyhow!("`{server}` is not in the lock file"),
        format!("kitbag lock {server}"),
    )
}
