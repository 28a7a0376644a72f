//! The latest runs of programs as a table.

use std::time::Duration;

use kitbag_store::{AuditPage, AuditQuery, RunQuery, RunSummary};
use maud::{Markup, html};

use super::{PATH, link_to_run};
use crate::pages::Pages;
use crate::pages::calls::cursor;
use crate::pages::elements::{
    Tone, code_text, duration, empty_state, link, number, pager, pill, table, text, time,
};

/// The runs of a page.
pub(super) const RUNS: u32 = 20;

const HEADS: [&str; 7] = [
    "Last call",
    "Run",
    "#Calls",
    "Failed",
    "#Took",
    "#Tokens",
    "Who",
];

/// Renders the runs of the page and the tenant that the query names.
pub(super) async fn render(
    pages: &Pages,
    query: &AuditQuery,
) -> Result<Markup, kitbag_store::Error> {
    let tenant = query.tenant.as_ref().map_or("", |tenant| tenant.as_str());
    let wanted = RunQuery {
        limit: query.limit as usize,
        tenant: query.tenant.clone(),
        page: query.page,
    };
    let found = pages.gateway().services.store.recent_runs(&wanted).await?;
    let next = found.next.and_then(cursor);
    let next = next.map(|cursor| link(PATH, &[("tenant", tenant), ("cursor", &cursor)]));
    let first = (query.page != AuditPage::Newest).then(|| link(PATH, &[("tenant", tenant)]));
    Ok(html! {
        @if found.runs.is_empty() {
            (empty_state("No runs yet", &html! {
                "Agents run programs with the tool " code { "run_code" } " on the surface " code { "code" }
                ". To try one here, use " code { "kitbag run" } "."
            }))
        } @else {
            (table("Runs of programs, newest first", &HEADS, &html! {
                @for run in &found.runs { (row(run)) }
            }))
        }
        (pager(first.as_deref(), next.as_deref()))
    })
}

fn row(run: &RunSummary) -> Markup {
    html! {
        tr {
            td { (time(run.last)) }
            th scope="row" { a href=(link_to_run(&run.run)) { (code_text(&run.run)) } }
            td.number { (number(run.calls)) }
            td { (failures(run.failed)) }
            td.number { (duration(length(run))) }
            td.number { (number(run.tokens)) }
            td.wide {
                @if let Some(tenant) = &run.tenant { (text(tenant.as_str())) " " }
                @if let Some(client) = &run.client { small { (text(client)) } }
            }
        }
    }
}

pub(super) fn failures(failed: u64) -> Markup {
    html! { @match failed {
        0 => (pill(Tone::Good, "none")),
        _ => (pill(Tone::Bad, number(failed))),
    } }
}

/// From the beginning of the first call to the end of the last.
fn length(run: &RunSummary) -> Duration {
    Duration::from_millis((run.last.0 - run.started.0).unsigned_abs())
}
