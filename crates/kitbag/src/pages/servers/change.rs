//! Changes of a server: restart, enable, disable, remove, log out.

use anyhow::anyhow;
use axum::extract::{Path, State};
use axum::response::Response;
use kitbag_domain::{Action, ServerName};

use super::{SERVERS, server_path};
use crate::cli::output::describe_offers;
use crate::cli::servers::login::end_login;
use crate::cli::servers::remove::remove_server;
use crate::cli::servers::switch::switch_server;
use crate::pages::Pages;
use crate::pages::visitor::Visitor;

/// The running gateway follows the file within this time.
pub(super) const LOADED_WITHIN: &str = "The running gateway loads it within a second.";

pub(super) async fn restart(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    if pages.gateway().upstreams.get(&name).is_none() {
        let unknown = anyhow!("the running gateway has no server `{name}`");
        return visitor.redirect(SERVERS, Err(unknown));
    }
    let outcome = async {
        let restarted = pages.app.restart_server(&name).await;
        visitor
            .record_change(Action::ServerRestarted, name.as_str(), None)
            .await?;
        let report = restarted?;
        let offers = describe_offers(report.tools, report.prompts, report.resources);
        Ok(format!("`{name}` was restarted and offers {offers}."))
    };
    visitor.redirect(&server_path(&name), outcome.await)
}

pub(super) async fn enable(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    switch(&pages, &name, true, &visitor).await
}

pub(super) async fn disable(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    switch(&pages, &name, false, &visitor).await
}

async fn switch(pages: &Pages, name: &ServerName, on: bool, visitor: &Visitor) -> Response {
    let outcome = async {
        let (changed, _) = switch_server(name, on, &pages.source.load()?)?;
        visitor.record_edits().await?;
        Ok(match (on, changed) {
            (true, true) => format!("Enabled `{name}`. {LOADED_WITHIN}"),
            (false, true) => format!("Disabled `{name}`. Calls in progress are finished first."),
            (true, false) => format!("`{name}` is already enabled."),
            (false, false) => format!("`{name}` is already disabled."),
        })
    };
    visitor.redirect(&server_path(name), outcome.await)
}

pub(super) async fn remove(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    let outcome = async {
        let path = remove_server(&name, &pages.source.load()?)?;
        visitor.record_edits().await?;
        Ok(format!("Removed `{name}` from {}.", path.display()))
    };
    let outcome = outcome.await;
    let next = match &outcome {
        Ok(_) => SERVERS.to_owned(),
        Err(_) => server_path(&name),
    };
    visitor.redirect(&next, outcome)
}

pub(super) async fn logout(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    let outcome = async {
        let (config, gateway) = (pages.source.load()?, pages.gateway());
        if !end_login(&name, &config, &gateway.services.store).await? {
            return Ok(format!("There was no login to `{name}`."));
        }
        visitor
            .record_change(Action::LoggedOut, name.as_str(), None)
            .await?;
        Ok(format!("Logged out of `{name}`."))
    };
    visitor.redirect(&server_path(&name), outcome.await)
}
