//! What needs a person: each with its reason, and the button, link or command that solves it.

use std::time::Duration;

use kitbag_domain::{Role, ServerName, Timestamp};
use kitbag_gateway::learning::learned_templates;
use kitbag_gateway::learning::priors::overdue::stale_message;
use kitbag_gateway::state::clock::now;
use kitbag_intents::LearnedState;
use kitbag_store::{FeedbackQuery, KeyInfo, Store};
use kitbag_upstream::CallError;
use maud::{Markup, html};

use super::RUN_PRIORS;
use crate::cli::failure::CommandFailure;
use crate::cli::output::pluralize;
use crate::pages::Pages;
use crate::pages::elements::{Tone, action_button, code_text, empty_state, pill, text, time};
use crate::pages::notice::render_failure;
use crate::pages::servers::condition::ServerCondition;
use crate::pages::servers::{change_path, server_path};
use crate::pages::visitor::Visitor;

/// A key that ends sooner is shown.
const KEY_ENDS_WITHIN: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// More reports are shown as "100 or more".
const MAX_REPORTS: u32 = 100;
/// More tasks of one kind are shown as a number.
const MAX_SERVERS: usize = 20;

pub(super) enum Task {
    /// A server that fails, and the reason.
    Failing(ServerName, Box<CallError>),
    LoginNeeded(ServerName),
    /// More servers fail than are shown.
    FurtherServers(usize),
    /// The number of definitions of a server that wait for approval.
    Drift(ServerName, usize),
    Templates(usize),
    Reports(usize),
    StalePriors(Duration),
    EndingKey(Box<KeyInfo>, Timestamp),
    /// A part of the state could not be read.
    Unreadable(anyhow::Error),
}

pub(super) async fn find_tasks(pages: &Pages) -> Vec<Task> {
    let mut tasks = find_server_tasks(pages);
    let gateway = pages.gateway();
    let store = &gateway.services.store;
    for found in [
        find_reports(store).await,
        find_templates(store).await,
        find_stale_priors(pages).await,
        find_ending_keys(store).await,
    ] {
        tasks.extend(found.unwrap_or_else(|error| vec![Task::Unreadable(error)]));
    }
    tasks
}

fn find_server_tasks(pages: &Pages) -> Vec<Task> {
    let gateway = pages.gateway();
    let conditions = gateway.upstreams.iter().filter_map(|server| {
        let name = server.name().clone();
        match ServerCondition::of(server) {
            ServerCondition::Failing(error) => Some(Task::Failing(name, error)),
            ServerCondition::LoginNeeded => Some(Task::LoginNeeded(name)),
            _ => None,
        }
    });
    let mut tasks: Vec<Task> = conditions.collect();
    if tasks.len() > MAX_SERVERS {
        let further = tasks.split_off(MAX_SERVERS).len();
        tasks.push(Task::FurtherServers(further));
    }
    let drifted = pages.app.drifted_definitions().into_iter();
    let drifted = drifted.filter(|(_, drifted)| !drifted.is_empty());
    tasks.extend(drifted.map(|(server, drifted)| Task::Drift(server, drifted.len())));
    tasks
}

async fn find_reports(store: &Store) -> anyhow::Result<Vec<Task>> {
    let query = FeedbackQuery {
        limit: MAX_REPORTS,
        open: Some(true),
        ..FeedbackQuery::default()
    };
    let open = store.list_feedback(&query).await?.len();
    Ok((open > 0)
        .then_some(Task::Reports(open))
        .into_iter()
        .collect())
}

async fn find_templates(store: &Store) -> anyhow::Result<Vec<Task>> {
    let (learned, _) = learned_templates::read_all(store, None).await?;
    let waits = |state| matches!(state, LearnedState::Candidate | LearnedState::Demoted);
    let waiting = learned
        .iter()
        .filter(|row| waits(row.learned.state()))
        .count();
    Ok((waiting > 0)
        .then_some(Task::Templates(waiting))
        .into_iter()
        .collect())
}

async fn find_stale_priors(pages: &Pages) -> anyhow::Result<Vec<Task>> {
    let age = pages.app.overdue_priors_age().await?;
    Ok(age.map(Task::StalePriors).into_iter().collect())
}

