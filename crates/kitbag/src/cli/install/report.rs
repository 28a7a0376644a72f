//! The outcome of an installation, for people and for programs.

use std::path::PathBuf;

use kitbag_clients::{Client, FileProblem};
use serde::Serialize;

use crate::cli::import::format_missing;
use crate::cli::output::{pluralize, strip_controls};
use crate::import::{ImportAction, ImportRow};

#[derive(Debug, Serialize)]
pub(super) struct InstallReport {
    pub(super) client: Client,
    pub(super) path: PathBuf,
    pub(super) changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<PathBuf>,
    /// The file with the prompt hook, if installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hook: Option<PathBuf>,
    /// Servers that the client now uses through Kitbag.
    pub(super) moved: Vec<String>,
    /// Servers that the client still connects to directly.
    pub(super) beside: Vec<String>,
    /// Directly used servers in other files or projects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left: Vec<LeftServers>,
    /// Servers imported by the installation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) servers: Vec<ImportRow>,
    /// Files that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<FileProblem>,
}

/// Servers of the client in another file or in a single project.
#[derive(Debug, Serialize)]
pub(super) struct LeftServers {
    pub(super) path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<PathBuf>,
    pub(super) servers: Vec<String>,
}

pub(super) fn format_install(report: &InstallReport, project: bool) -> String {
    let InstallReport {
        client,
        changed,
        servers,
        ..
    } = report;
    let name = client.name();
    let flag = if project { " --project" } else { "" };
    let mut text = describe_edits(report, project);
    text.push_str(&describe_secrets(report));
    text.push_str(&list_unmoved(report));
    text.push_str(&describe_direct_servers(
        report,
        &format!("kitbag install --client {name}{flag} --move-servers"),
    ));
    let behind = servers
        .iter()
        .filter(|row| row.action != ImportAction::Refused && !row.disabled);
    let needed = format_missing(behind);
    if !needed.is_empty() {
        text.push_str(&format!("\n{needed}"));
    }
    if !project {
        text.push_str(&describe_hook(report));
    }
    if *changed {
        text.push_str(&format!("\nRestart {client} to apply the change."));
    }
    text.push_str(&format!("\nUndo: kitbag uninstall --client {name}{flag}"));
    strip_controls(&text)
}

/// Describes the edits in the client's file.
fn describe_edits(report: &InstallReport, project: bool) -> String {
    let (path, moved) = (report.path.display(), &report.moved);
    let mut text = match report.changed {
        true => format!("Added Kitbag to {path}"),
        false => format!("Kitbag is already in {path}"),
    };
    if project {
        let servers = match moved.is_empty() {
            true => "",
            false => " and these servers in Kitbag",
        };
        text.push_str(&format!(
            "\nEveryone on the project needs `kitbag` on the PATH{servers}."
        ));
    }
    if let Some(backup) = &report.backup {
        text.push_str(&format!("\nBackup: {}", backup.display()));
    }
    if !moved.is_empty() {
        let (number, names) = (pluralize(moved.len(), "server"), moved.join(", "));
        let client = report.client;
        text.push_str(&format!(
            "\nMoved to Kitbag and disabled in {client}: {number} ({names})"
        ));
    }
    text
}

/// Reports the file with the prompt hook, or the command that adds it.
fn describe_hook(report: &InstallReport) -> String {
    let Ok(hook) = report.client.prompt_hook() else {
        return String::new();
    };
    let name = hook.client.name();
    match &report.hook {
        Some(path) => {
            let trust = hook.trust.map(|it| format!("\n{it}")).unwrap_or_default();
            format!(
                "\nEach prompt is sent to the running gateway: {}{trust}",
                path.display()
            )
        }
        None => {
            format!("\nTo suggest tools for each prompt: kitbag install --client {name} --hook")
        }
    }
}

/// Reports secrets that are encrypted now but still readable in the client's file.
fn describe_secrets(report: &InstallReport) -> String {
    let secrets: usize = report.servers.iter().map(|row| row.secrets.len()).sum();
    if secrets == 0 {
        return String::new();
    }
    let (number, path) = (pluralize(secrets, "secret"), report.path.display());
    let is = if secrets == 1 { "is" } else { "are" };
    let backup = report
        .backup
        .as_ref()
        .map(|backup| format!(" and {}", backup.display()))
        .unwrap_or_default();
    format!(
        "\n{number} {is} encrypted in the store now, but still readable in {path}{backup}, so that you can undo \
         this.\nTo remove the plain text: delete the disabled entries and the backup."
    )
}

/// Lists the servers that `--move-servers` did not move.
fn list_unmoved(report: &InstallReport) -> String {
    report.left.iter().map(LeftServers::describe).collect()
}

impl LeftServers {
    fn describe(&self) -> String {
        let (number, names) = (
            pluralize(self.servers.len(), "server"),
            self.servers.join(", "),
        );
        let project = self
            .project
            .as_ref()
            .map(|it| format!(", for {}", it.display()))
            .unwrap_or_default();
        let path = self.path.display();
        format!("\nNot moved: {number} ({names}) in {path}{project}")
    }
}

/// Lists the servers that the client still connects to directly, with the reason.
fn describe_direct_servers(report: &InstallReport, command: &str) -> String {
    let refused = report
        .servers
        .iter()
        .filter(|row| row.action == ImportAction::Refused);
    let mut text = String::new();
    for row in refused {
        let reason = row.reason.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "\nStays in {}, because Kitbag cannot use it: {} ({reason})",
            report.client, row.name
        ));
    }
    if text.is_empty() && !report.beside.is_empty() {
        let (servers, names) = (
            pluralize(report.beside.len(), "server"),
            report.beside.join(", "),
        );
        text = format!(
            "\n{} still connects directly to {servers} ({names}). To move them to Kitbag:\n  {command}",
            report.client
        );
    }
    text
}
