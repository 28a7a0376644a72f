//! Counters of tokens and calls since the gateway was started.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_domain::{Observation, Outcome, ServerName, Tenant, Timestamp};
use serde::Serialize;

use crate::operations::{CompletedOperation, OperationEvent, OperationFigures, OperationPath};

/// Beyond this many tools, new ones are counted together.
const MAX_TOOLS: usize = 5_000;
/// Beyond this many clients, the least recently seen is dropped.
const MAX_CLIENTS: usize = 1_000;
const LONGEST_NAME: usize = 64;
/// Lists of earlier hours are dropped.
const KEPT_HOURS: i64 = 24;
const OTHERS: &str = "(others)";
/// Beyond this many templates, new ones are counted together: learned templates come and go.
const MAX_TEMPLATES: usize = 500;
/// The row for names that clients make up, of which there may be any number.
pub const UNKNOWN: &str = "(unknown)";

/// The upper ends of the latency buckets, in seconds.
pub const BUCKETS: [f64; 13] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

#[derive(Debug, Clone, Default)]
pub struct UsageFigures {
    pub surfaces: HashMap<(Tenant, &'static str), ListFigures>,
    /// The lists of the last day by hour, counted from the Unix epoch.
    pub hours: HashMap<(Tenant, i64), ListFigures>,
    pub tools: HashMap<(Tenant, Arc<str>), ToolFigures>,
    pub clients: HashMap<ClientId, ClientFigures>,
    pub operations: HashMap<(Tenant, OperationPath), OperationFigures>,
    pub events: HashMap<(Tenant, OperationEvent), u64>,
    /// The runs of each template.
    pub templates: HashMap<(Tenant, Arc<str>), OperationFigures>,
}

/// The tokens of tool lists, compared with listing the whole catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ListFigures {
    pub lists: u64,
    pub catalog: u64,
    pub shown: u64,
    pub saved: u64,
}

#[derive(Debug, Clone, Default)]
pub struct ToolFigures {
    /// Absent for Kitbag's own tools.
    pub server: Option<ServerName>,
    pub calls: CallFigures,
    /// Answers to clients; `returned` counts their tokens.
    pub answers: u64,
    pub returned: u64,
}

/// The figures of one tool, or the sum over all tools of one server.
#[derive(Debug)]
pub struct ToolSeries {
    pub tenant: Tenant,
    /// Empty for Kitbag's own tools and for names that belong to no server.
    pub server: String,
    /// Absent if the tools of a server are counted together.
    pub tool: Option<Arc<str>>,
    pub figures: ToolFigures,
}

/// The outcomes and durations of calls.
#[derive(Debug, Clone, Default)]
pub struct CallFigures {
    outcomes: [u64; Outcome::ALL.len()],
    /// The count of each bucket; the last bucket is open.
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
    pub fn record_list(
        &mut self,
        client: &MeteredClient<'_>,
        surface: &'static str,
        listed: ListFigures,
    ) {
        self.surfaces
            .entry((client.tenant.clone(), surface))
            .or_default()
            .add(listed);
        self.client_entry(client).listed.add(listed);
    }

    /// Counts a list among those of its hour.
    pub fn record_list_of_hour(&mut self, tenant: &Tenant, at: Timestamp, listed: ListFigures) {
        let hour = hour_of(at);
        let key = (tenant.clone(), hour);
        if !self.hours.contains_key(&key) {
            self.hours.retain(|(_, past), _| *past > hour - KEPT_HOURS);
        }
        self.hours.entry(key).or_default().add(listed);
    }

    pub fn record_answer(&mut self, client: &MeteredClient<'_>, name: &str, tokens: usize) {
        let tokens = tokens as u64;
        let tool = self.tool_entry(client.tenant, name);
        tool.answers += 1;
        tool.returned += tokens;
        let client = self.client_entry(client);
        client.answers += 1;
        client.returned += tokens;
    }

    pub fn record_call(&mut self, observation: &Observation, name: &str) {
        let tool = self.tool_entry(&observation.caller.tenant, name);
        if tool.server.is_none() && !name.starts_with('(') {
            tool.server = Some(observation.capability.server.clone());
        }
        tool.calls.add(observation.outcome, observation.latency);
    }

