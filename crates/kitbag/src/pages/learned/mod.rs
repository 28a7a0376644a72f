//! What use has taught: lessons, the searches that clients need for a call, and the priors.
//!
//! - `lessons`: lessons in tables; `curve`: searches per call by day; `actions`: forgets lessons
//!   and computes priors

mod actions;
mod curve;
mod lessons;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use kitbag_domain::Timestamp;
use kitbag_gateway::admin::tool_table::ToolTable;
use maud::{Markup, html};

use self::lessons::LessonQuery;
pub(super) use self::lessons::{lessons_path, signal_text, tool_lessons};
use super::Pages;
use super::elements::{action_button, code_text, live, number, time};
use super::layout::{Section, failure_page, page};
use super::visitor::Visitor;

const PATH: &str = "/ui/learned";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        .route("/ui/learned/forget", post(actions::forget))
        .route("/ui/learned/priors/run", post(actions::run_priors))
}

async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(query): Query<LessonQuery>,
) -> Response {
    match render(&pages, &visitor, &query).await {
        Ok(body) => page(&visitor, Section::Learned, "Learned", &body).into_response(),
        Err(error) => failure_page(&visitor, Section::Learned, "Learned", &error),
    }
}

async fn render(pages: &Pages, visitor: &Visitor, query: &LessonQuery) -> anyhow::Result<Markup> {
    let lessons = lessons::section(pages, visitor, query).await?;
    if query.is_about_lessons() {
        return Ok(lessons);
    }
    let (curve, table) = (curve::section(pages).await?, pages.app.tool_table().await?);
    Ok(html! {
        (live("curve", "learned", &curve))
        (lessons)
        section aria-labelledby="priors" {
            h2 #priors { "Priors" }
            (live("priors-run", "learned", &priors(visitor, &table)))
        }
    })
}

fn priors(visitor: &Visitor, table: &ToolTable) -> Markup {
    let measured = table
        .tools
        .iter()
        .filter(|tool| tool.calls.is_some())
        .count();
    html! {
        p { "Success, latency and cost of each tool, counted from the audit. They are a part of each score." }
        p {
            @match table.priors_updated_at {
                Some(at) => { "Last run " (time(Timestamp(at * 1000))) ", "
                    a href="/ui/tools?order=use" { (number(measured as u64)) " tools" } " with calls." }
                None => { "They were never computed." }
            }
            " A running gateway computes them on a schedule, see " (code_text("schedule")) " under "
            (code_text("[priors]")) "."
        }
        (action_button(visitor, "/ui/learned/priors/run", "Compute now", &[]))
    }
}
