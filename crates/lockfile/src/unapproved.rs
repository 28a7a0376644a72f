//! The tools and prompts that are withheld from callers, by each of their names.

use std::collections::{BTreeMap, HashMap};

use kitbag_domain::{Capability, Kind, ServerName};

use crate::drift::{DriftedDefinition, UnapprovedReason};

/// Everything that is withheld, and all drift, withheld or not.
#[derive(Debug, Default)]
pub struct UnapprovedEntries {
    entries: HashMap<Capability, UnapprovedReason>,
    /// By the names that clients would use.
    tools: HashMap<String, Capability>,
    prompts: HashMap<String, Capability>,
    pub drifted: BTreeMap<ServerName, Vec<DriftedDefinition>>,
}

impl UnapprovedEntries {
    pub fn add(&mut self, capability: Capability, exposed: String, reason: UnapprovedReason) {
        let names = match capability.kind {
            Kind::Prompt => &mut self.prompts,
            Kind::Tool | Kind::Resource => &mut self.tools,
        };
        names.insert(exposed, capability.clone());
        self.entries.insert(capability, reason);
    }

    pub fn tool(&self, exposed: &str) -> Option<&Capability> {
        self.tools.get(exposed)
    }

    pub fn prompt(&self, exposed: &str) -> Option<&Capability> {
        self.prompts.get(exposed)
    }

    pub fn reason(&self, capability: &Capability) -> Option<&UnapprovedReason> {
        self.entries.get(capability)
    }

    pub fn of_server(&self, server: &ServerName) -> impl Iterator<Item = &Capability> {
        let all = self.entries.keys();
        all.filter(move |capability| capability.server == *server)
    }

    /// Returns the number of withheld entries per server.
    pub fn counts(&self) -> BTreeMap<&ServerName, usize> {
        let mut counts = BTreeMap::new();
        for capability in self.entries.keys() {
            *counts.entry(&capability.server).or_default() += 1;
        }
        counts
    }
}
