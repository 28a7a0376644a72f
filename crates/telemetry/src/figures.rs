//! The figures themselves: plain numbers, added up until the gateway ends.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_domain::{Observation, Outcome, ServerName, Tenant};
use serde::Serialize;

use crate::operations::{EndedOperation, OperationEvent, OperationFigures, OperationPath};

/// Beyond this many tools, or clients, new ones are counted together, or the longest unseen go.
const MOST_TOOLS: usize = 5_000;
const MOST_CLIENTS: usize = 1_000;
const LONGEST_NAME: usize = 64;
const OTHERS: &str = "(others)";
/// The templates that are counted apart.
const MOST_TEMPLATES: usize = 500;
/// The name that is counted in place of names that clients make up; there may be any number of
/// those.
pub const UNKNOWN: &str = "(unknown)";

/// The upper ends of the latencies counted together, in seconds.
pub const BUCKETS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

#[derive(Debug, Clone, Default)]
pub struct UsageFigures {
    pub surfaces: HashMap<(Tenant, &'static str), ListFigures>,
    pub tools: HashMap<(Tenant, Arc<str>), ToolFigures>,
    pub clients: HashMap<ClientId, ClientFigures>,
    pub operations: HashMap<(Tenant, OperationPath), OperationFigures>,
    pub events: HashMap<(Tenant, OperationEvent), u64>,
    /// The runs of each template.
    pub templates: HashMap<(Tenant, Arc<str>), OperationFigures>,
}

/// The tokens that lists of tools cost, and those that they would have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ListFigures {
    pub lists: u64,
    pub catalog: u64,
    pub shown: u64,
    pub saved: u64,
}

#[derive(Debug, Clone, Default)]
pub struct ToolFigures {
    /// Absent for our own tools.
    pub server: Option<ServerName>,
    pub called: CallFigures,
    /// The number of answers to clients; `returned` is the number of their tokens.
    pub answers: u64,
    pub returned: u64,
}

/// One series: a tool's figures, or those of all tools of one server.
#[derive(Debug)]
pub struct ToolSeries {
    pub tenant: Tenant,
    /// Empty for our own tools and for what belongs to no server.
    pub server: String,
    /// Absent where the tools of a server are counted together.
    pub tool: Option<Arc<str>>,
    pub figures: ToolFigures,
}

/// The outcomes of calls, and the times that they took.
#[derive(Debug, Clone, Default)]
pub struct CallFigures {
    outcomes: [u64; Outcome::ALL.len()],
    /// One more than there are ends: the last is open.
    pub latencies: [u64; BUCKETS.len() + 1],
    pub seconds: f64,
}

/// The client that reads a list or an answer.
#[derive(Debug, Clone, Copy)]
pub struct MeteredClient<'a> {
    pub tenant: &'a Tenant,
    /// The name that the client gives itself.
    pub name: Option<&'a str>,
    /// The session of a legacy client; modern clients have none.
    pub session: Option<&'a Arc<str>>,
}

/// A legacy session, or all modern clients of one tenant that call themselves the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientId {
    Session(Arc<str>),
    Named(Tenant, String),
}

#[derive(Debug, Clone)]
pub struct ClientFigures {
    pub tenant: Tenant,
    pub name: String,
    pub listed: ListFigures,
    pub answers: u64,
    pub returned: u64,
    seen: Instant,
}

impl UsageFigures {
    pub fn listed(
        &mut self,
        client: &MeteredClient<'_>,
        surface: &'static str,
        listed: ListFigures,
    ) {
        self.surfaces
            .entry((client.tenant.clone(), surface))
            .or_default()
            .add(listed);
        self.client(client).listed.add(listed);
    }

    pub fn answered(&mut self, client: &MeteredClient<'_>, name: &str, tokens: usize) {
        let tokens = tokens as u64;
        let tool = self.tool(client.tenant, name);
        tool.answers += 1;
        tool.returned += tokens;
        let client = self.client(client);
        client.answers += 1;
        client.returned += tokens;
    }

