//! The code: runs of programs with their calls, and the templates that carry out intents.

mod run;
mod runs;
mod template;
mod templates;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use kitbag_gateway::telemetry::audit::parameters::{QueryParameters, parse_query};
use maud::html;

use self::runs::RUNS;
use super::Pages;
use super::elements::live;
use super::layout::{Section, error_page, page};
use super::notice::Notice;
use super::visitor::Visitor;
use crate::cli::templates::KnownTemplates;

pub(super) use self::run::link_to_run;

const PATH: &str = "/ui/code";
const TEMPLATE: &str = "/ui/code/template";
const APPROVE: &str = "/ui/code/template/approve";
const REMOVE: &str = "/ui/code/template/remove";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show))
        .route("/ui/code/runs/{run}", get(run::show))
        .route(TEMPLATE, get(template::show))
        .route(APPROVE, post(template::approve))
        .route(REMOVE, post(template::remove))
}

/// Shows the runs, and on the first page the templates.
async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(parameters): Query<QueryParameters>,
) -> Response {
    // The parameters of a page of runs are among those of the audit.
    let query = match parse_query(&parameters, RUNS) {
        Ok(query) => query,
        Err(reason) => return error_page(StatusCode::BAD_REQUEST, &reason),
    };
    let runs = match runs::render(&pages, &query).await {
        Ok(runs) => runs,
        Err(error) => Notice::failed(&error.into()).render(),
    };
    let is_first = parameters.is_empty();
    let templates = match is_first {
        true => load_templates(&pages).await.map(Some),
        false => Ok(None),
    };
    let body = html! {
        @if let Ok(Some(known)) = &templates { (live("waiting", "learned", &templates::render_waiting(known))) }
        h2 { "Runs" }
        @if is_first { (live("runs", "calls", &runs)) } @else { (runs) }
        @match &templates {
            Ok(None) => {}
            Ok(Some(known)) => {
                h2 #templates { "Templates" }
                p.muted {
                    "A template is a program that carries out requests such as “list errors”. Some are built in, \
                     some are files of your own, and some are learned from programs that worked."
                }
                (live("known", "learned", &templates::render(known)))
            }
            Err(error) => (Notice::failed(error).render()),
        }
    };
    page(&visitor, Section::Code, "Code", &body).into_response()
}

async fn load_templates(pages: &Pages) -> anyhow::Result<KnownTemplates> {
    let config = pages.source.load()?;
    KnownTemplates::load(&config, &pages.gateway().services.store).await
}
