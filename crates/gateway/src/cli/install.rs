//! `kitbag install` and `kitbag uninstall`: Kitbag in a client's own configuration, and out again.

use std::env;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_desk::{
    Client, Door, EditError, FileError, Found, NAME, Problem, Scope, Spot, Undone, backup_of, install_into,
    open, uninstall_from,
};
use serde::Serialize;
use serde_json::json;

use super::Invocation;
use super::completions::clients;
use super::failure::Advise as _;
use super::import::{missing, warn_of};
use super::output::{count, printable};
use crate::config::Config;
use crate::import::{Action, Row, places, take_over};

/// Put Kitbag into the configuration of an MCP client.
///
/// Comments, order and everything else in the file stay as they are. The file as it was is kept
/// beside it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InstallArguments {
    #[command(flatten)]
    target: Target,
    /// Import the client's servers and switch them off there, so that it reaches them through
    /// Kitbag.
    #[arg(long)]
    move_servers: bool,
    /// Connect to a running `kitbag serve` instead of launching one.
    #[arg(long)]
    http: bool,
}

/// Take Kitbag out of the configuration of an MCP client.
///
/// A file that nobody has changed since is exactly as it was before. Servers that Kitbag took over
/// are switched on again in the client, and stay in Kitbag.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag uninstall --client cursor\n  kitbag uninstall --client vscode --project"
)]
pub struct UninstallArguments {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct Target {
    /// Which one: cursor, vscode, claude-code, …
    #[arg(long, value_name = "CLIENT", add = ArgValueCandidates::new(clients))]
    client: Client,
    /// In the project of the current directory only.
    #[arg(long)]
    project: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag install --client claude-code
  kitbag install --client cursor --move-servers
  kitbag install --client vscode --project
  kitbag install --client zed --http

Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini,
codex, cline, roo, kilo, continue, goose, opencode, lm-studio.";

#[derive(Debug, Serialize)]
struct Told {
    client: Client,
    path: PathBuf,
    changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<PathBuf>,
    /// Now reached through Kitbag.
    moved: Vec<String>,
    /// Still used by the client itself.
    beside: Vec<String>,
    /// What was taken over for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<Row>,
    /// What could not even be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
}

pub(super) async fn install(
    arguments: InstallArguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let spot = arguments.target.spot(invocation)?;
    let config = invocation.config()?;
    let door = if arguments.http { running(&config)? } else { launched(&spot, &config, invocation)? };
    let found = theirs(&spot, invocation)?;
    if found.iter().flat_map(|found| &found.servers).any(|server| server.name == NAME) {
        let path = spot.path.display();
        return Err(anyhow!("{path} has a server `{NAME}` that is something else"))
            .advise(|| "give that one another name there, then try again".to_owned());
    }
    let on =
        |found: &Found| found.servers.iter().filter(|it| !it.disabled).map(|it| it.name.clone()).collect();
    let mut beside: Vec<String> = found.iter().flat_map(|found| -> Vec<String> { on(found) }).collect();
    let (servers, problems) = if arguments.move_servers {
        let plan = take_over(found, &invocation.at).await?;
        (plan.rows, plan.problems)
    } else {
        (Vec::new(), Vec::new())
    };
    let moved: Vec<String> = moved(&servers).filter(|name| beside.contains(name)).collect();
    beside.retain(|name| !moved.contains(name));
    let installed = edited(install_into(&spot, &door, &moved))?;
    let told = Told {
        client: spot.client,
        path: spot.path,
        changed: installed.changed,
        backup: installed.backup,
        moved,
        beside,
        servers,
        problems,
    };
    warn_of(&told.problems, invocation.output);
    invocation.output.show(&told, |told| for_people(told, arguments.target.project))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn uninstall(arguments: &UninstallArguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let spot = arguments.target.spot(invocation)?;
    let undone = edited(uninstall_from(&spot))?;
    let path = spot.path.display();
    let (state, told) = match &undone {
        Undone::NotThere => {
            return Err(anyhow!("Kitbag is not in {path}"))
                .advise(|| format!("put it in: kitbag install --client {}", spot.client.name()));
        }
        Undone::Nothing => ("removed", format!("Removed {path}, which held nothing but Kitbag")),
        Undone::Restored(_) => ("restored", format!("{path} is as it was before Kitbag")),
        Undone::Removed(_) => ("edited", taken_out(&spot.path)),
    };
    let result = json!({ "client": spot.client, "path": spot.path, "state": state });
    let restart = format!("{told}.\nRestart {}, so that it notices.", spot.client);
    invocation.output.show(&result, |_| restart)?;
    Ok(ExitCode::SUCCESS)
}

impl Target {
    fn spot(&self, invocation: &Invocation) -> anyhow::Result<Spot> {
        let scope = if self.project { Scope::Project } else { Scope::User };
        let spot = self.client.file_to_edit(&places(&invocation.at.around)?, scope);
        spot.ok_or_else(|| anyhow!("{} has no configuration of its own for a project", self.client))
            .advise(|| format!("leave out --project: kitbag install --client {}", self.client.name()))
    }
}

/// The servers that stand where Kitbag goes.
fn theirs(spot: &Spot, invocation: &Invocation) -> anyhow::Result<Vec<Found>> {
    let mut found = open(spot, &places(&invocation.at.around)?);
    if spot.scope == Scope::User {
        found.retain(|found| found.project.is_none());
    }
    found.truncate(1);
    Ok(found)
}

/// What the client calls those that are with us now.
fn moved(servers: &[Row]) -> impl Iterator<Item = String> {
    let with_us = servers.iter().filter(|row| row.action != Action::Refused);
    with_us.flat_map(|row| &row.from).map(|origin| origin.name.clone())
}

/// Windows are opened with hardly a `PATH`, so a person's own file names the program in full; a
/// project's file goes to others, who have it elsewhere.
fn launched(spot: &Spot, config: &Config, invocation: &Invocation) -> anyhow::Result<Door> {
    let program = env::current_exe().context("the operating system does not say where Kitbag is")?;
    let command = if spot.scope == Scope::Project { "kitbag".to_owned() } else { text(&program) };
    let mut args = vec!["serve".to_owned(), "--stdio".to_owned()];
    let named = invocation.at.overrides.config.is_some();
    let here = |path: &&PathBuf| named || path.parent() == Some(&invocation.at.around.cwd);
    if let Some(path) = config.origin.as_ref().filter(here).filter(|_| spot.scope != Scope::Project) {
        args.extend(["--config".to_owned(), text(path)]);
    }
    if invocation.at.overrides.data_dir.is_some() {
        args.extend(["--data-dir".to_owned(), text(&config.data_dir)]);
    }
    Ok(Door::Stdio { command, args })
}

fn running(config: &Config) -> anyhow::Result<Door> {
    if !config.serve.keyless() {
        return Err(anyhow!(
            "connecting over HTTP needs a key, and a key does not belong into a readable file"
        ))
        .advise(|| "leave out --http, so that the client launches Kitbag by itself".to_owned());
    }
    Ok(Door::Http { url: format!("http://{}/mcp", config.serve.bind), headers: Vec::new() })
}

/// The outcome, or the error with a way on.
fn edited<T>(outcome: Result<T, FileError>) -> anyhow::Result<T> {
    let advice = outcome.as_ref().err().map(way_on);
    outcome.advise(|| advice.unwrap_or_default())
}

fn way_on(error: &FileError) -> String {
    match error {
        FileError::Read { source, .. } if source.kind() == ErrorKind::InvalidData => {
            "save the file as UTF-8, and try again".to_owned()
        }
        FileError::Read { path, .. } => format!("see who may read it: ls -l {}", path.display()),
        FileError::Write { path, .. } => format!("see who may write there: ls -l {}", path.display()),
        FileError::Edit { source: EditError::NoAddress { .. }, .. } => {
            "leave out --http, so that the client launches Kitbag by itself".to_owned()
        }
        FileError::Edit { path, .. } => format!("mend the file, or edit it by hand: {}", path.display()),
    }
}

/// What the file held before stays beside it, since it may not be wanted any more.
fn taken_out(path: &Path) -> String {
    let backup = backup_of(path);
    let before =
        if backup.is_file() { format!("\nAs it was before: {}", backup.display()) } else { String::new() };
    format!("Took Kitbag out of {}; your later changes stay{before}", path.display())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn for_people(told: &Told, project: bool) -> String {
    let Told { client, path, changed, backup, moved, servers, .. } = told;
    let name = client.name();
    let flag = if project { " --project" } else { "" };
    let mut text = match changed {
        true => format!("Kitbag is in {}", path.display()),
        false => format!("Kitbag was in {} already", path.display()),
    };
    if project {
        let servers = if moved.is_empty() { "" } else { ", and these servers in it" };
        text.push_str(&format!("\nWhoever works on the project needs `kitbag` on the PATH{servers}."));
    }
    if let Some(backup) = backup {
        text.push_str(&format!("\nAs it was before: {}", backup.display()));
    }
    if !moved.is_empty() {
        let number = count(moved.len(), "server");
        text.push_str(&format!("\nBehind Kitbag, switched off in {client}: {number} ({})", moved.join(", ")));
    }
    text.push_str(&staying(told, &format!("kitbag install --client {name}{flag} --move-servers")));
    let behind = servers.iter().filter(|row| row.action != Action::Refused && !row.disabled);
    let needed = missing(behind);
    if !needed.is_empty() {
        text.push_str(&format!("\n{needed}"));
    }
    if *changed {
        text.push_str(&format!("\nRestart {client}, so that it notices."));
    }
    text.push_str(&format!("\nUndo: kitbag uninstall --client {name}{flag}"));
    printable(&text)
}

/// The servers that the client still reaches by itself, and why.
fn staying(told: &Told, moving: &str) -> String {
    let refused = told.servers.iter().filter(|row| row.action == Action::Refused);
    let mut text = String::new();
    for row in refused {
        let reason = row.reason.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "\nStays in {}, since Kitbag cannot take it: {} ({reason})",
            told.client, row.name
        ));
    }
    if text.is_empty() && !told.beside.is_empty() {
        let (servers, names) = (count(told.beside.len(), "server"), told.beside.join(", "));
        text = format!("\nBeside Kitbag: {servers} ({names}). Move them behind it:\n  {moving}");
    }
    text
}
