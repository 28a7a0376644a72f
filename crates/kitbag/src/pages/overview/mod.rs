//! The overview: what is connected, what is used, and what needs a person.
//!
//! - `tasks`: what needs a person; `use_charts`: calls and tokens of the last day

mod tasks;
mod use_charts;

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::{Html, Response};
use axum::routing::{get, post};
use kitbag_domain::Action;
use kitbag_gateway::admin::app::UseHistory;
use kitbag_gateway::state::gateway::Gateway;
use maud::{Markup, html};

use super::Pages;
use super::elements::{duration, empty_state, figure, live, number, percent, table};
use super::layout::{Section, page};
use super::servers::condition::ServerCondition;
use super::servers::list::server_row;
use super::visitor::Visitor;
use crate::cli::output::pluralize;

const RUN_PRIORS: &str = "/ui/priors/run";
/// Hours that take longer to count appear when the page is refreshed.
const HISTORY_PATIENCE: Duration = Duration::from_millis(100);
/// More servers are on their own page.
const MAX_SERVERS: usize = 10;

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/ui", get(show))
        .route(RUN_PRIORS, post(run_priors))
}

async fn show(State(pages): State<Pages>, visitor: Visitor) -> Html<String> {
    let gateway = pages.gateway();
    let history = pages.app.use_history(HISTORY_PATIENCE).await;
    let tasks = tasks::find_tasks(&pages).await;
    let body = html! {
        (live("figures", "servers tools calls", &figures(&pages, &history)))
        h2 { "Needs you" }
        (live("tasks", "servers tools calls learned access", &tasks::render(&tasks, &visitor)))
        h2 { "Last 24 hours" }
        (live("charts", "calls", &use_charts::render(&history)))
        h2 { "Servers" }
        (live("servers", "servers tools calls", &servers(&gateway)))
    };
    page(&visitor, Section::Overview, "Overview", &body)
}

fn figures(pages: &Pages, history: &UseHistory) -> Markup {
    let gateway = pages.gateway();
    let conditions = || {
        gateway
            .upstreams
            .iter()
            .map(|server| ServerCondition::of(server))
    };
    let failing = conditions().filter(ServerCondition::needs_person).count();
    let running = conditions()
        .filter(|it| matches!(it, ServerCondition::Running))
        .count();
    let total = &history.total;
    let failed = total.failed as f64 / total.calls.max(1) as f64;
    let milliseconds =
        |ms: Option<f64>| ms.map(|ms| duration(Duration::from_secs_f64(ms / 1000.0)));
    let spent_without = total.tokens_spent + total.tokens_saved;
    html! {
        dl.figures {
            (figure("Servers", number(conditions().count() as u64), &html! {
                (running) " running"
                @if failing > 0 { ", " span.alarm { (failing) " failing" } }
            }))
            (figure("Tools", number(gateway.catalog().tools.len() as u64), &html! { "ready to be called" }))
            (figure("Calls", number(total.calls), &html! { "in 24 hours" }))
            (figure("Failed", percent(failed), &html! { (number(total.failed)) ", and " (number(total.rejected)) " rejected" }))
            (figure("Latency", milliseconds(total.p50_latency_ms).unwrap_or_else(|| "–".to_owned()), &html! {
                @match milliseconds(total.p95_latency_ms) {
                    Some(slow) => { "median; 95 % within " (slow) }
                    None => "no calls yet",
                }
            }))
            (figure("Tokens saved", number(total.tokens_saved), &html! {
                @if spent_without > 0 {
                    (percent(total.tokens_saved as f64 / spent_without as f64)) "; " (number(total.tokens_spent)) " spent"
                } @else { "against listing every tool" }
            }))
        }
    }
}

/// Renders the first servers, those that need a person first.
fn servers(gateway: &Gateway) -> Markup {
    let mut servers: Vec<_> = gateway
        .upstreams
        .iter()
        .map(|server| (ServerCondition::of(server), server))
        .collect();
    servers.sort_by_key(|(condition, server)| (condition.rank(), server.name().clone()));
    let all = servers.len();
    let rows = html! {
        @for (condition, server) in servers.iter().take(MAX_SERVERS) { (server_row(server, condition)) }
    };
    html! {
        @if servers.is_empty() {
            (empty_state("No servers yet.", &html! {
                a href="/ui/servers/add" { "Add a server" } ", or import those of your clients: "
                code { "kitbag import" }
            }))
        } @else {
            (table("Servers", super::servers::list::HEADS, &rows))
            p { a href="/ui/servers" {
                @if all > MAX_SERVERS { "All " (pluralize(all, "server")) } @else { "Manage servers" }
            } }
        }
    }
}

async fn run_priors(State(pages): State<Pages>, visitor: Visitor) -> Response {
    let outcome = async {
        let done = pages.app.run_priors().await?;
        let tools = pluralize(done.tools, "tool");
        let calls = pluralize(usize::try_from(done.calls).unwrap_or(usize::MAX), "call");
        visitor
            .record_change(Action::PriorsComputed, &tools, None)
            .await?;
        Ok(format!(
            "Processed {calls}; priors of {tools} are up to date."
        ))
    };
    visitor.redirect("/ui", outcome.await)
}
