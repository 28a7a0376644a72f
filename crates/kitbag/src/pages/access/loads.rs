//! The open requests of callers, against their limits.

use maud::{Markup, html};

use crate::pages::Pages;
use crate::pages::elements::{code_text, empty_state, number, table, text};

const MAX_CALLERS: usize = 20;

pub(super) fn render(pages: &Pages) -> Markup {
    let loads = pages.app.caller_loads();
    let rows = html! {
        @for load in loads.iter().take(MAX_CALLERS) { tr {
            th scope="row" { (text(load.tenant.as_str())) }
            td { @match &load.key { Some(key) => (code_text(&key.0)), None => span.muted { "this machine" } } }
            td.number { (number(load.requests as u64)) }
            td { meter min="0" max=(load.max_requests) value=(load.requests) aria-label="Open requests" {} " of " (number(load.max_requests as u64)) }
            td.number { (number(load.bytes as u64)) }
            td { meter min="0" max=(load.max_bytes) value=(load.bytes) aria-label="Bytes of unread answers" {} " of " (number(load.max_bytes as u64)) }
        } }
    };
    html! {
        @if loads.is_empty() {
            (empty_state("No open requests.", &html! { "Each caller may have a limited number of requests and unread answers." }))
        } @else {
            (table("Open requests", &["Tenant", "Key", "#Requests", "Limit", "#Unread bytes", "Limit"], &rows))
        }
    }
}
