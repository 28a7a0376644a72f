//! `kitbag lock`: approves definitions of servers, and shows drift from them.
//!
//! - `listed`: the current definitions of servers, compared with the approved ones
//! - `row`: one difference; `record`: stores a decision
//! - [`server_lock`]: the lock of one server, for its page

mod listed;
mod record;
pub(crate) mod row;
pub(crate) mod server_lock;

use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use kitbag_config::{Config, LockState};
use kitbag_domain::{DefinitionKind, ServerName};
use kitbag_lockfile::{ListedDefinition, LockFile, LockedServer, find_marks};
use serde_json::json;

use self::listed::{ListedServers, find_servers};
use self::record::store_decision;
use self::row::{DriftRow, LockedRow};
use super::completions::servers;
use super::failure::Advise as _;
use super::gateway::JoinChoice;
use super::open_store::open_store;
use super::output::{Output, format_table, pluralize};
use super::{Invocation, to_exit_code};

/// Approve the definitions of servers and block later changes.
///
/// Writes kitbag.lock next to the configuration, with a hash of each tool, prompt, resource template
/// and skill that your servers list now. What a server adds, changes or renames later is hidden from
/// all clients until you approve it. What is locked already is left as it is.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Lock only these servers.
    #[arg(value_name = "SERVER", add = ArgValueCandidates::new(servers))]
    servers: Vec<ServerName>,
    /// Lock the resources that they list, too.
    #[arg(long)]
    resources: bool,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag lock
  kitbag lock github
  kitbag lock --resources docs
  kitbag lock status
  kitbag lock diff github__create_issue
  kitbag lock approve github__create_issue
  kitbag lock remove github

NAME is a tool or prompt as clients call it, SERVER/URI for anything else, or a
server for all it offers.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// List drift from the approved definitions; exit with 1 if there is any.
    #[command(after_help = "Examples:\n  kitbag lock status\n  kitbag lock status --json")]
    Status {
        #[command(flatten)]
        join: JoinChoice,
    },
    /// Show differences from the approved definitions.
    #[command(
        after_help = "Examples:\n  kitbag lock diff\n  kitbag lock diff github__create_issue"
    )]
    Diff {
        /// Only these definitions or servers.
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(servers))]
        names: Vec<String>,
        #[command(flatten)]
        join: JoinChoice,
    },
    /// Approve changed definitions, so that clients can use them again.
    #[command(
        after_help = "Examples:\n  kitbag lock approve github__create_issue\n  kitbag lock approve github\n  \
                      kitbag lock approve --all"
    )]
    Approve {
        /// Definitions or servers to approve.
        #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all",
              add = ArgValueCandidates::new(servers))]
        names: Vec<String>,
        /// Approve everything that has changed.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        join: JoinChoice,
    },
    /// Remove servers from the lock file; their definitions are no longer checked.
    #[command(
        visible_alias = "rm",
        after_help = "Examples:\n  kitbag lock remove github"
    )]
    Remove {
        #[arg(value_name = "SERVER", required = true, add = ArgValueCandidates::new(servers))]
        servers: Vec<ServerName>,
    },
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    match arguments.verb {
        None => lock(&arguments, &config, invocation).await,
        Some(Verb::Status { join }) => status(join, &config, invocation).await,
        Some(Verb::Diff { names, join }) => diff(&names, join, &config, invocation).await,
        Some(Verb::Approve { names, join, .. }) => approve(&names, join, &config, invocation).await,
        Some(Verb::Remove { servers }) => remove(&servers, &config, invocation).await,
    }
}

async fn lock(
    arguments: &Arguments,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let mut file = match &config.lock.state {
        LockState::Absent => LockFile::default(),
        _ => load_lock_file(config)?.clone(),
    };
    let servers = listed::servers_to_lock(&arguments.servers, config)?;
    let listed = ListedServers::fetch(servers, arguments.join, config, invocation).await?;
    let (mut rows, mut changed) = (Vec::new(), Vec::new());
    for (server, listed) in &listed.listed {
        let row = lock_server(server, listed, arguments.resources, &mut file);
        if !row.newly_locked.is_empty() {
            changed.push(server.to_string());
            warn_of_marks(server, listed, &row.newly_locked, invocation.output);
        }
        rows.push(row.to_json(server, &file.servers[server]));
    }
    let approved = listed.approved_definitions(&file);
    let path = store_decision(&file, approved, "locked", &changed, config, invocation).await?;
    let drifted = rows.iter().any(|row| row["differ"] != 0);
    invocation.show(&rows, |rows| {
        let heads = [
            "SERVER",
            "TOOLS",
            "PROMPTS",
            "TEMPLATES",
            "SKILLS",
            "RESOURCES",
            "STATE",
        ];
        format_table(heads, rows.iter().map(row::locked_cells))
    })?;
    invocation.note(&format!(
        "Written to {}. To check for changes later: kitbag lock status",
        path.display()
    ));
    Ok(to_exit_code(!drifted && listed.is_complete))
}

/// Locks what is not locked yet, and approves no change of the rest.
fn lock_server(
    server: &ServerName,
    listed: &[ListedDefinition],
    resources: bool,
    file: &mut LockFile,
) -> LockedRow {
    let is_wanted = |kind: &DefinitionKind| resources || *kind != DefinitionKind::Resource;
    let kinds = DefinitionKind::ALL.into_iter().filter(is_wanted);
    let Some(locked) = file.servers.get_mut(server) else {
        let newly_locked: Vec<_> = kinds.collect();
        let locked = LockedServer::from_listed(&newly_locked, listed);
        file.servers.insert(server.clone(), locked);
        return LockedRow {
            added: true,
            differ: 0,
            newly_locked,
        };
    };
    LockedRow {
        added: false,
        differ: locked.detect_drift(listed).len(),
        newly_locked: kinds
            .filter(|kind| locked.lock_kind(*kind, listed))
            .collect(),
    }
}

