//! `kitbag install` and `kitbag uninstall`: add Kitbag to a client's configuration or remove it.

mod edits;
mod entry;
mod report;

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
use super::import::{confirm_project_servers, warn_about_problems};
use crate::import::{FlaggedServers, ImportAction, ImportPlan, ImportRow, client_directories};
use crate::trail;
use edits::{InstallEdits, RemovedEntries, WantedHook, remove_entries};
pub(crate) use entry::quote_for_shell;
use entry::{hook_command, http_entry, launch_entry};
use report::{InstallReport, LeftServers, format_install};

/// Add Kitbag to the configuration of an MCP client.
///
/// Comments, order and other entries in the file are preserved. The original file is kept next to
/// it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InstallArguments {
    #[command(flatten)]
    target: InstallTarget,
    /// Import the client's servers and disable them there, so that the client uses them through
    /// Kitbag.
    #[arg(long)]
    move_servers: bool,
    /// Connect to a running `kitbag serve` instead of launching one.
    #[arg(long)]
    http: bool,
    /// Send each prompt to the running gateway, which suggests tools for it.
    #[arg(long, conflicts_with = "project")]
    hook: bool,
    /// Import servers from project files without asking.
    #[arg(long, short)]
    yes: bool,
}

/// Remove Kitbag from the configuration of an MCP client.
///
/// A file that has not changed since the installation is restored exactly. Moved servers are enabled
/// again in the client, and stay in Kitbag.
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
    /// Client: cursor, vscode, claude-code, …
    #[arg(long, value_name = "CLIENT", add = ArgValueCandidates::new(clients))]
    client: Client,
    /// Use the project file in the current directory.
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
    let client_file = arguments.target.client_file(invocation)?;
    let directories = client_directories(&invocation.source.environment)?;
    advise_edit(check_editable(&client_file, &directories))?;
    let config = invocation.config()?;
    let entry = if arguments.http {
        http_entry(&config)?
    } else {
        launch_entry(&client_file, &config, invocation)?
    };
    let wanted = WantedHook::for_client(&client_file, &directories, arguments.hook)?;
    if let Some(wanted) = &wanted {
        advise_edit(wanted.hook.check_editable(&directories))?;
    }
    let hook = wanted.as_ref();
    let hook = hook.map(|it| hook_command(it.hook, &config, invocation));
    let hook = hook.transpose()?;
    let mut found = open(&client_file, &directories);
    if client_file.scope == Scope::User {
        found.retain(|found| found.project.is_none());
    }
    found.truncate(1);
    check_vacant(&found, &client_file)?;
    let mut direct: Vec<String> = found.iter().flat_map(enabled_names).collect();
    let (servers, problems, left) = if arguments.move_servers {
        let (servers, problems) = arguments.import_servers(found, invocation).await?;
        (servers, problems, find_unmoved(&client_file, &directories))
    } else {
        (Vec::new(), Vec::new(), Vec::new())
    };
    let imported = servers
        .iter()
        .filter(|row| row.action != ImportAction::Refused)
        .flat_map(|row| row.from.iter().map(|origin| origin.name.clone()));
    let moved: Vec<String> = imported.filter(|name| direct.contains(name)).collect();
    direct.retain(|name| !moved.contains(name));
    let edits = InstallEdits {
        client_file: &client_file,
        directories: &directories,
        entry: &entry,
        moved: &moved,
        hook,
    };
    let installed = advise_edit(edits.apply())?;
    let report = InstallReport {
        client: client_file.client,
        changed: installed.changed || wanted.as_ref().is_some_and(|it| it.is_new),
        hook: wanted.map(|it| it.hook.path(&directories)),
        path: client_file.path,
        backup: installed.backup,
        moved,
        beside: direct,
        left,
        servers,
        problems,
    };
    warn_about_problems(&report.problems, invocation.output);
    invocation.show(&report, |report| {
        format_install(report, arguments.target.project)
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn uninstall(
    arguments: &UninstallArguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let client_file = arguments.target.client_file(invocation)?;
    let directories = client_directories(&invocation.source.environment)?;
    let RemovedEntries { hook, server } = advise_edit(remove_entries(&client_file, &directories))?;
    let (path, client) = (&client_file.path, client_file.client);
    let of_server = describe_removal(&server, path, "Kitbag", &backup_path(path));
    let of_hook = client.prompt_hook().ok().and_then(|it| {
        let path = it.path(&directories);
        describe_removal(&hook, &path, "the hook", &it.backup(&directories))
    });
    let report: Vec<&str> = [&of_server, &of_hook]
        .into_iter()
        .flatten()
        .map(|(_, report)| report.as_str())
        .collect();
    if report.is_empty() {
        return Err(anyhow!("Kitbag is not in {}", path.display()))
            .advise(|| format!("add it: kitbag install --client {}", client.name()));
    }
    let [state, hook] = [&of_server, &of_hook].map(|left| left.as_ref().map(|(state, _)| state));
    let result = json!({ "client": client, "path": path, "state": state, "hook": hook });
    let restart = format!(
        "{}.\nRestart {client} to apply the change.",
        report.join(".\n")
    );
    invocation.show(&result, |_| restart)?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the outcome of a removal: a word for programs and a sentence for people.
fn describe_removal(
    undone: &Uninstalled,
    path: &Path,
    what: &str,
    backup: &Path,
) -> Option<(&'static str, String)> {
    let file = path.display();
    Some(match undone {
        Uninstalled::NotInstalled => return None,
        Uninstalled::Empty => (
            "removed",
            format!("Removed {file}, which contained only {what}"),
        ),
        Uninstalled::Restored(_) => (
            "restored",
            format!("Restored {file} to its state before {what}"),
        ),
        Uninstalled::Removed(_) => ("edited", describe_restored(path, what, backup)),
    })
}

impl InstallTarget {
    fn client_file(&self, invocation: &Invocation) -> anyhow::Result<ClientFile> {
        let scope = if self.project {
            Scope::Project
        } else {
            Scope::User
        };
        let client_file = self
            .client
            .file_to_edit(&client_directories(&invocation.source.environment)?, scope);
        client_file
            .ok_or_else(|| anyhow!("{} has no project configuration", self.client))
            .advise(|| {
                format!(
                    "omit --project: kitbag install --client {}",
                    self.client.name()
                )
            })
    }
}

impl InstallArguments {
    /// Imports the client's servers. Servers from project files need confirmation.
    async fn import_servers(
        &self,
        found: Vec<ClientConfig>,
        invocation: &Invocation,
    ) -> anyhow::Result<(Vec<ImportRow>, Vec<FileProblem>)> {
        let mut plan = ImportPlan::build(found, &invocation.source, FlaggedServers::AsConfigured)
            .await
            .context("cannot import the servers")?;
        let command = format!("{} --yes", self.move_command());
        confirm_project_servers(&plan, self.yes, &command, invocation.output)?;
        plan.apply(&invocation.source, &trail::typed_verb()).await?;
        Ok((plan.rows, plan.problems))
    }

    /// Returns the command that also moves the servers.
    fn move_command(&self) -> String {
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

/// Rejects a file in which another server is named `kitbag`.
fn check_vacant(found: &[ClientConfig], client_file: &ClientFile) -> anyhow::Result<()> {
    let mut servers = found.iter().flat_map(|found| &found.servers);
    if servers.all(|server| server.name != NAME) {
        return Ok(());
    }
    let path = client_file.path.display();
    Err(anyhow!("{path} already has another server named `{NAME}`"))
        .advise(|| "rename it there, then retry".to_owned())
}

fn enabled_names(found: &ClientConfig) -> Vec<String> {
    found
        .servers
        .iter()
        .filter(|it| !it.disabled)
        .map(|it| it.name.clone())
        .collect()
}

/// Returns the client's servers in its other files and those for single projects.
fn find_unmoved(client_file: &ClientFile, directories: &ClientDirectories) -> Vec<LeftServers> {
    let others = find(directories, Some(client_file.client))
        .into_iter()
        .filter(|found| {
            found.path != client_file.path
                || (client_file.scope != Scope::Project && found.project.is_some())
        });
    let left = others.map(|found| LeftServers {
        servers: enabled_names(&found),
        project: found.project.filter(|_| found.scope != Scope::Project),
        path: found.path,
    });
    left.filter(|left| !left.servers.is_empty()).collect()
}

/// Attaches a remedy to a file error.
fn advise_edit<T>(outcome: Result<T, FileError>) -> anyhow::Result<T> {
    let advice = outcome.as_ref().err().map(find_remedy);
    outcome.advise(|| advice.unwrap_or_default())
}

fn find_remedy(error: &FileError) -> String {
    match error {
        FileError::Read { source, .. } if source.kind() == ErrorKind::InvalidData => {
            "save the file as UTF-8 and retry".to_owned()
        }
        FileError::Read { path, .. } => {
            format!("check who may read it: ls -l {}", path.display())
        }
        FileError::Write { path, .. } => {
            format!("check who may write it: ls -l {}", path.display())
        }
        FileError::LeavesProject { .. } => {
            "check the link's target; to add Kitbag to the project, replace the link with a file"
                .to_owned()
        }
        FileError::Edit {
            source: FileEditError::NoAddress { .. },
            ..
        } => "omit --http to let the client launch Kitbag".to_owned(),
        FileError::Edit { path, .. } => {
            format!("fix the file, or edit it by hand: {}", path.display())
        }
    }
}

/// Keeps the backup, since the file has changed since the installation.
fn describe_restored(path: &Path, what: &str, backup: &Path) -> String {
    let before = if backup.is_file() {
        format!("\nBackup: {}", backup.display())
    } else {
        String::new()
    };
    format!(
        "Removed {what} from {}; your later changes are kept{before}",
        path.display()
    )
}
