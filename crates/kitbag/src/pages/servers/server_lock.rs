//! The lock of a server: what was approved, what differs from it, and the buttons that decide.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::Form;
use axum::extract::{Path, State};
use axum::response::Response;
use kitbag_config::LockState;
use kitbag_domain::sync::lock;
use kitbag_domain::{Action, ServerName};
use kitbag_gateway::state::gateway::Gateway;
use kitbag_lockfile::{DefinitionDifference, MemberChange};
use kitbag_upstream::Listing;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Handle;

use super::{change_path, server_path};
use crate::cli::failure::CommandFailure;
use crate::cli::lock::row::DriftRow;
use crate::cli::lock::server_lock::{LockDecision, ServerLock};
use crate::cli::output::pluralize;
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, action_button, block_text, code_text, confirmed_button, pill, text,
};
use crate::pages::notice::render_failure;
use crate::pages::visitor::Visitor;

/// More differences are on the command line.
const MAX_DIFFERENCES: usize = 50;
/// Beyond this, the cache is cleared.
const MAX_CACHED: usize = 64;
/// Ten thousand definitions take longer.
const PATIENCE: Duration = Duration::from_millis(100);
const MAX_VALUE_CHARS: usize = 4_000;

#[derive(Deserialize)]
pub(super) struct Decision {
    /// `lock`, `approve`, `approve_all` or `unlock`.
    decision: String,
    /// The tool or prompt to approve, as clients call it.
    #[serde(default)]
    name: String,
    /// Stands for the definitions that the person saw.
    #[serde(default)]
    seen: String,
}

/// What a page shows of the lock of a server.
struct LockSummary {
    is_locked: bool,
    /// The number of listed definitions.
    definitions: usize,
    /// Suspicious text in the definitions that a lock would approve.
    marks: Vec<(String, String)>,
    seen: String,
    drift: Vec<DriftRow>,
}

/// The summaries of servers that were looked at. Reading thousands of definitions takes long, and
/// an open page is refreshed every second.
#[derive(Default)]
pub(in crate::pages) struct LockSummaries {
    cached: Mutex<HashMap<ServerName, (ListedState, Arc<LockSummary>)>>,
    /// Held by the one task that reads definitions.
    making: tokio::sync::Mutex<()>,
    version: AtomicU64,
}

/// What a summary was made from.
struct ListedState {
    gateway: Weak<Gateway>,
    listing: Weak<Listing>,
}

impl LockSummary {
    fn new(lock: ServerLock) -> Self {
        let marks = match lock.is_locked {
            true => Vec::new(),
            false => lock.find_marks(),
        };
        let marks = marks.iter().take(MAX_DIFFERENCES);
        Self {
            is_locked: lock.is_locked,
            definitions: lock.definitions().len(),
            marks: marks
                .map(|(name, mark)| ((*name).to_owned(), mark.to_string()))
                .collect(),
            seen: lock.seen(),
            drift: lock.drift,
        }
    }
}

impl LockSummaries {
    /// Returns a number that changes with every summary.
    pub(in crate::pages) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn find(&self, name: &ServerName, state: &ListedState) -> Option<Arc<LockSummary>> {
        let cached = lock(&self.cached);
        let (cached_state, summary) = cached.get(name)?;
        let is_current = cached_state.gateway.ptr_eq(&state.gateway)
            && cached_state.listing.ptr_eq(&state.listing);
        is_current.then(|| summary.clone())
    }

