//! A client that an exam plays: it lists and calls on a surface through the same code as every
//! client, and nothing of it counts as use.

use std::future::Future;
use std::pin::pin;

use kitbag_domain::{ExposedName, Outcome, Purpose, Surface};
use kitbag_store::{AuditPage, AuditQuery, AuditRow, AuditRowKind};
use kitbag_wire::{Raw, RawObject};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::app::App;
use crate::failure::Failure;
use crate::flights::HeldMessage;
use crate::front::lists;
use crate::surface::call::call;
use crate::turn::Turn;

/// On the adaptive surface the list follows what the client does, so each client has an id.
#[derive(Debug, Clone)]
pub struct MeasuredClient {
    pub surface: Surface,
    /// The text that tells it from the other clients of the same gateway.
    pub id: String,
}

/// A call that reached a tool, as the audit has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedCall {
    /// The name that clients use for the tool.
    pub tool: String,
    pub succeeded: bool,
}

/// Each attempt makes far fewer calls; more of them would not be looked at.
const MOST_ROWS: u32 = 10_000;

impl App {
    /// Returns every tool that `tools/list` would give the client now.
    pub async fn list_for(&self, client: &MeasuredClient) -> Result<Vec<Value>, Failure> {
        let (turn, mut messages) = self.measured_turn(client);
        let mut tools: Vec<Value> = Vec::new();
        let mut page = RawObject::new();
        loop {
            let listed = meanwhile(&mut messages, lists::tools(&turn, page)).await?;
            let listed = RawObject::open(&listed).unwrap_or_default();
            tools.extend(listed.read::<Vec<Value>>("tools").unwrap_or_default());
            let Some(cursor) = listed.read::<String>("nextCursor") else {
                return Ok(tools);
            };
            page = RawObject::new().with("cursor", &cursor);
        }
    }

    /// Makes a call as the client would.
    pub async fn call_for(
        &self,
        client: &MeasuredClient,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Raw, Failure> {
        let params = RawObject::new()
            .with("name", name)
            .with("arguments", &arguments);
        let (turn, mut messages) = self.measured_turn(client);
        meanwhile(&mut messages, call(&turn, params)).await
    }

    /// Takes over what another gateway knows of servers of the same names, so that none of them is
    /// started only to be asked again.
    pub async fn take_listings(&self, from: &Self) {
        let (gateway, known) = (self.host().gateway(), from.host().gateway());
        for server in gateway.upstreams.iter() {
            let known = known.upstreams.get(server.name());
            if let Some(listing) = known.and_then(|it| it.listing()) {
                server.take_over_listing((*listing).clone());
            }
        }
        self.host().rebuild_catalog().await;
    }

    /// Returns the last row of the audit, to tell later calls from earlier ones.
    pub async fn audited(&self) -> anyhow::Result<i64> {
        let services = &self.host().gateway().services;
        services.audit.flush().await;
        Ok(services.store.newest_audit_row().await?)
    }

    /// Returns the calls of tools after a row of the audit, those of programs among them.
    pub async fn calls_since(&self, row: i64) -> anyhow::Result<Vec<AuditedCall>> {
        let services = &self.host().gateway().services;
        services.audit.flush().await;
        let query = AuditQuery {
            kinds: vec![AuditRowKind::Call],
            page: AuditPage::WrittenAfter { id: row },
            ..AuditQuery::newest(MOST_ROWS)
        };
        let rows = services.store.audit(&query).await?;
        Ok(rows.iter().filter_map(audited_call).collect())
    }

    fn measured_turn(&self, client: &MeasuredClient) -> (Turn, mpsc::Receiver<HeldMessage>) {
        let (mut turn, messages) = self.turn("kitbag eval", client.surface);
        turn.purpose = Purpose::Measurement;
        turn.client.id = client.id.as_str().into();
        (turn, messages)
    }
}

fn audited_call(row: &AuditRow) -> Option<AuditedCall> {
    let capability = row.capability()?;
    Some(AuditedCall {
        tool: ExposedName::new(&capability.server, &capability.name)
            .as_str()
            .to_owned(),
        succeeded: row.outcome == Outcome::Ok,
    })
}

/// Serves a request. No client here reads the messages that a server sends meanwhile.
async fn meanwhile<T>(
    messages: &mut mpsc::Receiver<HeldMessage>,
    serving: impl Future<Output = T>,
) -> T {
    let mut serving = pin!(serving);
    loop {
        tokio::select! {
            biased;
            Some(_) = messages.recv() => {}
            served = &mut serving => return served,
        }
    }
}
