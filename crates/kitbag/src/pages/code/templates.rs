//! The templates as a table: built in, of the operator, learned, and those that wait for approval.

use maud::{Markup, html};

use super::TEMPLATE;
use crate::cli::templates::{KnownTemplates, TemplateListRow, to_row};
use crate::pages::elements::{Tone, code_text, link, pill, table, text};

const HEADS: [&str; 6] = ["Template", "Origin", "State", "Runs", "Request", "Tenant"];

/// Says how many templates wait for a person.
pub(super) fn render_waiting(known: &KnownTemplates) -> Markup {
    let rows = known.all().map(|found| to_row(&found));
    let waiting = rows.filter(waits_for_approval).count();
    html! {
        @if waiting > 0 {
            p.notice.warn {
                a href="#templates" {
                    (waiting) @if waiting == 1 { " template waits" } @else { " templates wait" } " for approval"
                }
                ". Read its program before you approve it."
            }
        }
    }
}

pub(super) fn render(known: &KnownTemplates) -> Markup {
    let mut rows: Vec<TemplateListRow> = known.all().map(|found| to_row(&found)).collect();
    // What waits for a person is on top.
    rows.sort_by_key(|row| !waits_for_approval(row));
    html! {
        @for complaint in &known.complaints { p.notice.warn { (text(complaint)) } }
        (table("Templates", &HEADS, &html! { @for row in &rows { (render_row(row)) } }))
    }
}

fn waits_for_approval(row: &TemplateListRow) -> bool {
    row.state == "candidate"
}

fn render_row(row: &TemplateListRow) -> Markup {
    let tenant = row.tenant.as_ref().map_or("", |tenant| tenant.as_str());
    html! {
        tr {
            th scope="row" { a href=(link_to_template(&row.name, tenant)) { (code_text(&row.name)) } }
            td { (row.origin) }
            td {
                (state_pill(row.state))
                @if waits_for_approval(row) {
                    " " a href=(link_to_template(&row.name, tenant)) { "Review" }
                }
            }
            td { (row.describe_runs()) }
            td { @if let Some(intent) = row.intents.first() { (text(intent)) } }
            td { @if tenant.is_empty() { span.muted { "all" } } @else { (text(tenant)) } }
        }
    }
}

pub(super) fn link_to_template(name: &str, tenant: &str) -> String {
    link(TEMPLATE, &[("name", name), ("tenant", tenant)])
}

pub(super) fn state_pill(state: &'static str) -> Markup {
    let tone = match state {
        "candidate" => Tone::Warn,
        "demoted" => Tone::Bad,
        "removed" => Tone::Neutral,
        _ => Tone::Good,
    };
    pill(tone, state)
}
