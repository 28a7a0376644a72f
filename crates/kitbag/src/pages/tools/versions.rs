//! The approved definition of a tool and the current one, with their difference.

use kitbag_gateway::admin::app::{DefinitionVersions, ToolDetails};
use kitbag_lockfile::{DefinitionDifference, Drift};
use maud::{Markup, html};

use crate::pages::elements::{Tone, code_text, long_text, path_with, pill, text};

pub(super) fn section(tool: &ToolDetails) -> Markup {
    let server_page = path_with("/ui/servers/", tool.summary.row.server.as_str());
    html! {
        h2 #definition { "Definition" }
        @match &tool.versions {
            DefinitionVersions::NotLocked => p.muted {
                "Definitions of this server are not checked: a change takes effect at once. "
                a href={ (server_page) "#lock" } { "Lock the server" }
            },
            DefinitionVersions::Approved { hash } => p {
                (pill(Tone::Good, "approved")) " The server lists exactly what was approved, "
                code { (hash[..12.min(hash.len())]) } ". "
                a href={ (server_page) "#lock" } { "Lock" }
            },
            DefinitionVersions::Unreadable { reason } => p.notice.bad { (text(reason)) },
            DefinitionVersions::Drifted { drift, difference, marks } => {
                p { (pill(Tone::Warn, drift.as_str())) " " (describe_drift(drift)) }
                @for mark in marks { p.notice.warn { strong { "Review: " } (text(&mark.to_string())) } }
                @match difference {
                    Some(difference) => (render_difference(difference)),
                    None => p.muted { "The approved definition is not stored on this machine." },
                }
                div.row {
                    a.button href={ (server_page) "#lock" } { "Review and approve" }
                }
            }
        }
        details {
            summary { "The whole definition, as clients get it" }
            (long_text("Definition", &format!("{:#}", tool.definition)))
        }
    }
}

fn describe_drift(drift: &Drift) -> Markup {
    html! {
        @match drift {
            Drift::Changed => "The server changed the definition after it was approved.",
            Drift::New => "The server added the tool after the others were approved.",
            Drift::Renamed { from } => { "The server renamed the tool, which was approved as " (code_text(from)) "." }
            Drift::Gone => "The server no longer lists the tool.",
        }
    }
}

/// Renders the lines that `kitbag lock diff` prints.
fn render_difference(difference: &DefinitionDifference) -> Markup {
    html! {
        pre.block tabindex="0" role="region" aria-label="Difference" { @for line in difference.to_lines() {
            @let shown = line.trim_start();
            @match shown.chars().next() {
                Some('+') => ins { (text(shown.trim_start_matches('+').trim_start())) },
                Some('-') => del { (text(shown.trim_start_matches('-').trim_start())) },
                _ => span.line { (text(&line)) },
            }
        } }
    }
}
