//! The list of servers.

use axum::extract::{Query, State};
use axum::response::Html;
use kitbag_domain::ServerName;
use kitbag_upstream::Server;
use maud::{Markup, html};
use serde::Deserialize;

use super::condition::ServerCondition;
use super::{SERVERS, server_path};
use crate::cli::output::pluralize;
use crate::pages::Pages;
use crate::pages::elements::{Tone, empty_state, link, live, number, pager, pill, table, text};
use crate::pages::layout::{Section, page};
use crate::pages::visitor::Visitor;

pub(in crate::pages) const HEADS: &[&str] = &[
    "Server",
    "State",
    "Protocol",
    "#Tools",
    "#In flight",
    "#Starts",
    "Last failure",
];
const PER_PAGE: usize = 100;
const DISABLED: &str = "disabled";
/// The states to filter by, as in the URL and on the page.
const STATES: [(&str, &str); 6] = [
    ("failing", "failing"),
    ("login", "login needed"),
    ("unlisted", "not listed yet"),
    ("running", "running"),
    ("idle", "idle"),
    ("disabled", "disabled"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListFilter {
    /// A part of the name.
    name: String,
    state: String,
    /// The last server of the page before.
    after: String,
}

pub(super) async fn show_list(
    State(pages): State<Pages>,
    Query(filter): Query<ListFilter>,
    visitor: Visitor,
) -> Html<String> {
    let body = html! {
        @if visitor.is_admin() { p { a.button href="/ui/servers/add" { "Add a server" } } }
        form.filter data-filter method="get" action=(SERVERS) {
            label { "Name" input type="search" name="name" value=(filter.name); }
            label { "State" select name="state" {
                option value="" { "any" }
                @for (value, name) in STATES {
                    option value=(value) selected[filter.state == value] { (name) }
                }
            } }
            button { "Filter" }
        }
        (live("servers", "servers tools calls", &render_list(&pages, &filter)))
    };
    page(&visitor, Section::Servers, "Servers", &body)
}

fn render_list(pages: &Pages, filter: &ListFilter) -> Markup {
    let gateway = pages.gateway();
    let disabled = match pages.source.load() {
        Ok(config) => config.disabled.into_keys().collect(),
        // The running gateway keeps its servers.
        Err(_) => Vec::new(),
    };
    let running = gateway.upstreams.iter().map(|server| {
        let condition = ServerCondition::of(server);
        (server.name().clone(), Some((server, condition)))
    });
    let is_running = |name: &ServerName| gateway.upstreams.get(name).is_some();
    let disabled = disabled.into_iter().filter(|name| !is_running(name));
    let mut servers: Vec<_> = running.chain(disabled.map(|name| (name, None))).collect();
    let all = servers.len();
    servers.retain(|(name, running)| {
        let state = running
            .as_ref()
            .map_or(DISABLED, |(_, condition)| condition.name());
        filter.matches(name, state)
    });
    servers.sort_by(|(a, _), (b, _)| a.cmp(b));
    let found = servers.len();
    servers.retain(|(name, _)| filter.after.is_empty() || name.as_str() > filter.after.as_str());
    let has_more = servers.len() > PER_PAGE;
    servers.truncate(PER_PAGE);
    let last = servers
        .last()
        .map(|(name, _)| name.to_string())
        .filter(|_| has_more);
    let page_after = |after: &str| {
        link(
            SERVERS,
            &[
                ("name", &filter.name),
                ("state", &filter.state),
                ("after", after),
            ],
        )
    };
    let rows = html! {
        @for (name, running) in &servers {
            @match running {
                Some((server, condition)) => (server_row(server, condition)),
                None => (disabled_row(name)),
            }
        }
    };
    html! {
        @if all == 0 {
            (empty_state("No servers yet.", &html! {
                a href="/ui/servers/add" { "Add a server" } ", or import those of your clients: "
                code { "kitbag import" }
            }))
        } @else if found == 0 {
            (empty_state("No server matches this filter.", &html! { a href=(SERVERS) { "Show all" } }))
        } @else {
            p.muted { (pluralize(found, "server")) }
            (table("Servers", HEADS, &rows))
            (pager(
                (!filter.after.is_empty()).then(|| page_after("")).as_deref(),
                last.map(|last| page_after(&last)).as_deref(),
            ))
        }
    }
}

impl ListFilter {
    fn matches(&self, name: &ServerName, state: &str) -> bool {
        let wanted = STATES.iter().find(|(value, _)| *value == self.state);
        name.as_str().contains(&self.name.trim().to_lowercase())
            && wanted.is_none_or(|(_, wanted)| *wanted == state)
    }
}

pub(in crate::pages) fn server_row(server: &Server, condition: &ServerCondition) -> Markup {
    let (figures, listing) = (server.figures(), server.listing());
    html! { tr {
        th scope="row" { a href=(server_path(server.name())) { (server.name()) } }
        td { (condition.pill()) }
        td.nowrap { @if let Some(listing) = &listing { (text(&listing.version)) } }
        td.number { @if let Some(listing) = &listing { (number(listing.tools.len() as u64)) } }
        td.number {
            (number(figures.in_flight as u64))
            @if figures.waiting > 0 { " + " (number(figures.waiting as u64)) " waiting" }
        }
        td.number { (number(figures.starts)) }
        td { @if let ServerCondition::Failing(error) = condition {
            (text(error.to_string().lines().next().unwrap_or_default()))
        } }
    } }
}

fn disabled_row(name: &ServerName) -> Markup {
    html! { tr {
        th scope="row" { a href=(server_path(name)) { (name) } }
        td { (pill(Tone::Neutral, DISABLED)) }
        td {} td {} td {} td {} td {}
    } }
}
