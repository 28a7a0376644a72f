//! The frame of each page: navigation, title, notice.

use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use kitbag_domain::TenantError;
use kitbag_domain::text::strip_invisible;
use maud::{DOCTYPE, Markup, html};

use super::assets::{ICON, SCRIPT, STYLE};
use super::elements::{hidden_csrf, text};
use super::notice::render_failure;
use super::sign_in::SIGN_OUT;
use super::visitor::{PageRole, Visitor};
use crate::cli::failure::CommandFailure;

/// The sections of the navigation, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Overview,
    Search,
    Tools,
    Servers,
    Calls,
    Code,
    Learned,
    Access,
    Feedback,
    Agents,
}

impl Section {
    const ALL: [Self; 10] = [
        Self::Overview,
        Self::Search,
        Self::Tools,
        Self::Servers,
        Self::Calls,
        Self::Code,
        Self::Learned,
        Self::Access,
        Self::Feedback,
        Self::Agents,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Search => "Search",
            Self::Tools => "Tools",
            Self::Servers => "Servers",
            Self::Calls => "Calls",
            Self::Code => "Code",
            Self::Learned => "Learned",
            Self::Access => "Access",
            Self::Feedback => "Feedback",
            Self::Agents => "Agents",
        }
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Overview => "/ui",
            Self::Search => "/ui/search",
            Self::Tools => "/ui/tools",
            Self::Servers => "/ui/servers",
            Self::Calls => "/ui/calls",
            Self::Code => "/ui/code",
            Self::Learned => "/ui/learned",
            Self::Access => "/ui/access",
            Self::Feedback => "/ui/feedback",
            Self::Agents => "/ui/agents",
        }
    }
}

/// Renders a page of a section.
pub(super) fn page(
    visitor: &Visitor,
    section: Section,
    title: &str,
    body: &Markup,
) -> Html<String> {
    let frame = html! {
        (navigation(visitor, section))
        main #main tabindex="-1" {
            @if let Some(notice) = &visitor.notice { (notice.render()) }
            h1 { (title) }
            (body)
        }
    };
    document(title, &frame)
}

/// Renders a page without navigation, for a person who is not signed in.
pub(super) fn bare_page(title: &str, body: &Markup) -> Html<String> {
    let frame = html! { main.bare #main tabindex="-1" { h1 { (title) } (body) } };
    document(title, &frame)
}

/// Renders a page of a section that says why its content is missing.
pub(super) fn failure_page(
    visitor: &Visitor,
    section: Section,
    title: &str,
    error: &anyhow::Error,
) -> Response {
    let failure = CommandFailure::from_error(error);
    let body = html! { div.notice.bad role="alert" { (render_failure(&failure)) } };
    let page = page(visitor, section, title, &body);
    // The person typed the name.
    let status = match error.is::<TenantError>() {
        true => StatusCode::BAD_REQUEST,
        false => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, page).into_response()
}

/// Renders a page of a section for something that does not exist.
pub(super) fn missing_page(visitor: &Visitor, section: Section, what: &str) -> Response {
    let body = html! {
        p { (text(what)) }
        p { a href=(section.path()) { "Show all" } }
    };
    let page = page(visitor, section, "Not found", &body);
    (StatusCode::NOT_FOUND, page).into_response()
}

/// Renders the reason why there is no page.
pub(super) fn error_page(status: StatusCode, reason: &str) -> Response {
    let body = html! {
        @if reason.is_empty() { p { "There is no page for such a request." } }
        @else { p { (text(reason)) } }
        p { a href="/ui" { "Go to the overview" } }
    };
    let title = status.canonical_reason().unwrap_or("Error");
    (status, bare_page(title, &body)).into_response()
}

fn document(title: &str, frame: &Markup) -> Html<String> {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Kitbag" }
                link rel="icon" href=(ICON.path) type="image/svg+xml";
                link rel="stylesheet" href=(STYLE.path);
                script src=(SCRIPT.path) defer {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                p #connection role="status" hidden { "Connection to Kitbag lost. Trying again…" }
                (frame)
            }
        }
    };
    // Text of servers is rendered by `elements::text`, which names invisible characters. This catches
    // a text that was not.
    Html(strip_invisible(&document.into_string()).into_owned())
}

fn navigation(visitor: &Visitor, current: Section) -> Markup {
    html! {
        header.sidebar {
            a.brand href="/ui" { img src=(ICON.path) alt="" width="24" height="24"; "Kitbag" }
            nav aria-label="Pages" {
                ul {
                    @for section in Section::ALL {
                        li { a href=(section.path()) aria-current=[(section == current).then_some("page")] {
                            (section.name())
                        } }
                    }
                }
            }
            div.account {
                @match visitor.role {
                    PageRole::Admin if !visitor.has_key() => span.muted { "This machine" },
                    PageRole::Admin => span.muted { "Admin" },
                    PageRole::Reader => span.muted { "Read only" },
                }
                @if visitor.has_key() {
                    form method="post" action=(SIGN_OUT) {
                        (hidden_csrf(visitor))
                        button.quiet { "Sign out" }
                    }
                }
            }
        }
    }
}
