//! Entries of the MCP registry: search, and the values that an entry needs.

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{Html, IntoResponse, Response};
use kitbag_domain::ServerName;
use kitbag_registry::{EntryName, EntryStatus, InputFormat, PlanInput, Registry, RunKind};
use maud::{Markup, html};
use serde::Deserialize;

use super::pending::Addition;
use super::review::review_path;
use super::{ADD, ADD_REGISTERED};
use crate::cli::failure::CommandFailure;
use crate::cli::output::{Output, pluralize};
use crate::cli::servers::add::answers::describe_input;
use crate::cli::servers::add::check_name_is_free;
use crate::cli::servers::add::from_registry::RegistryOffer;
use crate::cli::servers::find::search_registry;
use crate::pages::Pages;
use crate::pages::elements::{Tone, code_text, empty_state, hidden_csrf, link, pill, table, text};
use crate::pages::layout::{Section, page};
use crate::pages::notice::render_failure;
use crate::pages::visitor::Visitor;

const MAX_ENTRIES: usize = 50;
/// The fields with values for the entry begin with this.
const VALUE: &str = "value.";

#[derive(Deserialize)]
pub(super) struct NamedEntry {
    entry: String,
}

fn open_registry(pages: &Pages) -> anyhow::Result<Registry> {
    Ok(Registry::new(pages.source.load()?.registry))
}

pub(super) async fn render_search(pages: &Pages, find: &str) -> Markup {
    let found = if find.is_empty() {
        None
    } else {
        Some(find_entries(pages, find).await)
    };
    html! {
        form.filter method="get" action=(ADD) {
            label.wide { "Search the MCP registry" input type="search" name="find" value=(find) placeholder="weather"; }
            button { "Search" }
        }
        @match found {
            None => p.muted { "The registry matches names. You see what an entry would run before it is added." },
            Some(Ok(found)) => (found),
            Some(Err(error)) => div.notice.bad role="alert" { (render_failure(&CommandFailure::from_error(&error))) },
        }
    }
}

async fn find_entries(pages: &Pages, find: &str) -> anyhow::Result<Markup> {
    let found = search_registry(&open_registry(pages)?, find).await?;
    let rows = html! {
        @for row in found.iter().take(MAX_ENTRIES) { tr {
            th scope="row" { a href=(link(ADD_REGISTERED, &[("entry", row.name.as_str())])) { (text(row.name.as_str())) } }
            td { (row.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")) }
            td {
                @if row.deprecated { (pill(Tone::Warn, "deprecated")) " " }
                (text(&row.description))
            }
        } }
    };
    Ok(html! {
        @if found.is_empty() {
            (empty_state("No server has this in its name.", &html! { "Try another word, or add a server that you know below." }))
        } @else {
            p.muted { (pluralize(found.len(), "server")) @if found.len() > MAX_ENTRIES { "; the best " (MAX_ENTRIES) " are shown" } }
            (table("Entries of the registry", &["Entry", "Runs as", "Description"], &rows))
        }
    })
}

/// Shows an entry, what it would run, and a form for its values.
pub(super) async fn show_entry(
    State(pages): State<Pages>,
    Query(NamedEntry { entry }): Query<NamedEntry>,
    visitor: Visitor,
) -> Response {
    let shown = async {
        let (name, registry): (EntryName, _) = (entry.parse()?, open_registry(&pages)?);
        let offer = RegistryOffer::fetch(&name, &registry).await?;
        anyhow::Ok(render_entry(&offer, &registry, &visitor))
    };
    let body = shown.await.unwrap_or_else(|error| {
        html! {
            div.notice.bad role="alert" { (render_failure(&CommandFailure::from_error(&error))) }
            p { a href=(ADD) { "Back" } }
        }
    });
    let page: Html<String> = page(&visitor, Section::Servers, "Add from the registry", &body);
    page.into_response()
}

fn render_entry(offer: &RegistryOffer, registry: &Registry, visitor: &Visitor) -> Markup {
    let (server, plan) = (&offer.entry.server, &offer.plan);
    html! {
        dl.facts {
            dt { "Entry" } dd { (code_text(server.name.as_str())) " " (text(&server.version))
                @if offer.entry.status == EntryStatus::Deprecated { " " (pill(Tone::Warn, "deprecated by its author")) } }
            dt { "Registry" } dd { (text(registry.display_url())) }
            dt { "Description" } dd { (text(&server.description)) }
            @if let Some(repository) = &server.repository { dt { "Repository" } dd { (text(&repository.url)) } }
            @if let Some(website) = &server.website_url { dt { "Website" } dd { (text(website)) } }
            @if plan.kind != RunKind::Remote { dt { "Package" } dd { (code_text(&plan.source)) " (" (plan.kind.name()) ")" } }
            dt { "Would run" } dd { (code_text(&offer.preview())) }
        }
        p.notice.warn { "An entry is written by its publisher; the registry verifies only the owner in front of the name." }
        @if visitor.is_admin() {
            form.stack method="post" action=(ADD_REGISTERED) {
                (hidden_csrf(visitor))
                input type="hidden" name="entry" value=(server.name.as_str());
                label { "Local name" input name="name" required autocomplete="off" value=(server.name.server_name()); }
                @for input in &plan.inputs { (render_input(input)) }
                p { button.primary { "Show what would run" } }
            }
        }
    }
}

fn render_input(input: &PlanInput) -> Markup {
    let field = format!("{VALUE}{}", input.name);
    let default = input.default.as_deref().unwrap_or_default();
    let is_required = input.required && input.default.is_none();
    let kind = match (input.secret, input.format) {
        (true, _) => "password",
        (false, InputFormat::Number) => "number",
        (false, _) => "text",
    };
    html! {
        label {
            span { (text(&input.name)) @if input.required { " (required)" } " " (text(&describe_input(input))) }
            @if input.choices.is_empty() {
                input type=(kind) name=(field) value=(default) required[is_required] autocomplete="off" spellcheck="false";
            } @else {
                select name=(field) required[is_required] {
                    option value="" { "–" }
                    @for choice in &input.choices { option value=(choice) selected[choice == default] { (text(choice)) } }
                }
            }
        }
    }
}

pub(super) async fn prepare(
    State(pages): State<Pages>,
    visitor: Visitor,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| key == name)
            .map_or("", |(_, value)| value)
    };
    let prepared = async {
        let name: ServerName = field("name").trim().parse()?;
        check_name_is_free(&pages.source.load()?, &name, false)?;
        let (entry, registry): (EntryName, _) = (field("entry").parse()?, open_registry(&pages)?);
        let offer = RegistryOffer::fetch(&entry, &registry).await?;
        let values = fields.iter().filter_map(|(key, value)| {
            let key = key.strip_prefix(VALUE)?;
            (!value.is_empty()).then(|| (key.to_owned(), value.clone()))
        });
        let values: Vec<_> = values.collect();
        // With `json`, nothing is asked at a terminal.
        let output = Output { json: true };
        let built = offer.build_server(&name, &values, &registry, &pages.source, output);
        let (server, review) = built.await?;
        anyhow::Ok(Addition::Registered {
            server: Box::new(Some(server).into()),
            review,
        })
    };
    match prepared.await {
        Ok(addition) => visitor.redirect_silently(&review_path(&pages.additions.add(addition))),
        Err(error) => {
            let back = link(ADD_REGISTERED, &[("entry", field("entry"))]);
            visitor.redirect(&back, Err(error))
        }
    }
}