    fn insert(&self, name: &ServerName, state: ListedState, summary: Arc<LockSummary>) {
        let mut cached = lock(&self.cached);
        if cached.len() >= MAX_CACHED {
            cached.clear();
        }
        cached.insert(name.clone(), (state, summary));
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

impl ListedState {
    fn read(pages: &Pages, name: &ServerName) -> Self {
        let gateway = pages.gateway();
        let server = gateway.upstreams.get(name);
        let listing = server.and_then(|server| server.listing());
        Self {
            listing: listing.map_or_else(Weak::new, |it| Arc::downgrade(&it)),
            gateway: Arc::downgrade(&gateway),
        }
    }
}

/// Returns nothing if reading the definitions takes longer; then it goes on in the background.
async fn read_summary(
    pages: &Pages,
    name: &ServerName,
) -> anyhow::Result<Option<Arc<LockSummary>>> {
    if let Some(known) = pages.locks.find(name, &ListedState::read(pages, name)) {
        return Ok(Some(known));
    }
    let (pages, name) = (pages.clone(), name.clone());
    let runtime = Handle::current();
    let reading = tokio::task::spawn_blocking(move || {
        runtime.block_on(async { make_summary(&pages, &name).await })
    });
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(made) => Ok(Some(made??)),
        Err(_) => Ok(None),
    }
}

async fn make_summary(pages: &Pages, name: &ServerName) -> anyhow::Result<Arc<LockSummary>> {
    let _alone = pages.locks.making.lock().await;
    let state = ListedState::read(pages, name);
    if let Some(known) = pages.locks.find(name, &state) {
        return Ok(known);
    }
    let summary = Arc::new(LockSummary::new(read_lock(pages, name).await?));
    pages.locks.insert(name, state, summary.clone());
    Ok(summary)
}

async fn read_lock(pages: &Pages, name: &ServerName) -> anyhow::Result<ServerLock> {
    let gateway = pages.gateway();
    let (known, state) = (pages.app.known_definitions(name), &gateway.lock.state);
    ServerLock::read(name, known, state, &gateway.services.store).await
}

pub(super) async fn decide(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
    Form(form): Form<Decision>,
) -> Response {
    let outcome = async {
        let gateway = pages.gateway();
        let server_lock = read_lock(&pages, &name).await?;
        let decision = match form.decision.as_str() {
            "lock" if !server_lock.is_locked => LockDecision::Lock,
            "approve" => LockDecision::Approve(Some(&form.name)),
            "approve_all" => LockDecision::Approve(None),
            "unlock" => LockDecision::Unlock,
            _ => bail!("`{name}` is locked already"),
        };
        if !matches!(decision, LockDecision::Unlock) && form.seen != server_lock.seen() {
            bail!("the server has changed its definitions since you saw them; review them again");
        }
        let path = pages
            .source
            .lock_file()
            .context("there is no home for a lock file")?;
        let event = visitor.change_event(Action::LockChanged, &path.display().to_string(), None);
        let (state, store) = (&gateway.lock.state, &gateway.services.store);
        let done = server_lock
            .decide(decision, state, &path, store, event)
            .await?;
        Ok(format!(
            "{done} The running gateway loads it within a second."
        ))
    };
    visitor.redirect(&format!("{}#lock", server_path(&name)), outcome.await)
}

pub(super) async fn render(pages: &Pages, name: &ServerName, visitor: &Visitor) -> Markup {
    let gateway = pages.gateway();
    match read_summary(pages, name).await {
        Ok(None) => html! { p.muted role="status" { "The definitions are being read." } },
        Ok(Some(lock)) if lock.is_locked => render_locked(&lock, name, visitor),
        Ok(Some(lock)) => {
            let is_first = matches!(gateway.lock.state, LockState::Absent);
            render_unlocked(&lock, name, is_first, visitor)
        }
        Err(error) => render_failure(&CommandFailure::from_error(&error)),
    }
}

fn render_unlocked(
    lock: &LockSummary,
    name: &ServerName,
    is_first: bool,
    visitor: &Visitor,
) -> Markup {
    let LockSummary { marks, seen, .. } = lock;
    html! {
        p { (pill(Tone::Neutral, "not locked"))
            " Changes of its tools reach clients at once. A lock approves the definitions of now, and hides later "
            "changes until you approve them."
            @if is_first { " It is stored in kitbag.lock, next to your configuration." }
        }
        @if !marks.is_empty() {
            div.notice.warn {
                p { strong { "Read these definitions before you approve them:" } }
                ul { @for (definition, mark) in marks { li { (code_text(definition)) ": " (text(mark)) } } }
            }
        }
        @if lock.definitions > 0 {
            (action_button(visitor, &change_path(name, "lock"), "Lock this server", &[("decision", "lock"), ("seen", seen)]))
        }
    }
}

fn render_locked(lock: &LockSummary, name: &ServerName, visitor: &Visitor) -> Markup {
    let (action, seen, drifted) = (change_path(name, "lock"), &lock.seen, lock.drift.len());
    html! {
        @if drifted == 0 {
            p { (pill(Tone::Good, "locked")) " All " (pluralize(lock.definitions, "definition")) " are as approved." }
        } @else {
            p { (pill(Tone::Warn, "drift")) " " (pluralize(drifted, "definition"))
                " differ from what was approved. New and changed ones are hidden from clients until you approve them." }
            @for row in lock.drift.iter().take(MAX_DIFFERENCES) { (render_drift(row, name, seen, visitor)) }
            @if drifted > MAX_DIFFERENCES {
                p { "The others: " code { "kitbag lock diff " (name) } }
            }
            @if drifted > 1 {
                (confirmed_button(visitor, &action, "Approve all", &format!("Approve all {drifted} differences of `{name}`?"),
                    &[("decision", "approve_all"), ("seen", seen)]))
                " "
            }
        }
        (confirmed_button(visitor, &action, "Unlock",
            "Later changes of its definitions will reach clients at once.", &[("decision", "unlock")]))
    }
}

fn render_drift(row: &DriftRow, server: &ServerName, seen: &str, visitor: &Visitor) -> Markup {
    html! {
        div.card {
            h3 { (code_text(&row.name)) " " span.muted { (row.drifted.kind.as_str()) ": " (text(&row.describe())) } }
            @for mark in &row.marks {
                p { (pill(Tone::Warn, "review")) " " (text(&mark.to_string())) }
            }
            @if let Some(remark) = row.remark { p { (remark) } }
            @match &row.difference {
                Some(DefinitionDifference::Changes(changes)) => {
                    @for change in changes { (render_change(change)) }
                }
                Some(DefinitionDifference::Whole(whole)) => details {
                    summary { "The new definition" }
                    (block_text(&serde_json::to_string_pretty(whole).unwrap_or_default()))
                },
                None => {}
            }
            p { (action_button(visitor, &change_path(server, "lock"), "Approve",
                &[("decision", "approve"), ("name", &row.name), ("seen", seen)])) }
        }
    }
}

fn render_change(change: &MemberChange) -> Markup {
    html! {
        p { (code_text(&change.path)) }
        pre {
            @if let Some(old) = &change.old { del { (text(&value_text(old))) } }
            @if let Some(new) = &change.new { ins { (text(&value_text(new))) } }
        }
    }
}

fn value_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}… (truncated)", &text[..end]),
        None => text,
    }
}
