//! Adds a server: a program or a URL, an entry of the registry, or the servers of a client's file.
//!
//! - `own`: a program or a URL; `command_line`: splits it into words
//! - `registry`: entries of the registry; `pasted`: a client's file
//! - `review`: shows what would run, for confirmation; `pending`: what waits for it

mod command_line;
mod own;
mod pasted;
pub(in crate::pages) mod pending;
mod registry;
mod review;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Html;
use axum::routing::{get, post};
use maud::html;
use serde::Deserialize;

use crate::pages::Pages;
use crate::pages::layout::{Section, page};
use crate::pages::visitor::Visitor;

const ADD: &str = "/ui/servers/add";
const ADD_PASTED: &str = "/ui/servers/add/pasted";
const ADD_REGISTERED: &str = "/ui/servers/add/registry";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(ADD, get(show_forms).post(own::add))
        .route(ADD_PASTED, post(pasted::prepare))
        .route(
            ADD_REGISTERED,
            get(registry::show_entry).post(registry::prepare),
        )
        .route(
            "/ui/servers/add/review/{id}",
            get(review::show).post(review::confirm),
        )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Search {
    /// The text to search the registry for.
    find: String,
}

async fn show_forms(
    State(pages): State<Pages>,
    Query(Search { find }): Query<Search>,
    visitor: Visitor,
) -> Html<String> {
    let body = html! {
        @if !visitor.is_admin() {
            p.notice.warn { "Your key may only read. To add servers, sign in with a key of the role " code { "admin" } "." }
        } @else {
            p { "All servers of the clients on this machine at once: " code { "kitbag import" } }
            h2 { "From the registry" }
            (registry::render_search(&pages, find.trim()).await)
            h2 { "A program or a URL" }
            (own::render_form(&visitor))
            h2 { "From a client's configuration" }
            (pasted::render_form(&visitor))
        }
    };
    page(&visitor, Section::Servers, "Add a server", &body)
}
