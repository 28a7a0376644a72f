//! Shows what would run, and adds it once the person confirms.

use anyhow::{Context as _, anyhow, bail};
use axum::extract::{Path, State};
use axum::response::{Html, Response};
use kitbag_domain::sync::lock;
use maud::{Markup, html};

use super::ADD;
use super::own::describe_added;
use super::pasted::{count_added, render_plan};
use super::pending::Addition;
use crate::cli::failure::CommandFailure;
use crate::cli::output::pluralize;
use crate::cli::servers::add::write_server;
use crate::import::plan_pasted;
use crate::pages::Pages;
use crate::pages::elements::{block_text, empty_state, hidden_csrf};
use crate::pages::layout::{Section, page};
use crate::pages::notice::render_failure;
use crate::pages::servers::change::LOADED_WITHIN;
use crate::pages::servers::{SERVERS, server_path};
use crate::pages::visitor::Visitor;

pub(super) fn review_path(id: &str) -> String {
    format!("{ADD}/review/{id}")
}

pub(super) async fn show(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Html<String> {
    let rendered = match pages.additions.find(&id).as_deref() {
        None => Ok(empty_state(
            "Nothing waits here.",
            &html! { a href=(ADD) { "Add a server" } },
        )),
        Some(Addition::Registered { review, .. }) => Ok(html! {
            (block_text(&review.to_string()))
            (confirm_form(&visitor, &id, "Add and run it"))
        }),
        Some(Addition::Pasted(text)) => plan_pasted(text, &pages.source).await.map(|plan| {
            let added = count_added(&plan);
            html! {
                (render_plan(&plan))
                @if added > 0 {
                    (confirm_form(&visitor, &id, &format!("Add {}", pluralize(added, "server"))))
                } @else { p { "There is nothing to add. " a href=(ADD) { "Back" } } }
            }
        }),
    };
    let body = rendered.unwrap_or_else(|error| render_failure(&CommandFailure::from_error(&error)));
    page(&visitor, Section::Servers, "Review what would run", &body)
}

fn confirm_form(visitor: &Visitor, id: &str, label: &str) -> Markup {
    html! {
        @if visitor.is_admin() {
            form.row method="post" action=(review_path(id)) {
                (hidden_csrf(visitor))
                button.primary { (label) }
                a.button href=(ADD) { "Cancel" }
            }
        }
    }
}

pub(super) async fn confirm(
    State(pages): State<Pages>,
    Path(id): Path<String>,
    visitor: Visitor,
) -> Response {
    match add_pending(&pages, &id, &visitor).await {
        Ok((next, done)) => {
            pages.additions.remove(&id);
            visitor.redirect(&next, Ok(done))
        }
        Err(error) => visitor.redirect(ADD, Err(error)),
    }
}

/// Adds what was reviewed, and returns the path of the next page and what was done.
async fn add_pending(
    pages: &Pages,
    id: &str,
    visitor: &Visitor,
) -> anyhow::Result<(String, String)> {
    let addition = pages
        .additions
        .find(id)
        .context("this review has expired; begin again")?;
    match &*addition {
        Addition::Registered { server, .. } => {
            let server = lock(server).take();
            let server = server.ok_or_else(|| anyhow!("it was added already"))?;
            let name = server.name.clone();
            let added = write_server(server, true, false, &pages.source, "kitbag ui").await?;
            visitor.record_edits().await?;
            Ok((server_path(&name), describe_added(&name, &added, &[])))
        }
        Addition::Pasted(text) => {
            let mut plan = plan_pasted(text, &pages.source).await?;
            let added = count_added(&plan);
            if added == 0 {
                bail!("there is nothing to add");
            }
            plan.apply(&pages.source, "kitbag ui").await?;
            visitor.record_edits().await?;
            let done = format!("Added {}. {LOADED_WITHIN}", pluralize(added, "server"));
            Ok((SERVERS.to_owned(), done))
        }
    }
}
