//! `kitbag install` and `kitbag uninstall`: Kitbag in a client's own configuration, and out again.

mod door;
mod hooked;
mod told;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_clients::{
    Client, ClientConfig, ClientDirectories, ClientFile, FileEditError, FileError, FileProblem,
    NAME, Scope, Uninstalled, backup_path, check_editable, find, open,
};
use serde_json::json;

use super::Invocation;
use super::completions::clients;
use super::failure::Advise as _;
use super::import::{Agreement, confirm_project_servers, warn_about_problems};
use crate::import::{ImportAction, ImportPlan, ImportRow, client_directories};
use door::{hook_command, launched, running};
use hooked::{InstallEdits, TakenOut, WantedHook, take_out};
use told::{InstallReport, LeftServers, for_people};

/// Put Kitbag into the configuration of an MCP client.
///
/// Comments, order and everything else in the file stay as they are. The file as it was is kept
/// beside it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InstallArguments {
    #[command(flatten)]
    target: InstallTarget,
    /// Import the client's servers and switch them off there, so that it reaches them through
    /// Kitbag.
    #[arg(long)]
    move_servers: bool,
    /// Connect to a running `kitbag serve` instead of launching one.
    #[arg(long)]
    http: bool,
    /// Have each prompt handed to the gateway that runs, which names the tools for it.
    #[arg(long, conflicts_with = "project")]
    hook: bool,
    /// Take over what a project's file brings along without being asked.
    #[arg(long, short)]
    yes: bool,
}

/// Take Kitbag out of the configuration of an MCP client.
///
/// A file that was not changed since is exactly as it was before. Servers that Kitbag took over are
/// switched on again in the client, and stay in Kitbag.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kitbag uninstall --client cursor\n  kitbag uninstall --client vscode --project"
)]
pub struct UninstallArguments {
    #[command(flatten)]
    target: InstallTarget,
}

