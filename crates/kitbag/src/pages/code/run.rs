//! One run of a program: its searches and calls in order, on a line of time.

use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kitbag_domain::Outcome;
use kitbag_gateway::telemetry::audit::AuditLine;
use kitbag_gateway::telemetry::audit::preceding_searches::query_text;
use kitbag_store::{AuditPage, AuditQuery, AuditRow};
use maud::{Markup, html};
use serde::Deserialize;

use super::PATH;
use crate::pages::Pages;
use crate::pages::calls::rows::{link_to_row, took, what};
use crate::pages::elements::{
    code_text, duration, exact_time, figure, link, live, number, outcome_pill, pager, table, text,
};
use crate::pages::layout::{Section, error_page, page};
use crate::pages::visitor::Visitor;

/// The calls of one page. A program of an agent rarely makes more.
const CALLS: u32 = 200;

const HEADS: [&str; 6] = ["#After", "Call", "Outcome", "#Took", "#Tokens", "Timeline"];

/// The width of the line of time.
const WIDTH: f64 = 240.0;

#[derive(Deserialize)]
pub(super) struct After {
    /// Calls after the row with this number.
    #[serde(default)]
    after: i64,
}

/// Returns the page of a run. The number of a run needs no escaping, but an old audit may hold others.
pub(in crate::pages) fn link_to_run(run: &str) -> String {
    let is_plain = run
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if is_plain && !run.is_empty() {
        format!("/ui/code/runs/{run}")
    } else {
        link("/ui/calls", &[("run", run)])
    }
}

pub(super) async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(run): Path<String>,
    Query(After { after }): Query<After>,
) -> Response {
    let query = AuditQuery {
        run: Some(run.clone()),
        page: AuditPage::WrittenAfter { id: after },
        ..AuditQuery::newest(CALLS)
    };
    let rows = match pages.gateway().services.store.read_audit(&query).await {
        Ok(rows) => rows,
        Err(error) => return error_page(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    };
    if rows.is_empty() && after == 0 {
        let reason = "No run with this number has made a call, or its calls are too old.";
        return error_page(StatusCode::NOT_FOUND, reason);
    }
    let body = render(&run, after, &rows);
    page(&visitor, Section::Code, "Run of a program", &body).into_response()
}

fn render(run: &str, after: i64, rows: &[AuditRow]) -> Markup {
    let line = TimeLine::new(rows);
    let first = (after > 0).then(|| link_to_run(run));
    let next = rows.last().filter(|_| rows.len() == CALLS as usize);
    let next = next.map(|last| link(&link_to_run(run), &[("after", &last.id.to_string())]));
    let calls = html! {
        (figures(rows, &line))
        (table("Calls of this run, in order", &HEADS, &html! {
            @for row in rows { (render_call(row, &line)) }
        }))
    };
    html! {
        p { (code_text(run)) @if let Some(row) = rows.first() { " · " (who(row)) } }
        (live("run", "calls", &calls))
        (pager(first.as_deref(), next.as_deref()))
        p {
            a href=(link("/ui/calls", &[("run", run)])) { "These calls in the audit" } " · "
            a href=(PATH) { "All runs" }
        }
        p.muted { "The same in a terminal: " code { "kitbag audit --run " (text(run)) } }
    }
}

fn who(row: &AuditRow) -> Markup {
    html! {
        (exact_time(row.at))
        @if let Some(tenant) = &row.tenant { " · " (text(tenant.as_str())) }
        @if let Some(client) = &row.client { " · " (text(client)) }
    }
}

fn figures(rows: &[AuditRow], line: &TimeLine) -> Markup {
    let calls = || rows.iter().filter(|row| row.capability().is_some());
    let failed = calls().filter(|row| row.outcome != Outcome::Ok).count();
    let tokens = rows.iter().filter_map(|row| row.cost.tokens).sum();
    let nothing = html! {};
    html! {
        dl.figures {
            (figure("Calls", number(calls().count() as u64), &nothing))
            (figure("Not successful", number(failed as u64), &nothing))
            (figure("From first to last", duration(line.length()), &nothing))
            (figure("Tokens of the results", number(tokens), &nothing))
        }
    }
}

fn render_call(row: &AuditRow, timeline: &TimeLine) -> Markup {
    let line = AuditLine::from_row(row);
    let (x, width) = timeline.bar(row);
    let color = match row.outcome {
        Outcome::Ok => "s0",
        Outcome::Unfinished => "s3",
        _ => "s2",
    };
    html! {
        tr {
            td.number { (duration(timeline.after(row))) }
            th scope="row" {
                a href=(link_to_row(row.id)) { (what(&line)) }
                @if let Some(query) = query_text(row) { small { " “" (text(&query)) "”" } }
            }
            td { (outcome_pill(row.outcome)) }
            td.number { (took(row, &line)) }
            td.number { @if let Some(tokens) = line.tokens { (number(tokens)) } }
            td {
                svg width=(WIDTH) height="16" viewBox={ "0 0 " (WIDTH) " 16" } aria-hidden="true" {
                    rect class=(color) x=(x) y="3" width=(width) height="10" rx="2" {}
                }
            }
        }
    }
}

/// From the beginning of the first call to the end of the last, in milliseconds.
struct TimeLine {
    start: f64,
    end: f64,
}

impl TimeLine {
    fn new(rows: &[AuditRow]) -> Self {
        Self {
            start: rows.iter().map(began).fold(f64::MAX, f64::min),
            end: rows
                .iter()
                .map(|row| row.at.0 as f64)
                .fold(f64::MIN, f64::max),
        }
    }

    fn length(&self) -> Duration {
        to_duration(self.end - self.start)
    }

    fn after(&self, row: &AuditRow) -> Duration {
        to_duration(began(row) - self.start)
    }

    /// Returns the left edge and the width of a call's bar. A short call stays visible.
    fn bar(&self, row: &AuditRow) -> (f64, f64) {
        let scale = WIDTH / (self.end - self.start).max(1.0);
        let width = ((row.at.0 as f64 - began(row)) * scale).clamp(2.0, WIDTH);
        let left = ((began(row) - self.start) * scale).clamp(0.0, WIDTH - width);
        (round(left), round(width))
    }
}

/// A row has the time of the call's end. A call that began where the audit is required has the time
/// of its beginning, and its bar is too early by its latency.
fn began(row: &AuditRow) -> f64 {
    let latency = AuditLine::from_row(row).latency_ms.unwrap_or_default();
    row.at.0 as f64 - latency
}

fn to_duration(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.max(0.0) / 1000.0)
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
