//! The overview: what is connected, what is used, and what needs a person.

use axum::Router;
use axum::extract::State;
use axum::response::Html;
use axum::routing::get;
use maud::html;

use super::Pages;
use super::elements::{figure, live, number};
use super::layout::{Section, page};
use super::visitor::Visitor;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/ui", get(show))
}

async fn show(State(pages): State<Pages>, visitor: Visitor) -> Html<String> {
    let status = pages.app.status();
    let running = status
        .servers
        .iter()
        .filter(|server| server.running)
        .count();
    let tools = pages.app.tool_rows().len();
    let figures = html! {
        dl.figures {
            (figure("Servers", number(status.servers.len() as u64), &html! { (running) " running" }))
            (figure("Tools", number(tools as u64), &html! {}))
        }
    };
    let body = live("figures", "servers tools", &figures);
    page(&visitor, Section::Overview, "Overview", &body)
}
