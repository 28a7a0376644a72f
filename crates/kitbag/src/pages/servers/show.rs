//! One server: its state, how it is reached, what it offers, its lock and its log.

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use kitbag_config::Config;
use kitbag_domain::{ServerName, Timestamp};
use kitbag_store::{AuditQuery, AuditRow, AuditRowContent, AuditRowKind, Store};
use kitbag_upstream::{LogLevel, LogLine, LogStream, Server};
use maud::{Markup, html};

use super::condition::ServerCondition;
use super::login::can_log_in;
use super::{change_path, server_lock};
use crate::cli::failure::CommandFailure;
use crate::cli::logs::read_server_log;
use crate::cli::output::describe_offers;
use crate::cli::servers::show::{ListedOffer, ServerDetails};
use crate::cli::servers::state::Login;
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, action_button, block_text, code_text, confirmed_button, duration, empty_state, figure,
    live, number, outcome_pill, pill, table, text, time,
};
use crate::pages::layout::{Section, error_page, page};
use crate::pages::notice::render_failure;
use crate::pages::visitor::Visitor;

const LOG_LINES: usize = 100;
/// More are on the page of calls.
const CALLS: u32 = 5;

pub(super) async fn show_server(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    let gateway = pages.gateway();
    let config = match pages.source.load() {
        Ok(config) => config,
        Err(error) => return unusable(&visitor, &name, &error.into()).into_response(),
    };
    let server = gateway.upstreams.get(&name);
    let Some(spec) = config
        .find_server(&name)
        .or_else(|| server.map(|it| it.spec()))
    else {
        return error_page(
            StatusCode::NOT_FOUND,
            &format!("There is no server `{name}`."),
        );
    };
    let store = &gateway.services.store;
    let listing = server.and_then(|it| it.listing());
    let details = ServerDetails::read(spec, &config, Some(store), listing.as_deref());
    let details = match details.await {
        Ok(details) => details,
        Err(error) => return unusable(&visitor, &name, &error).into_response(),
    };
    let is_in_file = config.find_server(&name).is_some();
    let body = html! {
        (live("state", "servers tools calls", &render_state(server.map(AsRef::as_ref), &details, is_in_file)))
        (render_buttons(&visitor, &details, server.is_some(), spec.is_built_in()))
        (render_login(&visitor, &details, server.is_some_and(|it| can_log_in(it, &visitor))))
        h2 { "How it is reached" }
        (render_reach(&details))
        h2 { "What it offers" }
        (live("offer", "tools", &render_offer(&details)))
        @if !spec.is_built_in() {
            h2 #lock { "Lock" }
            (live("definitions", "tools servers", &server_lock::render(&pages, &name, &visitor).await))
        }
        h2 { "Last calls" }
        (live("calls", "calls", &render_calls(&name, store).await))
        h2 { "Log" }
        (live("log", "logs", &render_log(&name, &config)))
    };
    page(&visitor, Section::Servers, name.as_str(), &body).into_response()
}

fn unusable(visitor: &Visitor, name: &ServerName, error: &anyhow::Error) -> Html<String> {
    let body = html! { div.notice.bad role="alert" { (render_failure(&CommandFailure::from_error(error))) } };
    page(visitor, Section::Servers, name.as_str(), &body)
}

fn render_state(server: Option<&Server>, details: &ServerDetails, is_in_file: bool) -> Markup {
    let Some(server) = server else {
        return html! {
            @if details.enabled {
                p role="status" { (pill(Tone::Neutral, "being loaded")) " The running gateway reads the configuration within a second." }
            } @else {
                p { (pill(Tone::Neutral, "disabled")) " Clients do not see its tools." }
            }
        };
    };
    let (condition, figures) = (ServerCondition::of(server), server.figures());
    html! {
        p { (condition.pill())
            @if !is_in_file { " It was removed from the configuration and is being stopped." }
            @else if !details.enabled { " It was disabled and is being stopped." }
        }
        @if let ServerCondition::Failing(error) = &condition {
            div.notice.bad {
                (render_failure(&CommandFailure::from_error(&anyhow::Error::new((**error).clone()))))
            }
        }
        dl.figures {
            (figure("Calls in flight", number(figures.in_flight as u64), &html! { (number(figures.waiting as u64)) " waiting" }))
            (figure("Starts", number(figures.starts), &html! { (number(figures.restarts)) " after a crash" }))
            @if let Some(listing) = server.listing() {
                (figure("Tools", number(listing.tools.len() as u64), &html! {
                    a href={ "/ui/tools?server=" (server.name()) } { "Show tools" }
                }))
            }
        }
    }
}

fn render_buttons(
    visitor: &Visitor,
    details: &ServerDetails,
    is_loaded: bool,
    is_built_in: bool,
) -> Markup {
    let name = &details.name;
    html! {
        div.row {
            @if is_loaded && details.enabled {
                (action_button(visitor, &change_path(name, "restart"), "Restart", &[]))
            }
            @if !is_built_in {
                @if details.enabled {
                    (action_button(visitor, &change_path(name, "disable"), "Disable", &[]))
                } @else {
                    (action_button(visitor, &change_path(name, "enable"), "Enable", &[]))
                }
                (confirmed_button(visitor, &change_path(name, "remove"), "Remove",
                    "This removes the server from the configuration file. Its secrets and its log stay.", &[]))
            }
        }
    }
}

