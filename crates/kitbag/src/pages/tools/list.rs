//! All tools in a table: filtered, sorted, page by page.

use axum::extract::{Query, State};
use axum::response::{Html, IntoResponse as _, Response};
use kitbag_domain::WriteClass;
use kitbag_gateway::admin::tool_table::{ToolFilter, ToolOrder, ToolSummary, ToolTable};
use maud::{Markup, html};
use serde::Deserialize;

use super::offers::{self, OfferKind};
use super::{effect_pill, server_link, tool_path};
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, code_text, empty_state, link, live, number, pager, percent, pill, summary, table,
};
use crate::pages::layout::{Section, failure_page, page};
use crate::pages::visitor::Visitor;

pub(super) const ROWS: usize = 100;
const PATH: &str = "/ui/tools";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    /// What is listed: tools, or another kind of offer.
    pub(super) list: String,
    pub(super) text: String,
    server: String,
    kind: String,
    order: String,
    pub(super) page: usize,
}

pub(super) async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(query): Query<ListQuery>,
) -> Response {
    if let Some(kind) = OfferKind::parse(&query.list) {
        return offers::show(&pages, &visitor, kind, &query).into_response();
    }
    match pages.app.tool_table().await {
        Ok(table) => show_tools(&visitor, &table, &query).into_response(),
        Err(error) => failure_page(&visitor, Section::Tools, "Tools", &error),
    }
}

fn show_tools(visitor: &Visitor, table: &ToolTable, query: &ListQuery) -> Html<String> {
    let filter = ToolFilter {
        words: ToolFilter::words_of(&query.text),
        server: (!query.server.is_empty()).then(|| query.server.clone()),
        write_class: WriteClass::parse(&query.kind),
    };
    let order = ToolOrder::parse(&query.order).unwrap_or_default();
    let tools = table.select(&filter, order);
    let first = query.page.saturating_mul(ROWS);
    let shown: Vec<_> = tools.iter().skip(first).take(ROWS).collect();
    let body = html! {
        (tabs(None))
        (filter_form(table, query, order))
        @let rows = html! {
            p.muted { (count_text(tools.len(), table.tools.len())) }
            @if shown.is_empty() {
                (nothing_found(query, table))
            } @else {
                (tool_rows(&shown))
                (pages_of(query, tools.len()))
            }
        };
        (live("tools", "tools learned", &rows))
    };
    page(visitor, Section::Tools, "Tools", &body)
}

/// Links to the lists of everything that servers offer.
pub(super) fn tabs(current: Option<OfferKind>) -> Markup {
    html! {
        nav.tabs aria-label="Kinds" { ul {
            li { a href=(PATH) aria-current=[current.is_none().then_some("page")] { "Tools" } }
            @for kind in OfferKind::ALL {
                @let path = link(PATH, &[("list", kind.as_str())]);
                li { a href=(path) aria-current=[(current == Some(kind)).then_some("page")] { (kind.title()) } }
            }
        } }
    }
}

fn filter_form(table: &ToolTable, query: &ListQuery, order: ToolOrder) -> Markup {
    html! {
        form.filter method="get" action=(PATH) data-filter {
            label.wide { "Name or description" input type="search" name="text" value=(query.text); }
            label { "Server" select name="server" {
                option value="" { "All" }
                @for server in table.servers() {
                    option value=(server) selected[server == query.server] { (server) }
                }
            } }
            label { "Effect" select name="kind" {
                option value="" { "All" }
                @for class in WriteClass::ALL {
                    option value=(class.as_str()) selected[class.as_str() == query.kind] { (class.as_str()) }
                }
            } }
            label { "Order" select name="order" {
                @for (choice, label) in ORDERS {
                    option value=(choice.as_str()) selected[choice == order] { (label) }
                }
            } }
            button { "Show" }
        }
    }
}

const ORDERS: [(ToolOrder, &str); 4] = [
    (ToolOrder::Name, "Name"),
    (ToolOrder::Server, "Server"),
    (ToolOrder::Use, "Most used"),
    (ToolOrder::Cost, "Most tokens"),
];

fn tool_rows(tools: &[&&ToolSummary]) -> Markup {
    let rows = html! {
        @for tool in tools { tr {
            th scope="row" {
                a href=(tool_path(&tool.row.name)) { (code_text(&tool.row.name)) }
                @if let Some(description) = &tool.row.description {
                    br; small { (summary(description)) }
                }
            }
            td { (server_link(&tool.row.server)) }
            td {
                (effect_pill(tool.write_class))
                @if tool.unapproved.is_some() { " " (pill(Tone::Warn, "unapproved")) }
            }
            td.number { (number(tool.tokens as u64)) }
            td.number { @if let Some(calls) = tool.calls { (number(calls.round() as u64)) } }
            td.number { @if let Some(rate) = tool.success_rate { (percent(rate)) } }
        } }
    };
    let heads = [
        "Tool",
        "Server",
        "Effect",
        "#Tokens",
        "#Recent calls",
        "#Success",
    ];
    table("Tools", &heads, &rows)
}

fn count_text(shown: usize, all: usize) -> String {
    let (shown_text, all_text) = (number(shown as u64), number(all as u64));
    match shown == all {
        true => format!("{all_text} tools. Tokens are those of the whole definition, estimated."),
        false => format!("{shown_text} of {all_text} tools."),
    }
}

fn nothing_found(query: &ListQuery, table: &ToolTable) -> Markup {
    if table.tools.is_empty() {
        let next = html! { a href="/ui/servers" { "Add a server" } ", and its tools appear here." };
        return empty_state("No tools yet", &next);
    }
    let next = html! {
        a href=(PATH) { "Show all" }
        @if !query.text.trim().is_empty() {
            ", or " a href=(link("/ui/search", &[("q", &query.text)])) { "search by meaning" }
        }
        "."
    };
    empty_state("No tool matches", &next)
}

fn pages_of(query: &ListQuery, all: usize) -> Markup {
    let page_link = |page: usize| {
        let page = if page == 0 {
            String::new()
        } else {
            page.to_string()
        };
        let fields = [
            ("text", query.text.as_str()),
            ("server", &query.server),
            ("kind", &query.kind),
            ("order", &query.order),
            ("page", &page),
        ];
        link(PATH, &fields)
    };
    let first = (query.page > 0).then(|| page_link(0));
    let has_next = (query.page + 1).saturating_mul(ROWS) < all;
    let next = has_next.then(|| page_link(query.page + 1));
    pager(first.as_deref(), next.as_deref())
}
