//! Servers: the list, one server, and adding one.
//!
//! - `condition`: how a server is doing; `list`: the list of servers

pub(super) mod condition;
pub(super) mod list;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::post;
use kitbag_domain::{Action, ServerName};

use super::Pages;
use super::visitor::Visitor;
use crate::cli::output::describe_offers;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/ui/servers/{name}/restart", post(restart))
}

pub(super) fn server_path(name: &ServerName) -> String {
    format!("/ui/servers/{name}")
}

pub(super) fn restart_path(name: &ServerName) -> String {
    format!("/ui/servers/{name}/restart")
}

async fn restart(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    let outcome = async {
        visitor
            .record_change(Action::ServerRestarted, name.as_str(), None)
            .await?;
        let report = pages.app.restart_server(&name).await?;
        let offers = describe_offers(report.tools, report.prompts, report.resources);
        Ok(format!("`{name}` was restarted and offers {offers}."))
    };
    visitor.redirect(&server_path(&name), outcome.await)
}