#[derive(Debug, Args)]
struct InstallTarget {
    /// The client: cursor, vscode, claude-code, …
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
  kitbag install --client claude-code --hook

Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini,
codex, cline, roo, kilo, continue, goose, opencode, lm-studio.";

pub(super) async fn install(
    arguments: InstallArguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let spot = arguments.target.spot(invocation)?;
    let places = client_directories(&invocation.at.environment)?;
    edited(check_editable(&spot, &places))?;
    let config = invocation.config()?;
    let door = if arguments.http {
        running(&config)?
    } else {
        launched(&spot, &config, invocation)?
    };
    let wanted = WantedHook::of(&spot, &places, arguments.hook)?;
    if let Some(wanted) = &wanted {
        edited(wanted.hook.check_editable(&places))?;
    }
    let hook = wanted.as_ref();
    let hook = hook.map(|it| hook_command(it.hook, &config, invocation));
    let hook = hook.transpose()?;
    let found = theirs(&spot, invocation)?;
    check_vacant(&found, &spot)?;
    let mut beside: Vec<String> = found.iter().flat_map(switched_on).collect();
    let (servers, problems, left) = if arguments.move_servers {
        let (servers, problems) = arguments.take_over(found, invocation).await?;
        (servers, problems, left_behind(&spot, &places))
    } else {
        (Vec::new(), Vec::new(), Vec::new())
    };
    let moved: Vec<String> = moved(&servers)
        .filter(|name| beside.contains(name))
        .collect();
    beside.retain(|name| !moved.contains(name));
    let edits = InstallEdits {
        spot: &spot,
        places: &places,
        entry: &door,
        moved: &moved,
        hook,
    };
    let installed = edited(edits.carry_out())?;
    let told = InstallReport {
        client: spot.client,
        changed: installed.changed || wanted.as_ref().is_some_and(|it| it.is_new),
        hook: wanted.map(|it| it.hook.path(&places)),
        path: spot.path,
        backup: installed.backup,
        moved,
        beside,
        left,
        servers,
        problems,
    };
    warn_about_problems(&told.problems, invocation.output);
    invocation
        .output
        .show(&told, |told| for_people(told, arguments.target.project))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn uninstall(
    arguments: &UninstallArguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let spot = arguments.target.spot(invocation)?;
    let places = client_directories(&invocation.at.environment)?;
    let TakenOut { hook, server } = edited(take_out(&spot, &places))?;
    let (path, client) = (&spot.path, spot.client);
    let of_server = left(&server, path, "Kitbag", &backup_path(path));
    let of_hook = client.prompt_hook().ok().and_then(|it| {
        let path = it.path(&places);
        left(&hook, &path, "the hook", &it.backup(&places))
    });
    let told: Vec<&str> = [&of_server, &of_hook]
        .into_iter()
        .flatten()
        .map(|(_, told)| told.as_str())
        .collect();
    if told.is_empty() {
        return Err(anyhow!("Kitbag is not in {}", path.display()))
            .advise(|| format!("put it in: kitbag install --client {}", client.name()));
    }
    let [state, hook] = [&of_server, &of_hook].map(|left| left.as_ref().map(|(state, _)| state));
    let result = json!({ "client": client, "path": path, "state": state, "hook": hook });
    let restart = format!(
        "{}.\nRestart {client}, so that it notices.",
        told.join(".\n")
    );
    invocation.output.show(&result, |_| restart)?;
    Ok(ExitCode::SUCCESS)
}

/// The state of a file without something of ours, in a word for programs and a sentence for people.
fn left(
    undone: &Uninstalled,
    path: &Path,
    what: &str,
    backup: &Path,
) -> Option<(&'static str, String)> {
    let file = path.display();
    Some(match undone {
        Uninstalled::NotThere => return None,
        Uninstalled::Nothing => (
            "removed",
            format!("Removed {file}, which held nothing but {what}"),
        ),
        Uninstalled::Restored(_) => ("restored", format!("{file} is as it was before {what}")),
        Uninstalled::Removed(_) => ("edited", taken_out(path, what, backup)),
    })
}

impl InstallTarget {
    fn spot(&self, invocation: &Invocation) -> anyhow::Result<ClientFile> {
        let scope = if self.project {
            Scope::Project
        } else {
            Scope::User
        };
        let spot = self
            .client
            .file_to_edit(&client_directories(&invocation.at.environment)?, scope);
        spot.ok_or_else(|| {
            anyhow!(
                "{} has no configuration of its own for a project",
                self.client
            )
        })
        .advise(|| {
            format!(
                "leave out --project: kitbag install --client {}",
                self.client.name()
            )
        })
    }
}

impl InstallArguments {
    /// Imports the servers that the client has, once the person agrees to those that came along
    /// with a project.
    async fn take_over(
        &self,
        found: Vec<ClientConfig>,
        invocation: &Invocation,
    ) -> anyhow::Result<(Vec<ImportRow>, Vec<FileProblem>)> {
        let mut plan = ImportPlan::build(found, &invocation.at)
            .await
            .context("the servers cannot be taken over")?;
        let agreement = Agreement {
            yes: self.yes,
            command: &format!("{} --yes", self.moving()),
        };
        confirm_project_servers(&plan, agreement, invocation.output)?;
        plan.apply(&invocation.at).await?;
        Ok((plan.rows, plan.problems))
    }

    /// The command that also moves the servers.
    fn moving(&self) -> String {
        let flag = if self.target.project {
            " --project"
        } else {
            ""
        };
        format!(
            "kitbag install --client {}{flag} --move-servers",
            self.target.client.name()
        )
    }
}

/// Refuses a file in which another server has our name.
fn check_vacant(found: &[ClientConfig], spot: &ClientFile) -> anyhow::Result<()> {
    let mut servers = found.iter().flat_map(|found| &found.servers);
    if servers.all(|server| server.name != NAME) {
        return Ok(());
    }
    let path = spot.path.display();
    Err(anyhow!(
        "{path} has a server `{NAME}` that is something else"
    ))
    .advise(|| "give that one another name there, then try again".to_owned())
}

fn switched_on(found: &ClientConfig) -> Vec<String> {
    found
        .servers
        .iter()
        .filter(|it| !it.disabled)
        .map(|it| it.name.clone())
        .collect()
}

/// Returns the servers that the client has besides: those in its other files, and those that it
/// keeps for single projects.
fn left_behind(spot: &ClientFile, places: &ClientDirectories) -> Vec<LeftServers> {
    let others = find(places, Some(spot.client))
        .into_iter()
        .filter(|found| !is_edited(found, spot));
    let left = others.map(|found| LeftServers {
        servers: switched_on(&found),
        project: found.project.filter(|_| found.scope != Scope::Project),
        path: found.path,
    });
    left.filter(|left| !left.servers.is_empty()).collect()
}

fn is_edited(found: &ClientConfig, spot: &ClientFile) -> bool {
    found.path == spot.path && (spot.scope == Scope::Project || found.project.is_none())
}

/// Returns the servers that stand in the file that Kitbag goes into.
fn theirs(spot: &ClientFile, invocation: &Invocation) -> anyhow::Result<Vec<ClientConfig>> {
    let mut found = open(spot, &client_directories(&invocation.at.environment)?);
    if spot.scope == Scope::User {
        found.retain(|found| found.project.is_none());
    }
    found.truncate(1);
    Ok(found)
}

/// Returns the names that the client has for the servers that Kitbag has now.
fn moved(servers: &[ImportRow]) -> impl Iterator<Item = String> {
    let with_us = servers
        .iter()
        .filter(|row| row.action != ImportAction::Refused);
    with_us
        .flat_map(|row| &row.from)
        .map(|origin| origin.name.clone())
}

/// Returns the outcome, or the error with advice.
fn edited<T>(outcome: Result<T, FileError>) -> anyhow::Result<T> {
    let advice = outcome.as_ref().err().map(way_on);
    outcome.advise(|| advice.unwrap_or_default())
}

fn way_on(error: &FileError) -> String {
    match error {
        FileError::Read { source, .. } if source.kind() == ErrorKind::InvalidData => {
            "save the file as UTF-8, and try again".to_owned()
        }
        FileError::Read { path, .. } => {
            format!("see which users may read it: ls -l {}", path.display())
        }
        FileError::Write { path, .. } => {
            format!("see which users may write there: ls -l {}", path.display())
        }
        FileError::LeavesProject { .. } => {
            "look where the link leads; replace it by a file if you want Kitbag in the project"
                .to_owned()
        }
        FileError::Edit {
            source: FileEditError::NoAddress { .. },
            ..
        } => "leave out --http, so that the client launches Kitbag by itself".to_owned(),
        FileError::Edit { path, .. } => {
            format!("mend the file, or edit it by hand: {}", path.display())
        }
    }
}

/// The former content of the file stays beside it, since the person may not want it any more.
fn taken_out(path: &Path, what: &str, backup: &Path) -> String {
    let before = if backup.is_file() {
        format!("\nAs it was before: {}", backup.display())
    } else {
        String::new()
    };
    format!(
        "Took {what} out of {}; your later changes stay{before}",
        path.display()
    )
}