    pub fn record_operation(&mut self, tenant: &Tenant, ended: &CompletedOperation) {
        let key = (tenant.clone(), ended.path);
        self.operations.entry(key).or_default().add(ended);
    }

    pub fn record_event(&mut self, tenant: &Tenant, event: OperationEvent) {
        *self.events.entry((tenant.clone(), event)).or_default() += 1;
    }

    pub fn record_template_run(
        &mut self,
        tenant: &Tenant,
        template: &str,
        ended: &CompletedOperation,
    ) {
        let key = (tenant.clone(), Arc::from(template));
        let key = match self.templates.len() >= MAX_TEMPLATES && !self.templates.contains_key(&key)
        {
            true => (tenant.clone(), Arc::from(OTHERS)),
            false => key,
        };
        self.templates.entry(key).or_default().add(ended);
    }

    /// Returns the figures of one tenant. A tool that is hidden from the tenant looks like one that
    /// does not exist.
    pub fn for_tenant(
        &self,
        tenant: &Tenant,
        visible: impl Fn(&str, &ToolFigures) -> bool,
    ) -> Self {
        let mut tools: HashMap<(Tenant, Arc<str>), ToolFigures> = HashMap::new();
        for ((_, name), tool) in filter_by_tenant(&self.tools, tenant) {
            let (name, server) = if visible(&name, &tool) {
                (name, tool.server.clone())
            } else {
                (UNKNOWN.into(), None)
            };
            let sum = tools.entry((tenant.clone(), name)).or_default();
            sum.server = server;
            sum.add(&tool);
        }
        tools
            .values_mut()
            .for_each(|tool| tool.calls.count_denied_as_invalid());
        let clients = self.clients.iter().filter(|(_, it)| it.tenant == *tenant);
        Self {
            surfaces: filter_by_tenant(&self.surfaces, tenant),
            hours: filter_by_tenant(&self.hours, tenant),
            tools,
            clients: clients.map(|(id, it)| (id.clone(), it.clone())).collect(),
            operations: filter_by_tenant(&self.operations, tenant),
            events: filter_by_tenant(&self.events, tenant),
            templates: filter_by_tenant(&self.templates, tenant),
        }
    }

    /// Returns one series for each tool, or for each server.
    pub fn tool_series(&self, per_tool: bool) -> Vec<ToolSeries> {
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
        let to_series = |((tenant, server, tool), figures)| ToolSeries {
            tenant,
            server,
            tool,
            figures,
        };
        rows.into_iter().map(to_series).collect()
    }

    fn tool_entry(&mut self, tenant: &Tenant, name: &str) -> &mut ToolFigures {
        let mut key = (tenant.clone(), Arc::from(name));
        if self.tools.len() >= MAX_TOOLS && !self.tools.contains_key(&key) {
            key.1 = OTHERS.into();
        }
        self.tools.entry(key).or_default()
    }

    fn client_entry(&mut self, client: &MeteredClient<'_>) -> &mut ClientFigures {
        let name = client.short_name();
        let id = match client.session {
            Some(session) => ClientId::Session(session.clone()),
            None => ClientId::Named(client.tenant.clone(), name.clone()),
        };
        if self.clients.len() >= MAX_CLIENTS && !self.clients.contains_key(&id) {
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
    pub fn for_list(shown: usize, catalog: usize) -> Self {
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
        self.calls.add_all(&more.calls);
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

    /// Counts calls of hidden tools like calls of tools that do not exist.
    fn count_denied_as_invalid(&mut self) {
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

    /// Returns the outcomes that occurred.
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
    /// Returns a name for a session that does not reveal its id, which would give access to it.
    pub fn session_alias(&self) -> Option<String> {
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

/// Returns the hour since the Unix epoch.
pub fn hour_of(at: Timestamp) -> i64 {
    const MILLISECONDS: i64 = 3_600_000;
    at.0.div_euclid(MILLISECONDS)
}

fn filter_by_tenant<K: Clone + Eq + Hash, V: Clone>(
    figures: &HashMap<(Tenant, K), V>,
    tenant: &Tenant,
) -> HashMap<(Tenant, K), V> {
    let rows = figures.iter().filter(|((owner, _), _)| owner == tenant);
    rows.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
