//! A simulated client for evals: it lists and calls tools on a surface through the same code as
//! every client, but does not count as use.

use kitbag_domain::{ExposedName, Outcome, Surface};
use kitbag_store::{AuditPage, AuditQuery, AuditRow, AuditRowKind};
use kitbag_wire::{Raw, RawObject};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::admin::app::App;
use crate::admin::eval::discard_messages;
use crate::call::call_params;
use crate::call::failure::Failure;
use crate::front::in_flight::OutgoingMessage;
use crate::front::lists;
use crate::surface::call::call_tool;
use crate::turn::Turn;

/// On the adaptive surface the list depends on the client's activity, so each client has an id.
#[derive(Debug, Clone)]
pub struct EvalClient {
    pub surface: Surface,
    /// Distinguishes it from other clients of the same gateway.
    pub id: String,
}

/// A call that reached a tool, as recorded in the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedCall {
    /// The name that clients use for the tool.
    pub tool: String,
    pub succeeded: bool,
}

/// An attempt makes far fewer calls; further rows would be ignored.
const MOST_ROWS: u32 = 10_000;

impl App {
    /// Returns every tool that `tools/list` would return to the client now.
    pub async fn list_tools_as(&self, client: &EvalClient) -> Result<Vec<Value>, Failure> {
        let (turn, messages) = self.new_client_turn(client);
        discard_messages(messages, list_all_pages(&turn)).await
    }

    /// Performs a call as the client would.
    pub async fn call_tool_as(
        &self,
        client: &EvalClient,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Raw, Failure> {
        let (turn, messages) = self.new_client_turn(client);
        discard_messages(messages, call_tool(&turn, call_params(name, &arguments))).await
    }

    /// Copies another gateway's listings of the same servers, so that no server is started only to
    /// be listed again.
    pub async fn copy_listings(&self, from: &Self) {
        let (gateway, known) = (self.host().gateway(), from.host().gateway());
        for server in gateway.upstreams.iter() {
            let known = known.upstreams.get(server.name());
            if let Some(listing) = known.and_then(|it| it.listing()) {
                server.adopt_listing((*listing).clone());
            }
        }
        self.host().rebuild_catalog().await;
    }

    /// Returns the last row id of the audit, to separate later calls from earlier ones.
    pub async fn last_audit_row(&self) -> anyhow::Result<i64> {
        let services = &self.host().gateway().services;
        services.audit.flush().await;
        Ok(services.store.newest_audit_row_id().await?)
    }

    /// Returns the calls of tools after an audit row, including calls by programs.
    pub async fn calls_since(&self, row: i64) -> anyhow::Result<Vec<AuditedCall>> {
        let services = &self.host().gateway().services;
        services.audit.flush().await;
        let query = AuditQuery {
            kinds: vec![AuditRowKind::Call],
            page: AuditPage::WrittenAfter { id: row },
            ..AuditQuery::newest(MOST_ROWS)
        };
        let rows = services.store.read_audit(&query).await?;
        Ok(rows.iter().filter_map(to_audited_call).collect())
    }

    fn new_client_turn(&self, client: &EvalClient) -> (Turn, mpsc::Receiver<OutgoingMessage>) {
        let (mut turn, messages) = self.new_eval_turn(client.surface);
        turn.client.id = client.id.as_str().into();
        (turn, messages)
    }
}

async fn list_all_pages(turn: &Turn) -> Result<Vec<Value>, Failure> {
    let mut tools: Vec<Value> = Vec::new();
    let mut page = RawObject::new();
    loop {
        let listed = lists::list_tools(turn, page).await?;
        let listed = RawObject::open(&listed).unwrap_or_default();
        tools.extend(listed.read::<Vec<Value>>("tools").unwrap_or_default());
        let Some(cursor) = listed.read::<String>("nextCursor") else {
            return Ok(tools);
        };
        page = RawObject::new().with("cursor", &cursor);
    }
}

fn to_audited_call(row: &AuditRow) -> Option<AuditedCall> {
    let capability = row.capability()?;
    Some(AuditedCall {
        tool: ExposedName::new(&capability.server, &capability.name)
            .as_str()
            .to_owned(),
        succeeded: row.outcome == Outcome::Ok,
    })
}
