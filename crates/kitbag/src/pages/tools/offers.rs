//! Prompts, resources and skills in tables.

use axum::response::Html;
use kitbag_domain::ServerName;
use maud::{Markup, html};

use super::list::{ListQuery, ROWS, tabs};
use super::server_link;
use crate::pages::Pages;
use crate::pages::elements::{
    code_text, empty_state, link, live, number, pager, summary, table, text,
};
use crate::pages::layout::{Section, page};
use crate::pages::visitor::Visitor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfferKind {
    Prompts,
    Resources,
    Skills,
}

/// One row, whatever its kind.
struct OfferRow {
    name: String,
    server: ServerName,
    about: String,
    description: String,
}

impl OfferKind {
    pub(super) const ALL: [Self; 3] = [Self::Prompts, Self::Resources, Self::Skills];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Skills => "skills",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Prompts => "Prompts",
            Self::Resources => "Resources",
            Self::Skills => "Skills",
        }
    }

    /// The meaning of the third column.
    fn about(self) -> &'static str {
        match self {
            Self::Prompts => "Arguments",
            Self::Resources => "Type",
            Self::Skills => "Files",
        }
    }

    fn rows(self, pages: &Pages) -> Vec<OfferRow> {
        match self {
            Self::Prompts => prompts(pages),
            Self::Resources => resources(pages),
            Self::Skills => skills(pages),
        }
    }
}

pub(super) fn show(
    pages: &Pages,
    visitor: &Visitor,
    kind: OfferKind,
    query: &ListQuery,
) -> Html<String> {
    let mut rows = kind.rows(pages);
    let words = query.text.to_lowercase();
    rows.retain(|row| {
        let text = format!("{} {}", row.name, row.description).to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    });
    let first = query.page.saturating_mul(ROWS);
    let page_link = |page: usize| {
        let page = if page == 0 {
            String::new()
        } else {
            page.to_string()
        };
        link(
            "/ui/tools",
            &[
                ("list", kind.as_str()),
                ("text", &query.text),
                ("page", &page),
            ],
        )
    };
    let before = (query.page > 0).then(|| page_link(0));
    let next = (first.saturating_add(ROWS) < rows.len()).then(|| page_link(query.page + 1));
    let body = html! {
        (tabs(Some(kind)))
        form.filter method="get" action="/ui/tools" data-filter {
            input type="hidden" name="list" value=(kind.as_str());
            label.wide { "Name or description" input type="search" name="text" value=(query.text); }
            button { "Show" }
        }
        @let shown = html! {
            p.muted { (number(rows.len() as u64)) " " (kind.as_str()) }
            @if rows.is_empty() {
                (empty_state(&format!("No {}", kind.as_str()), &html! { "Servers that offer some are added under " a href="/ui/servers" { "Servers" } "." }))
            } @else {
                (offer_rows(kind, rows.iter().skip(first).take(ROWS)))
                (pager(before.as_deref(), next.as_deref()))
            }
        };
        (live("offers", "tools", &shown))
    };
    page(visitor, Section::Tools, kind.title(), &body)
}

fn offer_rows<'a>(kind: OfferKind, rows: impl Iterator<Item = &'a OfferRow>) -> Markup {
    let rows = html! {
        @for row in rows { tr {
            th scope="row" {
                (code_text(&row.name))
                @if !row.description.is_empty() { br; small { (summary(&row.description)) } }
            }
            td { (server_link(&row.server)) }
            td { (text(&row.about)) }
        } }
    };
    table(kind.title(), &["Name", "Server", kind.about()], &rows)
}

fn prompts(pages: &Pages) -> Vec<OfferRow> {
    let rows = pages.app.prompt_rows().into_iter().map(|row| {
        let arguments: Vec<String> = row.arguments.into_iter().map(|it| it.name).collect();
        OfferRow {
            name: row.name,
            server: row.server,
            about: arguments.join(", "),
            description: row.description.unwrap_or_default(),
        }
    });
    rows.collect()
}

fn resources(pages: &Pages) -> Vec<OfferRow> {
    let rows = pages.app.resource_rows().into_iter().map(|row| {
        let kind = if row.template { "template" } else { "" };
        let about = [row.mime_type.as_deref().unwrap_or_default(), kind];
        OfferRow {
            about: about.join(" ").trim().to_owned(),
            server: row.server,
            description: row.description.or(row.name).unwrap_or_default(),
            name: row.uri,
        }
    });
    rows.collect()
}

fn skills(pages: &Pages) -> Vec<OfferRow> {
    let rows = pages.app.skill_rows().into_iter().map(|row| OfferRow {
        name: row.name,
        server: row.server,
        about: row
            .files
            .map_or_else(String::new, |files| files.to_string()),
        description: row.description,
    });
    rows.collect()
}