/// Renders the login and the variables that are missing, each with the command that sets it.
fn render_login(visitor: &Visitor, details: &ServerDetails, can_log_in: bool) -> Markup {
    let name = &details.name;
    html! {
        @match details.state.login {
            Some(Login::Needed) => div.notice.warn {
                @if can_log_in {
                    p { strong { "Login needed." } }
                    p { (action_button(visitor, &change_path(name, "login"), "Log in", &[])) }
                    p { "Or at a terminal of this machine:" }
                } @else {
                    p { strong { "Login needed." } " At a terminal of this machine, run:" }
                }
                p { code.secret { "kitbag servers login " (name) } }
                p { "With a browser on another machine, add " code { "--headless" } "." }
            },
            Some(Login::LoggedIn) => div.row {
                (pill(Tone::Good, "logged in"))
                (confirmed_button(visitor, &change_path(name, "logout"), "Log out",
                    "This deletes the login, and revokes it at the server if possible.", &[]))
            },
            None => {}
        }
        @for variable in details.state.missing.iter().filter(|_| details.enabled) {
            div.notice.warn {
                p { "It needs a value for " (code_text(variable)) ". At a terminal, run:" }
                @match variable.strip_prefix("secret:") {
                    Some(secret) => p { code.secret { "kitbag secret set " (text(secret)) } },
                    None => p { "Set it in the environment of the gateway, or store it as a secret and refer to it as "
                        code { "${secret:NAME}" } "." },
                }
            }
        }
    }
}

fn render_reach(details: &ServerDetails) -> Markup {
    html! {
        dl.facts {
            dt { @if details.target.contains("://") { "Connects to" } @else { "Runs" } } dd { (code_text(&details.target)) }
            @if let Some(folder) = &details.cwd {
                dt { "Directory" } dd { (code_text(&folder.display().to_string())) }
            }
            @if !details.given.is_empty() {
                dt { "Environment or headers" }
                dd { @for name in &details.given { (code_text(name)) " " } }
            }
            @if let Some(file) = &details.file {
                dt { "Configured in" } dd { (code_text(&file.display().to_string())) }
            }
            dt { "Log file" } dd { (code_text(&details.log.display().to_string())) }
        }
    }
}

fn render_offer(details: &ServerDetails) -> Markup {
    let Some(offer) = &details.offer else {
        return empty_state(
            "Not listed yet.",
            &html! {
                "The gateway lists it in the background. Restart it to list it now."
            },
        );
    };
    let ListedOffer {
        tools,
        prompts,
        resources,
        ..
    } = *offer;
    html! {
        dl.facts {
            dt { "Protocol" } dd { (text(&offer.version)) " (" (offer.era) ")" }
            dt { "Offers" } dd { (describe_offers(tools, prompts, resources)) }
        }
        @if let Some(instructions) = &offer.instructions {
            details { summary { "Its instructions for models" } (block_text(instructions)) }
        }
        @if !offer.problems.is_empty() {
            h3 { "Problems of its lists" }
            ul { @for problem in &offer.problems { li { (text(problem)) } } }
        }
    }
}

async fn render_calls(name: &ServerName, store: &Store) -> Markup {
    let query = AuditQuery {
        server: Some(name.clone()),
        kinds: vec![AuditRowKind::Call],
        ..AuditQuery::newest(CALLS)
    };
    let calls = match store.read_audit(&query).await {
        Ok(calls) => calls,
        Err(error) => return render_failure(&CommandFailure::from_error(&error.into())),
    };
    let rows = html! { @for call in &calls { (call_row(call)) } };
    html! {
        @if calls.is_empty() {
            (empty_state("No calls yet.", &html! { a href={ "/ui/tools?server=" (name) } { "Try one of its tools" } }))
        } @else {
            (table("Last calls", &["Time", "Tool", "Tenant", "Outcome", "#Took"], &rows))
            p { a href={ "/ui/calls?server=" (name) } { "All calls" } }
        }
    }
}

fn call_row(call: &AuditRow) -> Markup {
    let AuditRowContent::Call {
        capability,
        latency,
        ..
    } = &call.content
    else {
        return html! {};
    };
    html! { tr {
        td { (time(call.at)) }
        td { (code_text(&capability.name)) }
        td { @if let Some(tenant) = &call.tenant { (text(tenant.as_str())) } }
        td { (outcome_pill(call.outcome)) }
        td.number { (duration(*latency)) }
    } }
}

/// Renders the last lines, newest first, so that new lines appear in view.
fn render_log(name: &ServerName, config: &Config) -> Markup {
    let lines = match read_server_log(name, config, LOG_LINES) {
        Ok(lines) => lines,
        Err(error) => return render_failure(&CommandFailure::from_error(&error)),
    };
    let rows = html! { @for line in lines.iter().rev() { (log_row(line)) } };
    html! {
        @if lines.is_empty() {
            (empty_state("No output yet.", &html! { "What the server writes to stderr, and its log messages, appear here." }))
        } @else {
            (table("Log, newest first", &["Time", "Level", "Message"], &rows))
            p.muted { "The last " (lines.len()) " lines, newest first, with secrets masked. All of them: " code { "kitbag logs " (name) } }
        }
    }
}

fn log_row(line: &LogLine) -> Markup {
    let tone = match line.level {
        Some(LogLevel::Debug | LogLevel::Info | LogLevel::Notice) | None => Tone::Neutral,
        Some(LogLevel::Warning) => Tone::Warn,
        Some(_) => Tone::Bad,
    };
    let level = match (line.level, line.stream) {
        (Some(level), _) => level.as_str(),
        (None, LogStream::Stdout) => "stdout",
        (None, _) => "stderr",
    };
    html! { tr {
        td.nowrap { (time(Timestamp(line.time.as_millisecond()))) }
        td { (pill(tone, level)) }
        td { @if let Some(logger) = &line.logger { (text(logger)) ": " } code { (text(&line.message)) } }
    } }
}