/// Warns of suspicious text in definitions that are approved unseen.
fn warn_of_marks(
    server: &ServerName,
    listed: &[ListedDefinition],
    kinds: &[DefinitionKind],
    output: Output,
) {
    for definition in listed.iter().filter(|it| kinds.contains(&it.kind)) {
        for mark in find_marks(&definition.text) {
            let name = row::definition_name(definition.kind, server, &definition.name);
            output.warn(&format!("review `{name}`: {mark}"));
        }
    }
}

async fn status(
    join: JoinChoice,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let file = load_lock_file(config)?;
    let servers = find_servers(&[], file, config)?;
    let listed = ListedServers::fetch(servers, join, config, invocation).await?;
    let rows = listed.detect_drift(file, &[])?;
    let unlocked = listed::unlocked_servers(file, config);
    let partly_locked = listed::unlocked_kinds(file, config);
    let status = json!({
        "drift": rows,
        "locked": file.servers.keys().collect::<Vec<_>>(),
        "not_locked": unlocked,
        "partly_locked": partly_locked,
        "not_asked": listed.unanswered,
    });
    if rows.is_empty() {
        let servers = pluralize(listed.listed.len(), "server");
        let text = format!("{servers} checked: no drift");
        invocation.show(&status, |_| text)?;
    } else {
        invocation.show(&status, |_| {
            let heads = ["NAME", "KIND", "DRIFT"];
            format_table(heads, rows.iter().map(DriftRow::cells))
        })?;
        let note = "Show differences: kitbag lock diff\nApprove them: kitbag lock approve NAME…";
        invocation.note(note);
    }
    if !unlocked.is_empty() {
        let names: Vec<_> = unlocked.iter().map(ServerName::as_str).collect();
        let note = format!("Not locked: {}. Lock them: kitbag lock", names.join(", "));
        invocation.note(&note);
    }
    if !partly_locked.is_empty() {
        let names: Vec<_> = partly_locked.keys().map(|it| it.as_str()).collect();
        let note = format!(
            "Resource templates and skills are not locked: {}. Lock them: kitbag lock",
            names.join(", ")
        );
        invocation.note(&note);
    }
    Ok(to_exit_code(rows.is_empty() && listed.is_complete))
}

async fn diff(
    names: &[String],
    join: JoinChoice,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let file = load_lock_file(config)?;
    let servers = find_servers(names, file, config)?;
    let listed = ListedServers::fetch(servers, join, config, invocation).await?;
    let mut rows = listed.detect_drift(file, names)?;
    explain_rows(&listed, &mut rows, file, config).await?;
    if rows.is_empty() {
        invocation.note("No drift.");
    }
    if !rows.is_empty() || invocation.output.json {
        invocation.show(&rows, |rows| row::format_rows(rows))?;
    }
    Ok(to_exit_code(listed.is_complete))
}

async fn approve(
    names: &[String],
    join: JoinChoice,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let before = load_lock_file(config)?;
    let servers = find_servers(names, before, config)?;
    let listed = ListedServers::fetch(servers, join, config, invocation).await?;
    let mut rows = listed.detect_drift(before, names)?;
    explain_rows(&listed, &mut rows, before, config).await?;
    if rows.is_empty() {
        invocation.note("Nothing to approve: no drift.");
    }
    let mut file = before.clone();
    for row in &rows {
        let locked = file.servers.entry(row.server.clone()).or_default();
        locked.approve_drift(&row.drifted);
    }
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let approved = listed.approved_definitions(&file);
    let path = store_decision(&file, approved, "approved", &names, config, invocation).await?;
    if !rows.is_empty() || invocation.output.json {
        invocation.show(&rows, |rows| row::format_rows(rows))?;
        let definitions = pluralize(rows.len(), "definition");
        let note = format!("{definitions} approved in {}.", path.display());
        invocation.note(&note);
    }
    Ok(to_exit_code(listed.is_complete))
}

/// Adds the difference from the approved text to each row.
async fn explain_rows(
    listed: &ListedServers,
    rows: &mut [DriftRow],
    file: &LockFile,
    config: &Config,
) -> anyhow::Result<()> {
    let store = open_store(config, "cannot open the approved definitions").await?;
    let explained = listed.explain(rows, file, &store).await;
    store.close().await;
    explained
}

async fn remove(
    servers: &[ServerName],
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let mut file = load_lock_file(config)?.clone();
    for server in servers {
        file.servers
            .remove(server)
            .ok_or_else(|| listed::not_locked_error(server))?;
    }
    let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
    store_decision(&file, Vec::new(), "removed", &names, config, invocation).await?;
    invocation.show(&json!({ "removed": names }), |_| {
        format!("{}: no longer locked", names.join(", "))
    })?;
    Ok(to_exit_code(true))
}

/// Returns the lock file, or an error if it is absent or invalid.
fn load_lock_file(config: &Config) -> anyhow::Result<&LockFile> {
    load_lock_state(&config.lock.state)
}

fn load_lock_state(state: &LockState) -> anyhow::Result<&LockFile> {
    match state {
        LockState::Read(file) => Ok(file),
        LockState::Absent => Err(anyhow!("nothing is approved yet: no lock file"))
            .advise(|| "approve the current definitions: kitbag lock".to_owned()),
        LockState::Unreadable(error) => Err(error.clone())
            .context("cannot read the approved definitions")
            .advise(|| "fix the file, or remove it and run `kitbag lock`".to_owned()),
    }
}
