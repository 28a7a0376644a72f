//! Stores a decision: the lock file, the approved texts, and an audit row.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kitbag_config::{Config, ConfigError, LockState};
use kitbag_domain::{Action, Event, ShortText};
use kitbag_gateway::catalog::drift::approved_definition;
use kitbag_lockfile::{ListedDefinition, LockFile};
use kitbag_store::Store;

use crate::cli::Invocation;
use crate::cli::open_store::open_store;
use crate::trail;

/// Stores the decision `what` on the subjects. Writes the lock file last: the gateway reloads it at
/// once, and needs the texts by then.
pub(super) async fn store_decision(
    file: &LockFile,
    approved: Vec<ListedDefinition>,
    what: &str,
    subjects: &[String],
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<PathBuf> {
    let path = invocation.source.lock_file().ok_or(ConfigError::NoHome)?;
    let store = open_store(config, "cannot store the approved definitions").await?;
    let changed = path.display().to_string();
    let event = trail::change_event(&trail::typed_verb(), Action::LockChanged, &changed);
    let event = with_decision(event, what, subjects);
    let stored = write_decision(file, approved, event, &config.lock.state, &path, &store).await;
    store.close().await;
    stored?;
    Ok(path)
}

pub(super) fn with_decision(event: Event, what: &str, subjects: &[String]) -> Event {
    let detail = format!("{what} {}", subjects.join(" "));
    Event {
        detail: Some(ShortText::truncate(&detail)),
        ..event
    }
}

/// Writes the lock file last: the gateway reloads it at once and needs the texts then.
pub(super) async fn write_decision(
    file: &LockFile,
    approved: Vec<ListedDefinition>,
    event: Event,
    before: &LockState,
    path: &Path,
    store: &Store,
) -> anyhow::Result<()> {
    let texts: Vec<_> = approved.into_iter().map(approved_definition).collect();
    store.put_approved_definitions(&texts).await?;
    if !matches!(before, LockState::Read(before) if before == file) {
        kitbag_clients::write(path, &file.to_text())
            .with_context(|| format!("cannot write {}", path.display()))?;
        trail::record_event(store, event).await?;
    }
    Ok(())
}
