//! The lock of one server as its page shows and changes it. Uses the server's last listing, which
//! is what clients get.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use kitbag_config::LockState;
use kitbag_domain::{Event, ServerName};
use kitbag_gateway::admin::app::ServerDefinitions;
use kitbag_lockfile::{ListedDefinition, LockFile, Mark, find_marks};
use kitbag_store::Store;

use super::listed::ListedServers;
use super::record::{with_decision, write_decision};
use super::row::DriftRow;
use super::{load_lock_state, lock_server};

pub(crate) struct ServerLock {
    server: ServerName,
    listed: ListedServers,
    /// The lock file, empty if there is none yet.
    file: LockFile,
    pub(crate) is_locked: bool,
    /// What differs from the approved definitions.
    pub(crate) drift: Vec<DriftRow>,
}

/// What a person decides about the lock of a server.
pub(crate) enum LockDecision<'a> {
    /// Approves everything that the server lists now, and later changes only by hand.
    Lock,
    /// Approves this definition, or all.
    Approve(Option<&'a str>),
    Unlock,
}

impl ServerLock {
    /// Reads the lock of a server. `definitions` is absent if it was never listed.
    pub(crate) async fn read(
        server: &ServerName,
        definitions: Option<ServerDefinitions>,
        state: &LockState,
        store: &Store,
    ) -> anyhow::Result<Self> {
        let file = match state {
            LockState::Absent => LockFile::default(),
            state => load_lock_state(state)?.clone(),
        };
        let listed: BTreeMap<_, _> = definitions
            .map(|it| (server.clone(), it.definitions()))
            .into_iter()
            .collect();
        let listed = ListedServers {
            is_complete: !listed.is_empty(),
            listed,
            unanswered: Vec::new(),
        };
        let mut drift = listed.detect_drift(&file, &[])?;
        listed.explain(&mut drift, &file, store).await?;
        Ok(Self {
            is_locked: file.servers.contains_key(server),
            server: server.clone(),
            listed,
            file,
            drift,
        })
    }

    /// Returns suspicious text in the definitions, by their name.
    pub(crate) fn find_marks(&self) -> Vec<(&str, Mark)> {
        let definitions = self.definitions().iter();
        definitions
            .flat_map(|it| {
                find_marks(&it.text)
                    .into_iter()
                    .map(|mark| (it.name.as_str(), mark))
            })
            .collect()
    }

    pub(crate) fn definitions(&self) -> &[ListedDefinition] {
        self.listed
            .listed
            .get(&self.server)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns a hash of the definitions that a person sees before a decision.
    pub(crate) fn seen(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for definition in self.definitions() {
            hasher.update(definition.name.as_bytes());
            hasher.update(definition.hash.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Carries out a decision and returns what was done. `event` has the acting person.
    pub(crate) async fn decide(
        &self,
        decision: LockDecision<'_>,
        state: &LockState,
        path: &Path,
        store: &Store,
        event: Event,
    ) -> anyhow::Result<String> {
        let (mut file, server) = (self.file.clone(), &self.server);
        let (what, subjects) = match decision {
            LockDecision::Lock => {
                if !self.listed.is_complete {
                    bail!("`{server}` was not listed yet, so there is nothing to approve");
                }
                lock_server(server, self.definitions(), false, &mut file);
                ("locked", vec![server.to_string()])
            }
            LockDecision::Approve(only) => {
                let wanted = self
                    .drift
                    .iter()
                    .filter(|row| only.is_none_or(|it| it == row.name));
                let wanted: Vec<_> = wanted.collect();
                if wanted.is_empty() {
                    bail!("nothing to approve: no drift");
                }
                let locked = file.servers.get_mut(server);
                let locked = locked.with_context(|| format!("`{server}` is not locked"))?;
                for row in &wanted {
                    locked.approve_drift(&row.drifted);
                }
                (
                    "approved",
                    wanted.iter().map(|row| row.name.clone()).collect(),
                )
            }
            LockDecision::Unlock => {
                file.servers.remove(server);
                ("removed", vec![server.to_string()])
            }
        };
        let approved = self.listed.approved_definitions(&file);
        let event = with_decision(event, what, &subjects);
        write_decision(&file, approved, event, state, path, store).await?;
        let subjects = subjects.join("`, `");
        Ok(match what {
            "locked" => format!("Locked `{subjects}`."),
            "approved" => format!("Approved `{subjects}`."),
            _ => format!("`{subjects}` is no longer locked."),
        })
    }
}
