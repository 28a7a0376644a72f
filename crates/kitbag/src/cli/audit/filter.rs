//! The rows of the audit that the person wants, as given on the command line.

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{KeyId, ServerName, Tenant, Timestamp};
use kitbag_store::{AuditQuery, AuditRowKind};

use crate::cli::completions;
use kitbag_gateway::telemetry::audit::filters::{self, Outcomes};

#[derive(Debug, Args)]
#[command(next_help_heading = "Which rows")]
pub(super) struct AuditFilter {
    /// Of this tenant.
    #[arg(long, value_name = "NAME")]
    tenant: Option<Tenant>,
    /// Calls of this server or API.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completions::servers))]
    server: Option<ServerName>,
    /// Calls of tools, prompts and resources of this name; `*` and `?` stand for others.
    #[arg(long, value_name = "PATTERN")]
    tool: Option<String>,
    /// Of the key with this id.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Calls that this run of code made.
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// That ended so: `ok`, `denied`, `failed` for all that went wrong at a server, ….
    #[arg(long, value_name = "OUTCOME", value_parser = filters::parse_outcomes)]
    outcome: Vec<Outcomes>,
    /// Of this kind: `call`, `search`, `discovery`, `group_change`, `key_refused`, ….
    #[arg(long, value_name = "EVENT", value_parser = filters::parse_row_kind)]
    event: Vec<AuditRowKind>,
    /// From then on: `30m`, `2h`, `7d` ago, a date, or a date and a time.
    #[arg(long, value_name = "WHEN", value_parser = filters::parse_time)]
    since: Option<Timestamp>,
    /// Up to then.
    #[arg(long, value_name = "WHEN", value_parser = filters::parse_time)]
    until: Option<Timestamp>,
}

impl AuditFilter {
    pub(super) fn query(&self, limit: u32) -> AuditQuery {
        AuditQuery {
            tenant: self.tenant.clone(),
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
