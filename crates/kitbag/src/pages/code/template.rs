//! One template: its requests, parameters and program; approves and removes learned ones.

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use kitbag_domain::Tenant;
use kitbag_intents::{IntentTemplate, LearnedState};
use maud::{Markup, html};
use serde::Deserialize;

use super::templates::{link_to_template, state_pill};
use super::{APPROVE, PATH, REMOVE, load_templates};
use crate::cli::templates::{
    APPROVAL, FoundTemplate, NamedTemplate, REMOVAL, TemplateVerdict, decide_template, to_row,
};
use crate::pages::Pages;
use crate::pages::elements::{
    action_button, block_text, code_text, confirmed_button, exact_time, table, text,
};
use crate::pages::layout::{Section, error_page, page};
use crate::pages::visitor::Visitor;

/// A template as links and forms name it.
#[derive(Deserialize)]
pub(super) struct TemplateFields {
    name: String,
    /// Empty for a template of all tenants.
    #[serde(default)]
    tenant: String,
}

impl TemplateFields {
    fn into_named(self) -> anyhow::Result<NamedTemplate> {
        let tenant: Option<Tenant> = match self.tenant.as_str() {
            "" => None,
            tenant => Some(tenant.parse()?),
        };
        let name = self.name;
        Ok(NamedTemplate { name, tenant })
    }
}

pub(super) async fn show(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(fields): Query<TemplateFields>,
) -> Response {
    match render(&pages, &visitor, fields).await {
        Ok((name, body)) => page(&visitor, Section::Code, &name, &body).into_response(),
        Err(error) => error_page(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

pub(super) async fn approve(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(fields): Form<TemplateFields>,
) -> Response {
    decide(&APPROVAL, &pages, &visitor, fields).await
}

pub(super) async fn remove(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(fields): Form<TemplateFields>,
) -> Response {
    decide(&REMOVAL, &pages, &visitor, fields).await
}

async fn decide(
    verdict: &TemplateVerdict,
    pages: &Pages,
    visitor: &Visitor,
    fields: TemplateFields,
) -> Response {
    let back = link_to_template(&fields.name, &fields.tenant);
    let outcome = async {
        let named = fields.into_named()?;
        let known = load_templates(pages).await?;
        let gateway = pages.gateway();
        let event = |name: &str| visitor.change_event(verdict.action, name, None);
        let row = decide_template(verdict, &known, &named, &gateway.services.store, event).await?;
        Ok(format!(
            "{} {}",
            verdict.message,
            row.learned.template().name()
        ))
    };
    visitor.redirect(&back, outcome.await)
}

async fn render(
    pages: &Pages,
    visitor: &Visitor,
    fields: TemplateFields,
) -> anyhow::Result<(String, Markup)> {
    let known = load_templates(pages).await?;
    let found = known.find(&fields.into_named()?)?;
    let template = found.template();
    let body = html! {
        p { (text(template.description())) }
        (facts(&found))
        (buttons(visitor, &found))
        h2 { "Requests" }
        ul { @for intent in template.intents() { li { (text(&intent.to_string())) } } }
        (parameters(template))
        h2 { "Program" }
        (block_text(template.code().trim()))
        p { a href=(PATH) { "All runs and templates" } }
    };
    Ok((template.name().to_string(), body))
}

fn facts(found: &FoundTemplate<'_>) -> Markup {
    let (template, row) = (found.template(), to_row(found));
    html! {
        dl.facts {
            dt { "Origin" } dd { (row.origin) }
            dt { "State" } dd { (state_pill(row.state)) }
            dt { "Effect" } dd { @if template.read_only() { "reads" } @else { "writes" } }
            @if let Some(tenant) = &row.tenant { dt { "Tenant" } dd { (text(tenant.as_str())) } }
            dt { "Uses" } dd {
                @for (position, tool) in template.uses().iter().enumerate() {
                    @if position > 0 { ", " }
                    (code_text(&tool.to_string()))
                }
            }
            @if let FoundTemplate::Learned(row) = found {
                dt { "Learned" } dd { (exact_time(row.learned.learned_at())) }
                dt { "Changed" } dd { (exact_time(row.learned.changed_at())) }
                dt { "Evidence" } dd {
                    (to_row(found).describe_runs()) ", with "
                    (row.learned.evidence().parameter_sets.len()) " sets of parameters"
                }
            }
            @if let FoundTemplate::File { folder, .. } = found {
                dt { "To change it" } dd {
                    "put a file of this name into " (code_text(&folder.display().to_string()))
                }
            }
        }
    }
}

fn buttons(visitor: &Visitor, found: &FoundTemplate<'_>) -> Markup {
    let FoundTemplate::Learned(row) = found else {
        return html! {};
    };
    let name = found.template().name().as_str();
    let fields = [("name", name), ("tenant", row.tenant.as_str())];
    let state = row.learned.state();
    html! {
        div.row {
            @if state != LearnedState::Approved {
                (action_button(visitor, APPROVE, "Approve", &fields))
            }
            @if state != LearnedState::Rejected {
                (confirmed_button(visitor, REMOVE, "Remove",
                    "It will no longer answer requests, and will not be learned again.", &fields))
            }
        }
    }
}

fn parameters(template: &IntentTemplate) -> Markup {
    let parameters = template.parameters();
    let required: Vec<&str> = parameters.required_names().collect();
    let rows = html! {
        @for name in parameters.names() {
            @let schema = parameters.schema_of(name).unwrap_or_default();
            tr {
                th scope="row" { (code_text(name)) }
                td { (text(schema["type"].as_str().unwrap_or("any"))) }
                td { @if required.contains(&name) { "required" } @else { "optional" } }
                td { (text(schema["description"].as_str().unwrap_or_default())) }
            }
        }
    };
    html! {
        @if parameters.names().next().is_some() {
            h2 { "Parameters" }
            (table("Parameters", &["Name", "Type", "Needed", "Description"], &rows))
        }
    }
}
