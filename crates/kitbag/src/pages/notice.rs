//! The result of a change, shown once at the top of the next page.

use maud::{Markup, html};

use super::elements::text;
use crate::cli::failure::CommandFailure;

#[derive(Debug, Clone)]
pub(super) enum Notice {
    Done(String),
    Failed(CommandFailure),
    /// A secret that is shown only now, such as a new key.
    Secret {
        label: String,
        secret: String,
    },
}

impl Notice {
    pub(super) fn done(text: impl Into<String>) -> Self {
        Self::Done(text.into())
    }

    pub(super) fn failed(error: &anyhow::Error) -> Self {
        Self::Failed(CommandFailure::from_error(error))
    }

    pub(super) fn render(&self) -> Markup {
        match self {
            Self::Done(done) => html! { p.notice.good role="status" { (text(done)) } },
            Self::Failed(failure) => {
                html! { div.notice.bad role="alert" { (render_failure(failure)) } }
            }
            Self::Secret { label, secret } => html! {
                div.notice.good role="status" {
                    p { (text(label)) }
                    p { code.secret { (secret) } }
                }
            },
        }
    }
}

/// Renders what failed, why, and what to try.
pub(super) fn render_failure(failure: &CommandFailure) -> Markup {
    html! {
        p { strong { (text(&failure.error)) } }
        @for reason in &failure.why { p { (text(reason)) } }
        @for advice in &failure.advice { p { "Try: " (text(advice)) } }
        @if let Some(output) = &failure.last_words {
            details { summary { "Last output" } pre { (text(output)) } }
        }
    }
}
