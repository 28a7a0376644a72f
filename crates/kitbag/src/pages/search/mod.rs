//! The search: what a model finds for a request, why in this order, and what a person says about
//! it.
//!
//! - `explain`: one request and its answer, with the parts of each score
//! - `marks`: marks a result as right or wrong

mod explain;
mod marks;

use std::collections::HashSet;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use kitbag_domain::{Purpose, Tenant};
use kitbag_gateway::admin::search::{OperatorSearch, SearchResult};
use kitbag_relevance::Options;
use kitbag_store::LessonInfo;
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::elements::{empty_state, link};
use super::layout::{Section, failure_page, page};
use super::visitor::Visitor;

pub(super) const PATH: &str = "/ui/search";
/// As many as a person compares.
const SHOWN: usize = 10;
/// A longer request is cut by the form.
const MAX_QUERY: usize = 2_000;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        .route("/ui/search/mark", post(marks::mark))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SearchQuery {
    q: String,
    tenant: String,
    compare: String,
}

/// A request and its answer.
struct Answer {
    query: String,
    result: SearchResult,
    /// The past uses that voted.
    lessons: Vec<LessonInfo>,
    /// The found names that are tools.
    tools: HashSet<String>,
}

async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(query): Query<SearchQuery>,
) -> Response {
    match render(&pages, &visitor, &query).await {
        Ok(body) => page(&visitor, Section::Search, "Search", &body).into_response(),
        Err(error) => failure_page(&visitor, Section::Search, "Search", &error),
    }
}

async fn render(pages: &Pages, visitor: &Visitor, query: &SearchQuery) -> anyhow::Result<Markup> {
    let tenant = match query.tenant.trim() {
        "" => Tenant::local(),
        name => name.parse()?,
    };
    let mut answers = Vec::new();
    for text in [&query.q, &query.compare] {
        let text: String = text.trim().chars().take(MAX_QUERY).collect();
        if !text.is_empty() {
            answers.push(find(pages, visitor, &tenant, text).await?);
        }
    }
    Ok(html! {
        (form(query))
        @if answers.is_empty() {
            (empty_state("Ask for what an agent would need", &html! {
                "You see the tools as a model sees them, and why they are in this order. For example "
                a href=(link(PATH, &[("q", "open an issue about the login bug")])) { "open an issue about the login bug" } "."
            }))
        }
        div.split { @for answer in &answers {
            (explain::render_answer(visitor, &tenant, answer, &return_path(query)))
        } }
    })
}

/// Searches like `kitbag search --explain`. It does not count as use, and the audit names the
/// person.
async fn find(
    pages: &Pages,
    visitor: &Visitor,
    tenant: &Tenant,
    text: String,
) -> anyhow::Result<Answer> {
    let options = Options {
        top_k: SHOWN,
        tenant: Some(tenant.clone()),
        ..Options::default()
    };
    let search = OperatorSearch {
        text: &text,
        options: &options,
        tenant: tenant.clone(),
        by: visitor.caller.clone(),
        program: "kitbag ui",
        purpose: Purpose::Measurement,
    };
    let result = pages.app.search_tools(search, |_, _| {}).await?;
    let ids: Vec<i64> = result
        .found
        .iter()
        .flat_map(|found| &found.neighbours)
        .map(|neighbour| neighbour.id)
        .collect();
    let lessons = pages.gateway().services.store.lessons_by_id(&ids).await?;
    let names = result.found.iter().map(|found| found.tool_name.clone());
    let tools = names.filter(|name| pages.app.is_known_tool(name)).collect();
    Ok(Answer {
        query: text,
        result,
        lessons,
        tools,
    })
}

fn form(query: &SearchQuery) -> Markup {
    html! {
        form.filter method="get" action=(PATH) {
            label.wide { "Request" input type="search" name="q" value=(query.q) maxlength=(MAX_QUERY) required; }
            label.wide { "Compare with (optional)" input type="search" name="compare" value=(query.compare) maxlength=(MAX_QUERY); }
            label { "Tenant" input name="tenant" value=(query.tenant) placeholder="local" pattern="[a-z0-9._\\-]{1,64}"; }
            button.primary { "Search" }
        }
    }
}

/// The page to return to after a mark.
fn return_path(query: &SearchQuery) -> String {
    link(
        PATH,
        &[
            ("q", &query.q),
            ("tenant", &query.tenant),
            ("compare", &query.compare),
        ],
    )
}
