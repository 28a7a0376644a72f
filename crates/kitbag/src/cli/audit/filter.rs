//! Options that select audit rows.

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{KeyId, ServerName, Tenant, Timestamp};
use kitbag_store::{AuditQuery, AuditRowKind};

use crate::cli::completions;
use kitbag_gateway::telemetry::audit::filters::{self, Outcomes};

#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct AuditFilter {
    /// Only rows of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Only rows of this client, by its own name.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only calls of this server or API.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::servers))]
    server: Option<ServerName>,
    /// Only calls of this tool, prompt or resource; `*` and `?` are wildcards.
    #[arg(long, value_name = "PATTERN")]
    tool: Option<String>,
    /// Only rows of the key with this ID.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Only calls made by this run of a program.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only this outcome: `ok`, `denied`, `failed` (any failure at a server), ….
    #[arg(long, value_name = "OUTCOME", value_parser = filters::parse_outcomes)]
    outcome: Vec<Outcomes>,
    /// Only this event: `call`, `search`, `discovery`, `group_change`, `key_refused`, ….
    #[arg(long, value_name = "EVENT", value_parser = filters::parse_row_kind)]
    event: Vec<AuditRowKind>,
    /// Only since this time: `30m`, `2h` or `7d` ago, a date, or a date and time.
    #[arg(long, value_name = "WHEN", value_parser = filters::parse_time)]
    since: Option<Timestamp>,
    /// Only until this time.
    #[arg(long, value_name = "WHEN", value_parser = filters::parse_time)]
    until: Option<Timestamp>,
}

impl AuditFilter {
    pub(super) fn to_query(&self, limit: u32) -> AuditQuery {
        AuditQuery {
            tenant: self.tenant.clone(),
            client: self.client.clone(),
            server: self.server.clone(),
            key: self.key.clone().map(KeyId),
            run: self.run.clone(),
            name: self.tool.clone(),
            outcomes: self
                .outcome
                .iter()
                .flat_map(|it| it.0.iter().copied())
                .collect(),
            kinds: self.event.clone(),
            since: self.since,
            until: self.until,
            ..AuditQuery::newest(limit)
        }
    }
}
