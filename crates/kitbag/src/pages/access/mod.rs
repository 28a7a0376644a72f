//! Access: keys, tenants and their rules, rejected keys, and a tester of rules.
//!
//! - `keys`: keys of clients and operators; `tenants`: tenants and their rules
//! - `tester`: whether a caller may use a tool; `rejected`: rejected keys; `loads`: open requests

mod keys;
mod loads;
mod rejected;
mod tenants;
mod tester;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Html;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::elements::live;
use super::layout::{Section, page};
use super::notice::render_failure;
use super::visitor::Visitor;
use crate::cli::failure::CommandFailure;

const ACCESS: &str = "/ui/access";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(ACCESS, get(show))
        .route("/ui/access/keys", post(keys::create))
        .route("/ui/access/keys/{id}/rotate", post(keys::rotate))
        .route("/ui/access/keys/{id}/revoke", post(keys::revoke))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AccessQuery {
    /// The tenant or key whose access is tested; empty for the user at this machine.
    who: String,
    tool: String,
    /// Present if ended keys are shown, too.
    ended: Option<String>,
    /// The number of keys before the first one shown.
    skip: usize,
}

async fn show(
    State(pages): State<Pages>,
    Query(query): Query<AccessQuery>,
    visitor: Visitor,
) -> Html<String> {
    let gateway = pages.gateway();
    let store = &gateway.services.store;
    let listed = keys::ListedKeys::read(store).await;
    let (list, tenants) = match &listed {
        Ok(listed) => (
            keys::render_list(listed, &query, &visitor),
            tenants::render(&pages, listed).unwrap_or_else(|error| failure(&error)),
        ),
        Err(error) => (failure(error), html! {}),
    };
    let rejected = rejected::render(store).await;
    let body = html! {
        h2 { "Keys" }
        @if visitor.is_admin() { (keys::render_form(&visitor)) }
        (live("keys", "access", &list))
        h2 { "Tenants and rules" }
        (tenants)
        h2 #tester { "Test a rule" }
        (tester::render(&pages, &query).await)
        h2 { "Open requests" }
        (live("loads", "calls", &loads::render(&pages)))
        h2 { "Rejected keys" }
        (live("rejected", "calls", &rejected.unwrap_or_else(|error| failure(&error))))
    };
    page(&visitor, Section::Access, "Access", &body)
}

fn failure(error: &anyhow::Error) -> Markup {
    html! { div.notice.bad role="alert" { (render_failure(&CommandFailure::from_error(error))) } }
}
