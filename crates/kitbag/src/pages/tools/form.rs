//! The form that tries a tool; for a reader, its parameters.

use kitbag_domain::text::{reveal_invisible, strip_invisible};
use kitbag_gateway::admin::app::ToolDetails;
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{Field, FieldKind, read_fields};
use super::tool_path;
use super::try_it::{Attempt, JSON_FIELD, to_ascii};
use crate::pages::elements::{code_text, hidden_csrf, table, text};
use crate::pages::visitor::Visitor;

/// Renders the form; for a reader, the parameters.
pub(super) fn section(visitor: &Visitor, tool: &ToolDetails, attempt: &Attempt) -> Markup {
    let fields = read_fields(&tool.definition);
    if !visitor.is_admin() || tool.summary.unapproved.is_some() {
        return html! { h2 #try { "Parameters" } (parameters(&fields)) };
    }
    let action = format!("{}/call", tool_path(&tool.summary.row.name));
    html! {
        h2 #try { "Try it" }
        form.stack.panel method="post" action=(action) {
            (hidden_csrf(visitor))
            @if fields.is_empty() { p.muted { "It takes no arguments." } }
            @for (position, field) in fields.iter().enumerate() {
                (render_field(field, position, &attempt.text_of(field)))
            }
            div.row { button.primary { "Call" } }
            p.muted { small { "A real call through the gateway: rules apply, and it is in the audit." } }
        }
        details open[attempt.begins_with_json()] {
            summary { "Arguments as JSON" }
            form.stack.panel method="post" action=(action) {
                (hidden_csrf(visitor))
                label { "Arguments"
                    textarea name=(JSON_FIELD) rows="6" spellcheck="false" { "\n" (json_text(tool, attempt)) }
                }
                div.row { button { "Call with JSON" } }
            }
        }
    }
}

fn json_text(tool: &ToolDetails, attempt: &Attempt) -> String {
    let json = match (&attempt.json, attempt.arguments(tool)) {
        (Some(json), _) => json.clone(),
        (None, Ok(arguments)) if !arguments.is_empty() => format!("{:#}", Value::from(arguments)),
        _ => "{}".to_owned(),
    };
    // A page has no invisible characters.
    match strip_invisible(&json) == json {
        true => json,
        false => to_ascii(&json),
    }
}

fn render_field(field: &Field, position: usize, value: &str) -> Markup {
    let (id, help) = (format!("field-{position}"), format!("help-{position}"));
    html! {
        div.field {
            label for=(id) {
                span { (code_text(&field.name)) " " small { (text(&field.type_text)) }
                    @if field.is_required { " " strong { "required" } } }
            }
            (input(field, &id, &help, value))
            small #(help) { @if let Some(description) = &field.description { (text(description)) } }
        }
    }
}

fn input(field: &Field, id: &str, help: &str, value: &str) -> Markup {
    let (name, required) = (&field.id, field.is_required);
    html! {
        @match &field.kind {
            FieldKind::Text => input #(id) name=(name) value=(value) required[required] aria-describedby=(help) autocomplete="off";,
            FieldKind::Date => input #(id) type="date" name=(name) value=(value) required[required] aria-describedby=(help);,
            FieldKind::Number { is_integer, minimum, maximum } =>
                input #(id) type="number" name=(name) value=(value) required[required] aria-describedby=(help)
                    step=(if *is_integer { "1" } else { "any" }) min=[minimum] max=[maximum];,
            FieldKind::Boolean => (select(field, id, help, value, &[Value::Bool(true), Value::Bool(false)])),
            FieldKind::Choice(choices) => (select(field, id, help, value, choices)),
            FieldKind::LongText =>
                textarea #(id) name=(name) rows="4" required[required] aria-describedby=(help) { "\n" (value) },
            FieldKind::Lines =>
                textarea #(id) name=(name) rows="3" required[required] aria-describedby=(help) placeholder="One per line" { "\n" (value) },
            FieldKind::Json =>
                textarea #(id) name=(name) rows="4" required[required] aria-describedby=(help) spellcheck="false" placeholder="JSON" { "\n" (value) },
        }
    }
}

fn select(field: &Field, id: &str, help: &str, value: &str, choices: &[Value]) -> Markup {
    html! {
        select #(id) name=(field.id) required[field.is_required] aria-describedby=(help) {
            option value="" { @if field.is_required { "Choose" } @else { "Not given" } }
            @for choice in choices {
                @let json = choice.to_string();
                option value=(json) selected[json == value] {
                    @match choice { Value::String(text) => (reveal_invisible(text)), other => (other) }
                }
            }
        }
    }
}

fn parameters(fields: &[Field]) -> Markup {
    if fields.is_empty() {
        return html! { p.muted { "It takes no arguments." } };
    }
    let rows = html! {
        @for field in fields { tr {
            th scope="row" { (code_text(&field.name)) }
            td { (text(&field.type_text)) }
            td { @if field.is_required { "yes" } }
            td { @if let Some(description) = &field.description { (text(description)) } }
        } }
    };
    table(
        "Parameters",
        &["Parameter", "Type", "Required", "Meaning"],
        &rows,
    )
}
