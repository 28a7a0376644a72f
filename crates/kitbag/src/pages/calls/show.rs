//! One row of the audit: all its fields, its run, and the searches before it.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kitbag_domain::Kind;
use kitbag_gateway::telemetry::audit::AuditLine;
use kitbag_gateway::telemetry::audit::preceding_searches::{
    EarlierSearch, SearchLink, find_earlier_searches, query_text,
};
use kitbag_store::AuditRow;
use maud::{Markup, html};

use super::PATH;
use super::rows::{cost, link_to_row, link_to_tool, took, what};
use crate::pages::Pages;
use crate::pages::code::link_to_run;
use crate::pages::elements::{
    Tone, block_text, code_text, exact_time, link, number, outcome_pill, pill, table, text, time,
};
use crate::pages::layout::{Section, error_page, page};
use crate::pages::visitor::Visitor;

pub(super) async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(id): Path<i64>,
) -> Response {
    match render_row(&pages, id).await {
        Ok(Some((title, body))) => page(&visitor, Section::Calls, &title, &body).into_response(),
        Ok(None) => error_page(
            StatusCode::NOT_FOUND,
            "The audit has no row with this number. Old rows are deleted after `keep_days` days.",
        ),
        Err(error) => error_page(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    }
}

async fn render_row(
    pages: &Pages,
    id: i64,
) -> Result<Option<(String, Markup)>, kitbag_store::Error> {
    let gateway = pages.gateway();
    let store = &gateway.services.store;
    let Some(row) = store.read_audit_rows(&[id]).await?.pop() else {
        return Ok(None);
    };
    let searches = find_earlier_searches(store, &row).await?;
    let line = AuditLine::from_row(&row);
    let title = match line.server {
        Some(_) => format!("Call {id}"),
        None => format!("Row {id}: {}", line.event.replace('_', " ")),
    };
    let body = html! {
        p { (what(&line)) " " (outcome_pill(row.outcome)) }
        (facts(&row, &line))
        @if let Some(arguments) = line.arguments {
            details { summary { "Arguments, as recorded" } (block_text(&pretty(arguments))) }
        }
        @if line.server.is_some() { (render_searches(&row, &searches)) }
        p { a href=(PATH) { "All calls" } }
    };
    Ok(Some((title, body)))
}

fn facts(row: &AuditRow, line: &AuditLine<'_>) -> Markup {
    html! {
        dl.facts {
            dt { "Time" } dd { (exact_time(row.at)) " · " (time(row.at)) }
            @if let Some(capability) = row.capability() {
                (linked_fact("Server", "server", capability.server.as_str()))
                dt { (kind_name(capability.kind)) } dd {
                    @match link_to_tool(&capability.server, &capability.name) {
                        Some(tool) if capability.kind == Kind::Tool => {
                            a href=(tool) { (code_text(&capability.name)) }
                        }
                        _ => (code_text(&capability.name)),
                    }
                }
            }
            @if let Some(tenant) = line.tenant { (linked_fact("Tenant", "tenant", tenant)) }
            @if let Some(key) = line.key { (linked_fact("Key", "key", key)) }
            @if let Some(client) = line.client { (linked_fact("Client", "client", client)) }
            (fact("User", line.actor))
            (fact("Took", Some(took(row, line).as_str())))
            (fact("Tokens", line.tokens.map(number).as_deref()))
            (fact("Cost", Some(cost(line).as_str())))
            (fact("Detail", line.detail))
            (fact("Purpose", line.purpose.filter(|purpose| *purpose != "use")))
            @if let Some(run) = line.run {
                dt { "Run" } dd { a href=(link_to_run(run)) { (code_text(run)) } }
            }
            (fact("Request", line.request))
            (fact("Trace", line.trace))
            (fact("Address", line.address))
        }
    }
}

fn fact(name: &str, value: Option<&str>) -> Markup {
    html! {
        @if let Some(value) = value.filter(|value| !value.is_empty()) {
            dt { (name) } dd { (text(value)) }
        }
    }
}

/// A fact with a link to the other rows that share it.
fn linked_fact(name: &str, parameter: &str, value: &str) -> Markup {
    html! { dt { (name) } dd { a href=(link(PATH, &[(parameter, value)])) { (text(value)) } } }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => "Tool",
        Kind::Prompt => "Prompt",
        Kind::Resource => "Resource",
    }
}

/// Indents JSON. Recorded arguments may be truncated, and then stay as they are.
fn pretty(arguments: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(arguments);
    parsed.map_or_else(|_| arguments.to_owned(), |value| format!("{value:#}"))
}

fn render_searches(call: &AuditRow, searches: &[EarlierSearch]) -> Markup {
    let rows = html! {
        @for search in searches {
            @let row = &search.row;
            tr {
                td.number { (seconds_before(row, call)) }
                th scope="row" { a href=(link_to_row(row.id)) { (query(row)) } }
                td { @if let Some(detail) = AuditLine::from_row(row).detail { (text(detail)) } }
                td { (pill(tone(search.link), search.link.describe())) }
            }
        }
    };
    html! {
        h2 { "The search that led to it" }
        @if searches.is_empty() {
            p.muted { "This client did not search in the five minutes before." }
        } @else {
            (table("Searches before this call", &["#Before", "Query", "Result", "Link"], &rows))
            p.muted {
                "The audit does not record which tools a search found, so a link by time is a guess."
                @if searches.iter().all(|search| query_text(&search.row).is_none()) {
                    " To record queries, set " code { "arguments = \"redacted\"" } " under "
                    code { "[audit]" } "."
                }
            }
        }
    }
}

fn tone(link: SearchLink) -> Tone {
    match link {
        SearchLink::SameRequest | SearchLink::SameRun => Tone::Good,
        SearchLink::Probable => Tone::Neutral,
    }
}

fn query(search: &AuditRow) -> Markup {
    html! {
        @match query_text(search) {
            Some(query) => { "“" (text(&query)) "”" }
            None => { "Search " (search.id) }
        }
    }
}

fn seconds_before(search: &AuditRow, call: &AuditRow) -> String {
    let seconds = (call.at.0 - search.at.0).max(0) as f64 / 1000.0;
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}
