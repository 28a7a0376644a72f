//! The filters of the page of calls: as a form, as links, and as a command.

use kitbag_domain::{Action, InquiryKind, Outcome};
use kitbag_gateway::telemetry::audit::parameters::QueryParameters;
use maud::{Markup, html};

use super::PATH;
use crate::cli::install::quote_for_shell;
use crate::pages::Pages;
use crate::pages::elements::link;

/// The parameters of a request, without the empty fields of the form.
pub(super) struct CallFilter(QueryParameters);

const CURSOR: &str = "cursor";

impl CallFilter {
    pub(super) fn new(parameters: QueryParameters) -> Self {
        let given = parameters.into_iter();
        let given = given.map(|(name, value)| (name, value.trim().to_owned()));
        Self(given.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(super) fn parameters(&self) -> &QueryParameters {
        &self.0
    }

    /// True if the page shows all rows, from the newest one.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this is not the first page.
    pub(super) fn is_later_page(&self) -> bool {
        !self.value(CURSOR).is_empty()
    }

    /// Returns the address of another page of the same rows; an empty cursor is the first page.
    pub(super) fn link_to_page(&self, cursor: &str) -> String {
        let mut parameters: Vec<(&str, &str)> = self.conditions().collect();
        parameters.push((CURSOR, cursor));
        link(PATH, &parameters)
    }

    /// Returns the command that shows the same rows.
    pub(super) fn command(&self) -> String {
        let options = self
            .conditions()
            .map(|(name, value)| format!(" --{name} {}", quote_for_shell(value)));
        format!("kitbag audit{}", options.collect::<String>())
    }

    pub(super) fn render(&self, pages: &Pages) -> Markup {
        let servers = pages.gateway();
        let servers = servers
            .upstreams
            .iter()
            .map(|server| server.name().as_str());
        html! {
            form.filter data-filter method="get" action=(PATH) {
                (self.field("tool", "Tool", "search", "github__* or *__list_*"))
                (self.field("server", "Server or API", "text", ""))
                datalist #servers { @for server in servers { option value=(server) {} } }
                (self.select("outcome", "Outcome", &outcomes()))
                (self.select("event", "Event", &events()))
                (self.field("tenant", "Tenant", "text", ""))
                (self.field("client", "Client", "text", "its own name"))
                (self.field("since", "Since", "text", "2h, 7d or 2026-11-15"))
                (self.field("until", "Until", "text", "2026-11-15T14:30"))
                button.primary { "Filter" }
                @if !self.is_empty() { a.button href=(PATH) { "Show all" } }
                @for (name, value) in self.others() { input type="hidden" name=(name) value=(value); }
            }
        }
    }

    fn field(&self, name: &str, label: &str, kind: &str, example: &str) -> Markup {
        let list = (name == "server").then_some("servers");
        html! {
            label { (label)
                input type=(kind) name=(name) value=(self.value(name)) placeholder=(example)
                    list=[list] autocomplete="off";
            }
        }
    }

    fn select(&self, name: &str, label: &str, options: &[(&str, String)]) -> Markup {
        let chosen = self.value(name);
        html! {
            label { (label)
                select name=(name) {
                    option value="" { "Any" }
                    @for (value, label) in options {
                        option value=(value) selected[*value == chosen] { (label) }
                    }
                }
            }
        }
    }

    fn value(&self, name: &str) -> &str {
        let named = self.0.iter().find(|(given, _)| given == name);
        named.map_or("", |(_, value)| value)
    }

    /// Conditions that have no field, such as a run.
    fn others(&self) -> impl Iterator<Item = (&str, &str)> {
        self.conditions()
            .filter(|(name, _)| matches!(*name, "run" | "key"))
    }

    fn conditions(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self
            .0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        given.filter(|(name, _)| *name != CURSOR)
    }
}

fn outcomes() -> Vec<(&'static str, String)> {
    let failed = ("failed", "any failure at a server".to_owned());
    let each = Outcome::ALL.map(|outcome| with_words(outcome.as_str()));
    std::iter::once(failed).chain(each).collect()
}

fn events() -> Vec<(&'static str, String)> {
    let calls = ("call", "call".to_owned());
    let inquiries = InquiryKind::ALL.map(|kind| with_words(kind.as_str()));
    let actions = Action::ALL.map(|action| with_words(action.as_str()));
    std::iter::once(calls)
        .chain(inquiries)
        .chain(actions)
        .collect()
}

fn with_words(name: &'static str) -> (&'static str, String) {
    (name, name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(pairs: &[(&str, &str)]) -> CallFilter {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        CallFilter::new(pairs.collect())
    }

    #[test]
    fn empty_fields_are_no_conditions() {
        assert!(filter(&[("tenant", ""), ("tool", " ")]).is_empty());
    }

    #[test]
    fn the_command_has_the_conditions_and_not_the_page() {
        let filter = filter(&[("tool", "git__*"), ("outcome", "failed"), ("cursor", "5.7")]);
        assert_eq!(
            filter.command(),
            "kitbag audit --tool 'git__*' --outcome failed"
        );
        assert!(filter.is_later_page());
        assert_eq!(
            filter.link_to_page(""),
            "/ui/calls?tool=git__*&outcome=failed"
        );
    }
}
