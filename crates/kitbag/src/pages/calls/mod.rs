//! The calls: the audit as a table with filters, page by page, and one row of it.

mod filter;
pub(super) mod rows;
mod show;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use kitbag_gateway::telemetry::audit::limited_read::{LimitedRead, read_within_limit};
use kitbag_gateway::telemetry::audit::parameters::{QueryParameters, parse_query, to_cursor};
use kitbag_store::{AuditPage, AuditQuery};
use maud::{Markup, html};

use self::filter::CallFilter;
use self::rows::{HEADS, render_rows};
use super::Pages;
use super::elements::{empty_state, exact_time, live, pager, table};
use super::layout::{Section, page};
use super::notice::Notice;
use super::visitor::Visitor;

const PATH: &str = "/ui/calls";
const ROWS: u32 = 50;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show_list))
        .route("/ui/calls/{id}", get(show::show))
}

async fn show_list(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(parameters): Query<QueryParameters>,
) -> Response {
    let filter = CallFilter::new(parameters);
    let found = match parse_query(filter.parameters(), ROWS) {
        Ok(query) => read_within_limit(
            &pages.gateway().services.store,
            &narrow_to_server(query, &pages),
        )
        .await
        .map_err(|error| (StatusCode::SERVICE_UNAVAILABLE, error.into())),
        Err(reason) => Err((StatusCode::BAD_REQUEST, anyhow::Error::msg(reason))),
    };
    let (status, list) = match found {
        Ok(found) => (StatusCode::OK, render_list(&filter, &found)),
        Err((status, error)) => (status, Notice::failed(&error).render()),
    };
    let body = html! {
        (filter.render(&pages))
        (list)
        p.muted { "The same in a terminal: " code { (filter.command()) } }
    };
    (status, page(&visitor, Section::Calls, "Calls", &body)).into_response()
}

/// Where the pattern for the tool begins with the name of a server, only rows of that server are
/// read: the store has an index of servers.
fn narrow_to_server(query: AuditQuery, pages: &Pages) -> AuditQuery {
    let split = query.name.as_deref().and_then(|name| {
        let (server, tool) = name.split_once("__").or_else(|| name.split_once('/'))?;
        let gateway = pages.gateway();
        let mut known = gateway.upstreams.iter().map(|upstream| upstream.name());
        let server = known.find(|known| known.as_str() == server)?.clone();
        Some((server, tool.to_owned()))
    });
    match split {
        Some((server, tool)) if query.server.is_none() => AuditQuery {
            server: Some(server),
            name: (tool != "*").then_some(tool),
            ..query
        },
        _ => query,
    }
}

fn render_list(filter: &CallFilter, found: &LimitedRead) -> Markup {
    let list = html! {
        @if found.rows.is_empty() { (render_no_rows(filter, found)) }
        @else { (table("Calls, newest first", &HEADS, &render_rows(&found.rows))) }
        @if let Some(at) = found.searched_back_to {
            p { "Searched back to " (exact_time(at)) ". Older rows may match, too." }
        }
    };
    let next = found
        .next
        .and_then(cursor)
        .map(|cursor| filter.link_to_page(&cursor));
    let first = filter.is_later_page().then(|| filter.link_to_page(""));
    html! {
        // Later pages do not change.
        @if filter.is_later_page() { (list) } @else { (live("calls", "calls", &list)) }
        (pager(first.as_deref(), next.as_deref()))
    }
}

pub(super) fn cursor(page: AuditPage) -> Option<String> {
    match page {
        AuditPage::OlderThan { at, id } => Some(to_cursor(at, id)),
        AuditPage::Newest | AuditPage::WrittenAfter { .. } => None,
    }
}

fn render_no_rows(filter: &CallFilter, found: &LimitedRead) -> Markup {
    if filter.is_empty() {
        empty_state(
            "No calls yet",
            &html! {
                "Connect a client with " code { "kitbag install" } ", or try a tool on the page "
                a href=(Section::Tools.path()) { "Tools" } "."
            },
        )
    } else if found.searched_back_to.is_some() {
        empty_state(
            "No matching rows so far",
            &html! { "Go on with the next page." },
        )
    } else {
        let all = html! { a href=(PATH) { "Show all rows" } };
        empty_state("No matching rows", &all)
    }
}
