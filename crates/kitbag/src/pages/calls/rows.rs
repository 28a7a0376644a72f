//! Rows of the audit as rows of a table.

use std::time::Duration;

use kitbag_domain::{Outcome, ServerName};
use kitbag_gateway::telemetry::audit::AuditLine;
use kitbag_store::AuditRow;
use maud::{Markup, html};

use crate::pages::elements::{code_text, duration, number, outcome_pill, text, time};

pub(in crate::pages) const HEADS: [&str; 7] = [
    "Time", "What", "Outcome", "#Took", "#Tokens", "#Cost", "Who",
];

pub(in crate::pages) fn render_rows(rows: &[AuditRow]) -> Markup {
    html! {
        @for row in rows {
            @let line = AuditLine::from_row(row);
            tr {
                td { (time(row.at)) }
                th scope="row" { a href=(link_to_row(row.id)) { (what(&line)) } (detail(&line)) }
                td { (outcome_pill(row.outcome)) }
                td.number { (took(row, &line)) }
                td.number { @if let Some(tokens) = line.tokens { (number(tokens)) } }
                td.number { (cost(&line)) }
                td.wide { (who(&line)) }
            }
        }
    }
}

pub(in crate::pages) fn link_to_row(id: i64) -> String {
    format!("/ui/calls/{id}")
}

/// The called capability as clients see it, or the change with its subject.
pub(in crate::pages) fn what(line: &AuditLine<'_>) -> Markup {
    html! {
        @match line.server {
            Some(server) => (code_text(&format!("{server}/{}", line.name))),
            None => { (line.event.replace('_', " ")) ": " (text(line.name)) }
        }
    }
}

fn detail(line: &AuditLine<'_>) -> Markup {
    html! { @if let Some(detail) = line.detail { small { " " (text(detail)) } } }
}

/// The duration, unless there is none yet.
pub(in crate::pages) fn took(row: &AuditRow, line: &AuditLine<'_>) -> String {
    let latency = line
        .latency_ms
        .filter(|_| row.outcome != Outcome::Unfinished);
    latency.map_or_else(String::new, |ms| {
        duration(Duration::from_secs_f64(ms / 1000.0))
    })
}

pub(in crate::pages) fn cost(line: &AuditLine<'_>) -> String {
    line.cost_usd.map_or_else(String::new, usd)
}

fn usd(cost: f64) -> String {
    // Most calls cost less than a cent.
    if cost > 0.0 && cost < 0.01 {
        format!("${cost:.5}")
    } else {
        format!("${cost:.2}")
    }
}

/// The user, or the tenant and its key, with the client.
fn who(line: &AuditLine<'_>) -> Markup {
    html! {
        @if let Some(actor) = line.actor { (text(actor)) " " }
        @if let Some(tenant) = line.tenant { (text(tenant)) " " }
        @if let Some(key) = line.key { small { "key " (text(key)) " " } }
        @if let Some(client) = line.client { small { (text(client)) } }
    }
}

/// Returns the page of a tool, if its name needs no escaping in an address.
pub(in crate::pages) fn link_to_tool(server: &ServerName, name: &str) -> Option<String> {
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    (is_plain && !name.is_empty()).then(|| format!("/ui/tools/{server}__{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_costs_stay_visible() {
        assert_eq!(usd(0.000_25), "$0.00025");
        assert_eq!(usd(1.5), "$1.50");
        assert_eq!(usd(0.0), "$0.00");
    }

    #[test]
    fn only_a_plain_name_is_part_of_an_address() {
        let server: ServerName = "shop".parse().unwrap();
        let link = link_to_tool(&server, "list_orders");
        assert_eq!(link.as_deref(), Some("/ui/tools/shop__list_orders"));
        assert_eq!(link_to_tool(&server, "../x\"y"), None);
    }
}
