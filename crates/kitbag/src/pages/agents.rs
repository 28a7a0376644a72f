//! The agents: what coding agents can do, side by side, with the sources.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use kitbag_agents::record::{
    AgentCapability, AgentFile, Availability, Category, CitedSource, Maturity, Tier,
};
use kitbag_agents::{Library, Term};
use kitbag_gateway::catalog::built_in_servers::open_library;
use maud::{Markup, html};

use super::Pages;
use super::elements::{Tone, code_text, empty_state, link, pill, text};
use super::layout::{Section, error_page, page};
use super::visitor::Visitor;

const PATH: &str = "/ui/agents";
const CAPABILITY: &str = "/ui/agents/capability";

type QueryParameters = Vec<(String, String)>;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route(PATH, get(show_comparison))
        .route(CAPABILITY, get(show_capability))
}

/// The agents and the category that a person compares.
struct Comparison<'a> {
    agents: Vec<&'a AgentFile>,
    category: Option<Category>,
}

async fn show_comparison(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(parameters): Query<QueryParameters>,
) -> Response {
    let library = match load_library(&pages).await {
        Ok(library) => library,
        Err(error) => return error_page(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    };
    let comparison = Comparison::new(&library, &parameters);
    let body = html! {
        p.muted { "From the documentation of each agent. The date is that of the last check of the source. "
            "The same as files: " code { "kitbag agents export DIR" } "." }
        (comparison.form(&library))
        @if comparison.agents.is_empty() {
            (empty_state("No agent is chosen", &html! { "Choose at least one above." }))
        } @else {
            (comparison.table(&library))
        }
    };
    page(&visitor, Section::Agents, "Agents", &body).into_response()
}

static BUILT_IN: LazyLock<Arc<Library>> = LazyLock::new(|| Arc::new(Library::built_in()));

/// Returns the data. Files of a directory are read again, since they may have changed.
async fn load_library(pages: &Pages) -> anyhow::Result<Arc<Library>> {
    let config = pages.source.load()?;
    let directory = config.agents.and_then(|agents| agents.directory);
    let opening = tokio::task::spawn_blocking(move || match directory {
        Some(directory) => open_library(Some(&directory)).map(Arc::new),
        None => Ok(BUILT_IN.clone()),
    });
    Ok(opening.await??)
}

impl<'a> Comparison<'a> {
    /// Without a choice, the agents are those of the first class, or all if there is none.
    fn new(library: &'a Library, parameters: &QueryParameters) -> Self {
        let values = |wanted: &str| {
            let wanted = wanted.to_owned();
            let named = parameters.iter().filter(move |(name, _)| *name == wanted);
            named.map(|(_, value)| value.as_str())
        };
        let chosen: Vec<&str> = values("agent").collect();
        let all = || library.agents.iter();
        let is_chosen = |agent: &&AgentFile| match parameters.is_empty() {
            true => agent.agent.first_class,
            false => chosen.contains(&agent.agent.id.as_str()),
        };
        let mut agents: Vec<&AgentFile> = all().filter(is_chosen).collect();
        if agents.is_empty() && parameters.is_empty() {
            agents = all().collect();
        }
        let category = values("category").next();
        let category = category.and_then(|name| {
            let mut categories = categories(library).into_iter();
            categories.find(|category| category.name() == name)
        });
        Self { agents, category }
    }

    fn form(&self, library: &Library) -> Markup {
        let is_shown =
            |agent: &AgentFile| self.agents.iter().any(|it| it.agent.id == agent.agent.id);
        html! {
            form.filter.agents data-filter method="get" action=(PATH) {
                label { "Category"
                    select name="category" {
                        option value="" { "All" }
                        @for category in categories(library) {
                            option value=(category.name()) selected[self.category == Some(category)] {
                                (words(&category.name()))
                            }
                        }
                    }
                }
                fieldset {
                    legend { "Agents" }
                    @for agent in &library.agents {
                        label.check {
                            input type="checkbox" name="agent" value=(agent.agent.id) checked[is_shown(agent)];
                            (text(&agent.agent.name))
                        }
                    }
                }
                button.primary { "Compare" }
            }
        }
    }

    fn table(&self, library: &Library) -> Markup {
        let shown = |category: &Category| self.category.is_none_or(|only| only == *category);
        html! {
            div.scroll tabindex="0" role="region" aria-label="Capabilities of agents" {
                table.compare {
                    caption.unseen { "Capabilities of agents" }
                    thead { tr {
                        th scope="col" { "Capability" }
                        @for agent in &self.agents { th scope="col" {
                            (text(&agent.agent.name)) small { " " (text(&agent.agent.vendor)) }
                        } }
                    } }
                    @for category in categories(library).into_iter().filter(shown) {
                        tbody {
                            tr.group { th scope="rowgroup" colspan=(self.agents.len() + 1) {
                                span { (words(&category.name())) }
                            } }
                            @for term in library.capabilities.iter().filter(|term| term.category == category) {
                                (self.row(term))
                            }
                        }
                    }
                }
            }
        }
    }

    fn row(&self, term: &Term) -> Markup {
        html! {
            tr {
                th scope="row" { a href=(link(CAPABILITY, &[("name", &term.name)])) { (text(&term.name)) } }
                @for agent in &self.agents { td {
                    (availability(agent.availability(&term.name)))
                    @if let Some(capability) = agent.capability(&term.name) {
                        (conditions(capability))
                        @if let Some(source) = capability.sources.first() { " " (source_link(source, &format!("source, {}", source_date(source)))) }
                    }
                } }
            }
        }
    }
}

/// Returns the categories, in the order of the data.
fn categories(library: &Library) -> Vec<Category> {
    let mut categories = Vec::new();
    for term in &library.capabilities {
        if !categories.contains(&term.category) {
            categories.push(term.category);
        }
    }
    categories
}

fn availability(available: Availability) -> Markup {
    match available {
        Availability::Yes => pill(Tone::Good, "yes"),
        Availability::No => pill(Tone::Bad, "no"),
        Availability::Unknown => {
            html! { span.muted title="No document that was read says so" { "not stated" } }
        }
    }
}

/// The plan and the maturity, where they limit the use.
fn conditions(capability: &AgentCapability) -> Markup {
    let tier = match capability.tier {
        _ if capability.available != Availability::Yes => "",
        Tier::Free | Tier::Unknown => "",
        Tier::Pro => " pro",
        Tier::Business => " business",
        Tier::Enterprise => " enterprise",
    };
    let maturity = match capability.maturity_level {
        _ if capability.available != Availability::Yes => "",
        Maturity::Stable | Maturity::Unknown => "",
        Maturity::Experimental => " experimental",
        Maturity::Preview => " preview",
        Maturity::Beta => " beta",
        Maturity::Deprecated => " deprecated",
    };
    html! { @if !tier.is_empty() || !maturity.is_empty() { small { (tier) (maturity) } } }
}

/// Links to a source. An address that is not https is only text.
fn source_link(source: &CitedSource, label: &str) -> Markup {
    html! {
        @if source.url.scheme() == "https" {
            a.source href=(source.url) rel="noopener noreferrer" target="_blank" title=(source.url) { (text(label)) }
        } @else {
            small { (text(source.url.as_str())) " " (text(label)) }
        }
    }
}

fn source_date(source: &CitedSource) -> String {
    source.verified_date.to_string()
}

fn words(name: &str) -> String {
    name.replace('-', " ")
}

async fn show_capability(
    State(pages): State<Pages>,
    visitor: Visitor,
    Query(parameters): Query<QueryParameters>,
) -> Response {
    let library = match load_library(&pages).await {
        Ok(library) => library,
        Err(error) => return error_page(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
    };
    let name = parameters.iter().find(|(name, _)| name == "name");
    let name = name.map_or("", |(_, value)| value);
    let Some(term) = library.capabilities.iter().find(|term| term.name == name) else {
        return error_page(
            StatusCode::NOT_FOUND,
            "There is no capability of this name.",
        );
    };
    let body = html! {
        p { (words(&term.category.name())) " · " a href=(PATH) { "Compare agents" } }
        @for agent in &library.agents { (render_agent(agent, &term.name)) }
    };
    page(&visitor, Section::Agents, &term.name, &body).into_response()
}

/// What one agent's documents say about a capability.
fn render_agent(agent: &AgentFile, name: &str) -> Markup {
    let capability = agent.capability(name);
    html! {
        section.card {
            h2 { (text(&agent.agent.name)) " " (availability(agent.availability(name))) }
            @if let Some(capability) = capability {
                @if let Some(description) = &capability.description { p { (text(description)) } }
                (facts(capability))
                @if !capability.sources.is_empty() {
                    h3 { "Sources" }
                    ul { @for source in &capability.sources { li {
                        (source_link(source, &source.description)) " "
                        small { "checked " (source_date(source)) }
                    } } }
                }
            }
        }
    }
}

fn facts(capability: &AgentCapability) -> Markup {
    let notes = capability.implementation_notes.as_ref();
    let plan = conditions(capability);
    html! {
        dl.facts {
            @if !plan.0.is_empty() { dt { "Plan and state" } dd { (plan) } }
            @if let Some(term) = &capability.vendor_term { dt { "The vendor calls it" } dd { (text(term)) } }
            @if let Some(setup) = notes.and_then(|notes| notes.setup.as_ref()) { dt { "Setup" } dd { (text(setup)) } }
            @if let Some(file) = notes.and_then(|notes| notes.config_file.as_ref()) {
                dt { "Configuration" } dd { (code_text(file)) }
            }
            @for gotcha in notes.into_iter().flat_map(|notes| &notes.gotchas) { dt { "Note" } dd { (text(gotcha)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(pairs: &[(&str, &str)]) -> (usize, Option<Category>) {
        let library = Library::built_in();
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let comparison = Comparison::new(&library, &pairs.collect());
        (comparison.agents.len(), comparison.category)
    }

    #[test]
    fn without_a_choice_the_agents_of_the_first_class_are_compared() {
        let library = Library::built_in();
        let first_class = library
            .agents
            .iter()
            .filter(|agent| agent.agent.first_class);
        assert_eq!(compare(&[]), (first_class.count(), None));
        assert_eq!(compare(&[("category", "")]), (0, None));
        let chosen = [
            ("agent", "cursor"),
            ("agent", "nobody"),
            ("category", "security"),
        ];
        assert_eq!(compare(&chosen), (1, Some(Category::Security)));
    }

    #[test]
    fn only_https_sources_are_links() {
        let source = |url: &str| {
            let source = serde_json::json!({
                "url": url, "description": "d", "verifiedDate": "2026-08-22",
                "status": "active", "granularity": "page"
            });
            source_link(&serde_json::from_value(source).unwrap(), "x").into_string()
        };
        assert!(source("https://a.example/").contains("href"));
        for other in [
            "http://a.example/",
            "javascript:alert(1)",
            "data:text/html,x",
        ] {
            assert!(!source(other).contains("href"), "{other}");
        }
    }
}
