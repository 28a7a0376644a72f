//! The list of servers.

use kitbag_upstream::Server;
use maud::{Markup, html};

use super::condition::ServerCondition;
use super::server_path;
use crate::pages::elements::{number, text};

pub(in crate::pages) const HEADS: &[&str] = &[
    "Server",
    "State",
    "Protocol",
    "#Tools",
    "#In flight",
    "#Starts",
    "Last failure",
];

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
