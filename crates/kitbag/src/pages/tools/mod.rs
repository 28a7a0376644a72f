//! The tools: all of them in a table, and one with everything that is known about it.
//!
//! - `list`: all tools; `offers`: prompts, resources and skills
//! - `tool`: one tool; `versions`: its approved definition and the current one
//! - `try_it`: calls a tool; `form`: the form to fill; `fields`: its fields and the arguments from
//!   them; `result`: the answer

mod fields;
mod form;
mod list;
mod offers;
mod result;
mod tool;
mod try_it;
mod versions;

use axum::Router;
use axum::routing::get;
use kitbag_config::CatalogSettings;
use kitbag_domain::{ServerName, WriteClass};
use maud::{Markup, html};

use super::Pages;
use super::elements::{Tone, path_with, pill, text};

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/ui/tools", get(list::show))
        .route("/ui/tools/{name}", get(tool::show))
        .route(
            "/ui/tools/{name}/call",
            get(try_it::redirect).post(try_it::call),
        )
}

/// Returns the path of a tool's page.
pub(super) fn tool_path(name: &str) -> String {
    path_with("/ui/tools/", name)
}

/// The name of a server with a link; tools of tool files have no server of their own.
pub(super) fn server_link(server: &ServerName) -> Markup {
    let name = server.as_str();
    html! {
        @if name == CatalogSettings::SERVER { "tool files" }
        @else { a href=(path_with("/ui/servers/", name)) { (text(name)) } }
    }
}

/// The effect of a tool in colour and words.
pub(super) fn effect_pill(class: WriteClass) -> Markup {
    match class {
        WriteClass::Read => pill(Tone::Good, "reads"),
        WriteClass::Write => pill(Tone::Warn, "writes"),
        WriteClass::Destructive => pill(Tone::Bad, "destructive"),
        WriteClass::Unknown => pill(Tone::Neutral, "unknown effect"),
    }
}
