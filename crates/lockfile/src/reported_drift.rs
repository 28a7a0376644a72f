//! Remembers reported drift, so that each change is reported once.

use std::collections::{BTreeMap, HashMap};

use kitbag_domain::{DefinitionKind, ServerName};

use crate::canonical::DefinitionHash;
use crate::drift::DriftedDefinition;

#[derive(Debug, Default)]
pub struct ReportedDrift {
    definitions: HashMap<(ServerName, DefinitionKind, String), Option<DefinitionHash>>,
    unreadable: Option<String>,
}

impl ReportedDrift {
    /// Returns the drift of each server that is new since the last call.
    pub fn take_new<'d>(
        &mut self,
        drifted: &'d BTreeMap<ServerName, Vec<DriftedDefinition>>,
    ) -> Vec<(&'d ServerName, Vec<&'d DriftedDefinition>)> {
        let all = drifted.iter();
        let all = all.flat_map(|(server, drifted)| drifted.iter().map(move |it| (server, it)));
        let now = all
            .map(|(server, it)| (definition_key(server, it), it.hash))
            .collect();
        let before = std::mem::replace(&mut self.definitions, now);
        let new_drift = drifted.iter().map(|(server, drifted)| {
            let is_new =
                |it: &&DriftedDefinition| before.get(&definition_key(server, it)) != Some(&it.hash);
            (server, drifted.iter().filter(is_new).collect())
        });
        new_drift.collect()
    }

    /// Returns the reason why the lock file cannot be read, if it changed since the last call.
    pub fn take_new_problem(&mut self, now: Option<String>) -> Option<String> {
        let before = std::mem::replace(&mut self.unreadable, now.clone());
        now.filter(|now| before.as_ref() != Some(now))
    }
}

fn definition_key(
    server: &ServerName,
    drifted: &DriftedDefinition,
) -> (ServerName, DefinitionKind, String) {
    (server.clone(), drifted.kind, drifted.name.clone())
}