async fn find_ending_keys(store: &Store) -> anyhow::Result<Vec<Task>> {
    let now = now();
    let soon = Timestamp(now.0 + KEY_ENDS_WITHIN.as_millis() as i64);
    let ending = store.list_keys().await?.into_iter().filter_map(|key| {
        let ends = key.expires_at.filter(|at| now < *at && *at < soon)?;
        key.revoked_at
            .is_none()
            .then(|| Task::EndingKey(Box::new(key), ends))
    });
    Ok(ending.collect())
}

pub(super) fn render(tasks: &[Task], visitor: &Visitor) -> Markup {
    html! {
        @if tasks.is_empty() {
            (empty_state("Nothing needs you.", &html! {
                "Failing servers, missing logins and waiting approvals appear here."
            }))
        }
        @for task in tasks { div.card { (task.render(visitor)) } }
    }
}

impl Task {
    fn render(&self, visitor: &Visitor) -> Markup {
        match self {
            Self::Failing(server, error) => {
                let failure = CommandFailure::from_error(&anyhow::Error::new((**error).clone()));
                html! {
                    (heading(Tone::Bad, "failing", &server_link(server)))
                    (render_failure(&failure))
                    div.row {
                        (action_button(visitor, &change_path(server, "restart"), "Restart", &[]))
                        a.button href=(server_path(server)) { "Log and details" }
                    }
                }
            }
            Self::LoginNeeded(server) => html! {
                (heading(Tone::Warn, "login needed", &server_link(server)))
                p { "Log in on its page, or at a terminal of this machine: " code { "kitbag servers login " (server) } }
                p { a.button href=(server_path(server)) { "Log in" } }
            },
            Self::FurtherServers(number) => html! {
                (heading(Tone::Bad, "failing", &html! { (pluralize(*number, "further server")) }))
                p { a href="/ui/servers?state=failing" { "Show all failing servers" } }
            },
            Self::Drift(server, definitions) => html! {
                (heading(Tone::Warn, "approval", &server_link(server)))
                p { (pluralize(*definitions, "definition")) " differ from what you approved, and are hidden from clients until you approve them." }
                p { a.button href={ (server_path(server)) "#lock" } { "Review and approve" } }
            },
            Self::Templates(waiting) => html! {
                (heading(Tone::Neutral, "approval", &html! { (pluralize(*waiting, "learned template")) }))
                p { "They answer requests once they have succeeded more often, or as soon as you approve them." }
                p { a.button href="/ui/code" { "Review templates" } }
            },
            Self::Reports(open) => html! {
                (heading(Tone::Neutral, "reports", &html! {
                    @if *open >= MAX_REPORTS as usize { (open) " or more reports" } @else { (pluralize(*open, "report")) }
                    " of agents"
                }))
                p { a.button href="/ui/feedback" { "Read reports" } }
            },
            Self::StalePriors(age) => html! {
                (heading(Tone::Warn, "out of date", &html! { "Priors of tools" }))
                p { "They rank tools by success, latency and cost; " (stale_message(*age)) "." }
                @if visitor.is_admin() { p { (action_button(visitor, RUN_PRIORS, "Compute now", &[])) } }
            },
            Self::EndingKey(key, ends) => html! {
                (heading(Tone::Warn, "key ends", &html! {
                    "Key " (code_text(&key.id.0)) @if let Some(label) = &key.label { " " (text(label)) }
                }))
                p {
                    @match key.role { Role::User => { "Of tenant " (text(key.tenant.as_str())) } role => { "Of role " (role.as_str()) } }
                    ". It ends " (time(*ends)) "."
                }
                p { a.button href="/ui/access" { "Rotate it" } }
            },
            Self::Unreadable(error) => render_failure(&CommandFailure::from_error(error)),
        }
    }
}

fn heading(tone: Tone, state: &str, subject: &Markup) -> Markup {
    html! { p { (pill(tone, state)) " " strong { (subject) } } }
}

fn server_link(server: &ServerName) -> Markup {
    html! { a href=(server_path(server)) { (server) } }
}
