//! The servers of a client's file, pasted as text.

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use kitbag_clients::VariableSource;
use maud::{Markup, html};
use serde::Deserialize;

use super::pending::Addition;
use super::review::review_path;
use super::{ADD, ADD_PASTED};
use crate::import::{ImportAction, ImportPlan, ImportRow, plan_pasted};
use crate::pages::Pages;
use crate::pages::elements::{Tone, block_text, code_text, hidden_csrf, pill, table, text};
use crate::pages::visitor::Visitor;

const EXAMPLE: &str =
    r#"{ "mcpServers": { "time": { "command": "uvx", "args": ["mcp-server-time"] } } }"#;

#[derive(Deserialize)]
pub(super) struct PastedText {
    text: String,
}

pub(super) fn render_form(visitor: &Visitor) -> Markup {
    html! {
        form.stack method="post" action=(ADD_PASTED) {
            (hidden_csrf(visitor))
            label { "The JSON of a client's configuration, or a part of it"
                textarea name="text" required autocomplete="off" spellcheck="false" placeholder=(EXAMPLE) {}
            }
            p { button.primary { "Show what it would add" } }
        }
    }
}

pub(super) async fn prepare(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(PastedText { text }): Form<PastedText>,
) -> Response {
    match plan_pasted(&text, &pages.source).await {
        Ok(_) => {
            let id = pages.additions.add(Addition::Pasted(text));
            visitor.redirect_silently(&review_path(&id))
        }
        Err(error) => visitor.redirect(ADD, Err(error)),
    }
}

/// Renders what a pasted text would add.
pub(super) fn render_plan(plan: &ImportPlan) -> Markup {
    let rows = html! { @for row in &plan.rows { (render_row(row)) } };
    html! {
        (table("Servers", &["Name", "Action", "Runs", "Secrets to store", "Notes"], &rows))
        @for problem in &plan.problems { p.notice.warn { (text(&problem.to_string())) } }
    }
}

fn render_row(row: &ImportRow) -> Markup {
    let action = match row.action {
        ImportAction::Add if row.disabled => pill(Tone::Neutral, "add, disabled"),
        ImportAction::Add => pill(Tone::Good, "add"),
        ImportAction::Known => pill(Tone::Neutral, "known already"),
        ImportAction::Refused => pill(Tone::Bad, "refused"),
    };
    html! { tr {
        th scope="row" { (code_text(row.name.as_str())) }
        td { (action) }
        td {
            (code_text(&row.target))
            @if !row.sets.is_empty() {
                details { summary { "sets " (text(&row.sets.join(", "))) } (block_text(&row.review.to_string())) }
            }
        }
        td { @for secret in &row.secrets { (code_text(secret)) " " } }
        td {
            @if let Some(reason) = &row.reason { p { (text(reason)) } }
            @for danger in &row.dangers { p { (pill(Tone::Warn, "beware")) " " (text(&danger.to_string())) } }
            @for note in &row.notes { p { (text(&note.to_string())) } }
            @for missing in &row.missing {
                @match (&missing.source, missing.name.strip_prefix("secret:")) {
                    (VariableSource::Foreign, _) => p { "Only the client can set " (code_text(&missing.name)) "; replace it." },
                    (_, Some(secret)) => p { "Then run " code { "kitbag secret set " (text(secret)) } },
                    (_, None) => p { "Set " (code_text(&missing.name)) " in the environment of the gateway." },
                }
            }
        }
    } }
}

pub(super) fn count_added(plan: &ImportPlan) -> usize {
    plan.rows
        .iter()
        .filter(|row| row.action == ImportAction::Add)
        .count()
}
