//! `GET /v1/tokens`: the token costs of lists, searches and calls, as JSON.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::response::Response as HttpResponse;
use http::{HeaderMap, StatusCode};
use kitbag_domain::Outcome;
use serde_json::{Map, Value, json};

use super::auth;
use super::response::{reject_caller, uncached_json};
use crate::state::gateway::Gateway;
use kitbag_telemetry::figures::{ListFigures, UsageFigures};

pub(super) async fn get_tokens(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(rejection) => return reject_caller(&rejection),
    };
    let figures = gateway.visible_figures(&gateway.catalog(), &caller);
    uncached_json(StatusCode::OK, &usage_json(&figures))
}

/// Returns the figures by surface, by tool and by client, most expensive first.
pub(crate) fn usage_json(tables: &UsageFigures) -> Value {
    let mut total = ListFigures::default();
    tables
        .surfaces
        .values()
        .for_each(|listed| total.add(*listed));
    let returned: u64 = tables.tools.values().map(|tool| tool.returned).sum();
    let surfaces = tables.surfaces.iter().map(|((tenant, surface), listed)| {
        (
            listed.shown,
            with_list_figures(json!({ "tenant": tenant, "surface": surface }), *listed),
        )
    });
    let tools = tables.tools.iter().filter(|(_, tool)| tool.answers > 0).map(|((tenant, name), tool)| {
        let row = json!({
            "tenant": tenant, "tool": **name, "answers": tool.answers, "returned": tool.returned,
        });
        (tool.returned, row)
    });
    let clients = tables.clients.iter().map(|(id, client)| {
        let row = json!({
            "tenant": client.tenant,
            "client": client.name,
            "session": id.session_alias(),
            "answers": client.answers,
            "returned": client.returned,
        });
        (
            client.listed.shown + client.returned,
            with_list_figures(row, client.listed),
        )
    });
    let operations = tables.operations.iter().map(|((tenant, path), it)| {
        let outcomes: Map<String, Value> = it.calls.outcomes().map(outcome_entry).collect();
        let row = json!({
            "tenant": tenant, "path": path.as_str(), "count": it.calls.count(), "outcomes": outcomes,
            "seconds": it.calls.seconds, "asked": it.request_tokens, "answered": it.answer_tokens,
            "efficiency": it.efficiency(),
        });
        (it.request_tokens + it.answer_tokens, row)
    });
    let templates = tables.templates.iter().map(|((tenant, template), it)| {
        let outcomes: Map<String, Value> = it.calls.outcomes().map(outcome_entry).collect();
        let runs = it.calls.count();
        let succeeded = outcomes
            .get("ok")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let row = json!({
            "tenant": tenant, "template": **template, "runs": runs, "outcomes": outcomes,
            "succeeded": succeeded as f64 / runs.max(1) as f64,
            "seconds": it.calls.seconds, "answered": it.answer_tokens,
        });
        (runs, row)
    });
    let events = tables.events.iter().map(|((tenant, event), count)| {
        json!({ "tenant": tenant, "event": event.as_str(), "count": count })
    });
    json!({
        "estimated": true,
        "total": with_list_figures(json!({ "returned": returned }), total),
        "surfaces": most_expensive_first(surfaces),
        "tools": most_expensive_first(tools),
        "clients": most_expensive_first(clients),
        "operations": most_expensive_first(operations),
        "templates": most_expensive_first(templates),
        "events": events.collect::<Vec<_>>(),
    })
}

fn outcome_entry((outcome, count): (Outcome, u64)) -> (String, Value) {
    (outcome.as_str().to_owned(), json!(count))
}

fn with_list_figures(mut row: Value, listed: ListFigures) -> Value {
    for (key, figure) in [
        ("lists", listed.lists),
        ("catalog", listed.catalog),
        ("shown", listed.shown),
        ("saved", listed.saved),
    ] {
        row[key] = json!(figure);
    }
    row
}

fn most_expensive_first(rows: impl Iterator<Item = (u64, Value)>) -> Vec<Value> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    rows.into_iter().map(|(_, row)| row).collect()
}
