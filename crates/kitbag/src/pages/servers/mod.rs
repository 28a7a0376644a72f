//! Servers: the list, one server, and adding one.
//!
//! - `condition`: how a server is doing; `list`: the list of servers
//! - `show`: one server; `server_lock`: its approved definitions; `change`: changes of a server
//! - `login`: a login that begins on the page; `add`: adds servers

pub(super) mod add;
mod change;
pub(super) mod condition;
pub(super) mod list;
mod login;
pub(super) mod server_lock;
mod show;

use axum::Router;
use axum::routing::{get, post};
use kitbag_domain::ServerName;

use super::Pages;

const SERVERS: &str = "/ui/servers";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(SERVERS, get(list::show_list))
        .merge(add::routes())
        .route("/ui/servers/{name}", get(show::show_server))
        .route("/ui/servers/{name}/restart", post(change::restart))
        .route("/ui/servers/{name}/enable", post(change::enable))
        .route("/ui/servers/{name}/disable", post(change::disable))
        .route("/ui/servers/{name}/remove", post(change::remove))
        .route("/ui/servers/{name}/login", post(login::begin))
        .route("/ui/servers/{name}/logout", post(change::logout))
        .route("/ui/servers/{name}/lock", post(server_lock::decide))
}

pub(super) fn server_path(name: &ServerName) -> String {
    format!("{SERVERS}/{name}")
}

/// Returns the path of a change such as `restart`.
pub(super) fn change_path(name: &ServerName, change: &str) -> String {
    format!("{SERVERS}/{name}/{change}")
}
