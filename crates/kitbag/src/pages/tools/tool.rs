//! One tool: what it does, what it costs, how it did, and a form to try it.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use kitbag_domain::{Timestamp, WriteClass};
use kitbag_gateway::admin::app::ToolDetails;
use kitbag_gateway::admin::priors_report::PriorsRow;
use maud::{Markup, html};
use serde::Deserialize;

use super::form;
use super::try_it::Attempt;
use super::{effect_pill, server_link, versions};
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, block_text, code_text, figure, link, live, number, percent, pill, prose, text, time,
};
use crate::pages::layout::{Section, failure_page, missing_page, page};
use crate::pages::learned::tool_lessons;
use crate::pages::visitor::Visitor;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolQuery {
    /// Arguments to begin with, as JSON.
    arguments: String,
}

pub(super) async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(query): Query<ToolQuery>,
) -> Response {
    match pages.app.tool_details(&name).await {
        Ok(Some(tool)) => {
            let attempt = Attempt::with_json(&query.arguments);
            tool_page(&pages, &visitor, &tool, &attempt).await
        }
        Ok(None) => missing_tool(&visitor, &name),
        Err(error) => failure_page(&visitor, Section::Tools, "Tools", &error),
    }
}

pub(super) fn missing_tool(visitor: &Visitor, name: &str) -> Response {
    missing_page(
        visitor,
        Section::Tools,
        &format!("There is no tool called `{name}`."),
    )
}

/// Renders the page of a tool, with a filled form and the outcome of a call.
pub(super) async fn tool_page(
    pages: &Pages,
    visitor: &Visitor,
    tool: &ToolDetails,
    attempt: &Attempt,
) -> Response {
    use axum::response::IntoResponse as _;

    let name = &tool.summary.row.name;
    let lessons = match tool_lessons(pages, visitor, name).await {
        Ok(lessons) => lessons,
        Err(error) => return failure_page(visitor, Section::Tools, name, &error),
    };
    let body = html! {
        (summary(tool))
        (attempt.outcome(name))
        div.split {
            section aria-labelledby="try" { (form::section(visitor, tool, attempt)) }
            div {
                section aria-labelledby="signature" { (signature(tool)) }
                section aria-labelledby="record" { (record(tool)) }
            }
        }
        section #requests aria-labelledby="learned" {
            h2 #learned { "Learned requests" }
            (live("lessons", "learned", &lessons))
        }
        section #versions aria-labelledby="definition" { (versions::section(tool)) }
    };
    page(visitor, Section::Tools, name, &body).into_response()
}

fn summary(tool: &ToolDetails) -> Markup {
    let row = &tool.summary.row;
    html! {
        p.row {
            (effect_pill(tool.summary.write_class))
            @if tool.is_read_by_name { small { "judging by its name and description; its server does not say" } }
            @if tool.summary.unapproved.is_some() { (pill(Tone::Warn, "unapproved")) }
            (server_link(&row.server))
            a href=(link("/ui/calls", &[("tool", &row.name)])) { "Its calls" }
        }
        @if let Some(reason) = &tool.summary.unapproved {
            div.notice.warn role="status" {
                p { "Clients do not see this tool: " (text(reason)) ". Nobody can call it until it is approved." }
                p { a href="#versions" { "Compare the definitions" } }
            }
        }
        @if let Some(description) = &row.description { (prose(description)) }
    }
}

fn signature(tool: &ToolDetails) -> Markup {
    html! {
        h2 #signature { "As a model sees it" }
        (block_text(&tool.line))
        dl.figures {
            (figure("Definition", number(tool.summary.tokens as u64), &html! { "tokens, if it is listed whole" }))
            (figure("One line", number(tool.line_tokens as u64), &html! { "tokens, in an answer of the search" }))
        }
        @if let Some(template) = &tool.template {
            p { "The template " (code_text(template)) " calls it. " a href="/ui/code" { "Templates" } }
        }
    }
}

fn record(tool: &ToolDetails) -> Markup {
    html! {
        h2 #record { "Record" }
        @match &tool.priors {
            Some(priors) => (priors_figures(priors)),
            None => p.muted { "No calls are counted yet. Calls count with the next run over the audit, see "
                a href="/ui/learned#priors" { "Priors" } "." },
        }
        @if let Some(at) = tool.priors_updated_at {
            p.muted { small { "As of the last run, " (time(Timestamp(at * 1000)))
                ". Older calls count less; former values are not stored." } }
        }
    }
}

fn priors_figures(priors: &PriorsRow) -> Markup {
    let optional = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let ms = |value: Option<f64>| optional(value.map(|it| format!("{it} ms")));
    html! {
        dl.figures {
            (figure("Success", optional(priors.success_rate.map(percent)), &html! { (priors.calls) " calls; older ones count less" }))
            (figure("Median", ms(priors.p50_latency_ms), &html! {}))
            (figure("95 %", ms(priors.p95_latency_ms), &html! { "of calls are faster" }))
            (figure("99 %", ms(priors.p99_latency_ms), &html! { "of calls are faster" }))
            (figure("Answer", optional(priors.tokens.map(|it| format!("{it:.0}"))), &html! { "tokens on average" }))
            (figure("Cost", optional(priors.estimated_cost_usd.map(|it| format!("${it}"))), &html! { "per call" }))
        }
    }
}

/// Why a person should confirm a call; `None` for a tool that only reads.
pub(super) fn reason_to_confirm(class: WriteClass) -> Option<&'static str> {
    match class {
        WriteClass::Read => None,
        WriteClass::Write => Some("This tool changes something outside of Kitbag."),
        WriteClass::Destructive => {
            Some("This tool may delete or overwrite something outside of Kitbag.")
        }
        WriteClass::Unknown => Some("Its server does not say whether this tool changes something."),
    }
}