    pub fn called(&mut self, observation: &Observation, name: &str) {
        let tool = self.tool(&observation.caller.tenant, name);
        if tool.server.is_none() && !name.starts_with('(') {
            tool.server = Some(observation.capability.server.clone());
        }
        tool.called.add(observation.outcome, observation.latency);
    }

    pub fn operated(&mut self, tenant: &Tenant, ended: &EndedOperation) {
        let key = (tenant.clone(), ended.path);
        self.operations.entry(key).or_default().add(ended);
    }

    pub fn happened(&mut self, tenant: &Tenant, event: OperationEvent) {
        *self.events.entry((tenant.clone(), event)).or_default() += 1;
    }

    /// A template was run. Templates that are learned come and go, so those beyond a number are
    /// counted together.
    pub fn template_ran(&mut self, tenant: &Tenant, template: &str, ended: &EndedOperation) {
        let key = (tenant.clone(), Arc::from(template));
        let key = match self.templates.len() >= MOST_TEMPLATES && !self.templates.contains_key(&key)
        {
            true => (tenant.clone(), Arc::from(OTHERS)),
            false => key,
        };
        self.templates.entry(key).or_default().add(ended);
    }

    /// Returns the figures of one tenant, without anything by which the tenant could tell a tool
    /// that is hidden from it from one that does not exist.
    pub fn of(&self, tenant: &Tenant, visible: impl Fn(&str, &ToolFigures) -> bool) -> Self {
        let own = |of: &Tenant| of == tenant;
        let mut tools: HashMap<(Tenant, Arc<str>), ToolFigures> = HashMap::new();
        for ((_, name), tool) in self.tools.iter().filter(|((of, _), _)| own(of)) {
            let (name, server) = if visible(name, tool) {
                (name.clone(), tool.server.clone())
            } else {
                (UNKNOWN.into(), None)
            };
            let told = tools.entry((tenant.clone(), name)).or_default();
            told.server = server;
            told.add(tool);
        }
        tools
            .values_mut()
            .for_each(|tool| tool.called.call_denials_mistakes());
        Self {
            surfaces: self
                .surfaces
                .iter()
                .filter(|((of, _), _)| own(of))
                .map(cloned)
                .collect(),
            tools,
            clients: self
                .clients
                .iter()
                .filter(|(_, it)| own(&it.tenant))
                .map(cloned)
                .collect(),
            operations: self
                .operations
                .iter()
                .filter(|((of, _), _)| own(of))
                .map(cloned)
                .collect(),
            events: self
                .events
                .iter()
                .filter(|((of, _), _)| own(of))
                .map(cloned)
                .collect(),
            templates: self
                .templates
                .iter()
                .filter(|((of, _), _)| own(of))
                .map(cloned)
                .collect(),
        }
    }

    /// The figures of tools as they are published: for each tool, or for each server.
    pub fn published(&self, per_tool: bool) -> Vec<ToolSeries> {
        let mut rows: BTreeMap<(Tenant, String, Option<Arc<str>>), ToolFigures> = BTreeMap::new();
        for ((tenant, name), tool) in &self.tools {
            let server = tool
                .server
                .as_ref()
                .map_or_else(String::new, ToString::to_string);
            let name = per_tool.then(|| name.clone());
            rows.entry((tenant.clone(), server, name))
                .or_default()
                .add(tool);
        }
        let published = |((tenant, server, tool), figures)| ToolSeries {
            tenant,
            server,
            tool,
            figures,
        };
        rows.into_iter().map(published).collect()
    }

    fn tool(&mut self, tenant: &Tenant, name: &str) -> &mut ToolFigures {
        let mut key = (tenant.clone(), Arc::from(name));
        if self.tools.len() >= MOST_TOOLS && !self.tools.contains_key(&key) {
            key.1 = OTHERS.into();
        }
        self.tools.entry(key).or_default()
    }

