//! The web pages of the running gateway, at `/ui`: rendered here, without a client framework.
//!
//! Pages are links and forms, so they work with the keyboard and without JavaScript. One script
//! keeps the parts marked as live up to date. What a page shows and changes, a verb of the command
//! line shows and changes, too: both call the same functions of the gateway and the store.
//!
//! # Layout
//! - `visitor`: who may see and change pages; `session`, `sign_in`: people and their sessions
//! - `layout`: the frame of each page; `elements`, `chart`: its parts; `notice`: results of changes
//! - `assets`: style, script and icon; `events`: tells open pages what has changed
//! - the others: one page each

mod access;
mod agents;
mod assets;
mod calls;
mod chart;
mod code;
mod elements;
mod events;
mod feedback;
mod layout;
mod learned;
mod notice;
mod overview;
mod search;
mod servers;
mod session;
mod sign_in;
mod tools;
mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::response::{Redirect, Response};
use axum::routing::{any, get};
use http::StatusCode;
use kitbag_config::ConfigSource;
use kitbag_gateway::admin::app::App;
use kitbag_gateway::state::gateway::Gateway;
use tokio_util::sync::CancellationToken;

use self::events::PageFeed;
use self::servers::add::pending::PendingAdditions;
use self::servers::server_lock::LockSummaries;
use self::session::Sessions;

/// What all pages share.
#[derive(Clone)]
pub(crate) struct Pages {
    app: Arc<App>,
    source: ConfigSource,
    sessions: Arc<Sessions>,
    changes: Arc<PageFeed>,
    ended: CancellationToken,
    additions: Arc<PendingAdditions>,
    locks: Arc<LockSummaries>,
}

impl Pages {
    /// Open pages let go of the gateway when `ended` is cancelled.
    pub(crate) fn new(app: Arc<App>, source: ConfigSource, ended: CancellationToken) -> Self {
        Self {
            app,
            source,
            sessions: Arc::default(),
            changes: Arc::default(),
            ended,
            additions: Arc::default(),
            locks: Arc::default(),
        }
    }

    /// Returns the routes of all pages.
    pub(crate) fn into_router(self) -> Router {
        let pages = Router::new()
            .merge(overview::routes())
            .merge(servers::routes())
            .merge(calls::routes())
            .merge(code::routes())
            .merge(feedback::routes())
            .merge(agents::routes())
            .merge(search::routes())
            .merge(tools::routes())
            .merge(learned::routes())
            .merge(access::routes())
            .merge(events::routes())
            .route("/ui/{*path}", any(no_page))
            .layer(axum::middleware::from_fn_with_state(
                self.clone(),
                visitor::admit_visitor,
            ));
        Router::new()
            .route("/ui/", get(|| async { Redirect::to("/ui") }))
            .merge(pages)
            .merge(sign_in::routes(&self))
            .merge(assets::routes())
            .with_state(self)
    }

    fn gateway(&self) -> Arc<Gateway> {
        self.app.host().gateway()
    }
}

async fn no_page() -> Response {
    layout::error_page(StatusCode::NOT_FOUND, "There is no such page.")
}