    fn client(&mut self, client: &MeteredClient<'_>) -> &mut ClientFigures {
        let name = client.short_name();
        let id = match client.session {
            Some(session) => ClientId::Session(session.clone()),
            None => ClientId::Named(client.tenant.clone(), name.clone()),
        };
        if self.clients.len() >= MOST_CLIENTS && !self.clients.contains_key(&id) {
            self.forget_longest_unseen();
        }
        let figures = self
            .clients
            .entry(id)
            .or_insert_with(|| ClientFigures::new(client.tenant.clone(), name));
        figures.seen = Instant::now();
        figures
    }

    fn forget_longest_unseen(&mut self) {
        let oldest = self.clients.iter().min_by_key(|(_, it)| it.seen);
        if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
            self.clients.remove(&oldest);
        }
    }
}

impl MeteredClient<'_> {
    fn short_name(&self) -> String {
        let name = self.name.unwrap_or("unnamed");
        name.chars().take(LONGEST_NAME).collect()
    }
}

impl ListFigures {
    pub fn once(shown: usize, catalog: usize) -> Self {
        let saved = catalog.saturating_sub(shown) as u64;
        Self {
            lists: 1,
            catalog: catalog as u64,
            shown: shown as u64,
            saved,
        }
    }

    pub fn add(&mut self, more: Self) {
        self.lists += more.lists;
        self.catalog += more.catalog;
        self.shown += more.shown;
        self.saved += more.saved;
    }
}

impl ToolFigures {
    fn add(&mut self, more: &Self) {
        self.answers += more.answers;
        self.returned += more.returned;
        self.called.add_all(&more.called);
    }
}

impl CallFigures {
    fn add_all(&mut self, more: &Self) {
        self.outcomes
            .iter_mut()
            .zip(more.outcomes)
            .for_each(|(sum, count)| *sum += count);
        self.latencies
            .iter_mut()
            .zip(more.latencies)
            .for_each(|(sum, count)| *sum += count);
        self.seconds += more.seconds;
    }

    /// A call of something hidden is told like one of something that is not there.
    fn call_denials_mistakes(&mut self) {
        let at = |wanted| Outcome::ALL.iter().position(|it| *it == wanted);
        if let (Some(denied), Some(invalid)) = (at(Outcome::Denied), at(Outcome::Invalid)) {
            self.outcomes[invalid] += std::mem::take(&mut self.outcomes[denied]);
        }
    }

    pub(crate) fn add(&mut self, outcome: Outcome, latency: Duration) {
        let seconds = latency.as_secs_f64();
        let bucket = BUCKETS
            .iter()
            .position(|end| seconds <= *end)
            .unwrap_or(BUCKETS.len());
        self.latencies[bucket] += 1;
        self.seconds += seconds;
        if let Some(at) = Outcome::ALL.iter().position(|it| *it == outcome) {
            self.outcomes[at] += 1;
        }
    }

    /// The ways calls ended that occurred at all.
    pub fn outcomes(&self) -> impl Iterator<Item = (Outcome, u64)> {
        Outcome::ALL
            .into_iter()
            .zip(self.outcomes)
            .filter(|(_, count)| *count > 0)
    }

    pub fn count(&self) -> u64 {
        self.latencies.iter().sum()
    }
}

impl ClientId {
    /// Tells sessions apart without giving away their ids, with which they could be used.
    pub fn alias(&self) -> Option<String> {
        match self {
            Self::Session(id) => Some(blake3::hash(id.as_bytes()).to_hex()[..12].to_owned()),
            Self::Named(..) => None,
        }
    }
}

impl ClientFigures {
    fn new(tenant: Tenant, name: String) -> Self {
        Self {
            tenant,
            name,
            listed: ListFigures::default(),
            answers: 0,
            returned: 0,
            seen: Instant::now(),
        }
    }
}

fn cloned<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

#[cfg(test)]
mod tests;
