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
    /// The file with the hook for prompts, if that is in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hook: Option<PathBuf>,
    /// The servers that the client now reaches through Kitbag.
    pub(super) moved: Vec<String>,
    /// The servers that the client itself still uses.
    pub(super) beside: Vec<String>,
    /// The servers that the client itself still uses, since they stand elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left: Vec<LeftServers>,
    /// The servers that Kitbag took over for the installation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) servers: Vec<ImportRow>,
    /// The files that could not even be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<FileProblem>,
}

/// Servers of the client that stand in another file, or count in one project only.
#[derive(Debug, Serialize)]
pub(super) struct LeftServers {
    pub(super) path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<PathBuf>,
    pub(super) servers: Vec<String>,
}

pub(super) fn for_people(told: &InstallReport, project: bool) -> String {
    let InstallReport {
        client,
        changed,
        servers,
        ..
    } = told;
    let name = client.name();
    let flag = if project { " --project" } else { "" };
    let mut text = edited(told, project);
    text.push_str(&still_readable(told));
    text.push_str(&left_elsewhere(told));
    text.push_str(&staying(
        told,
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
        text.push_str(&hook_line(told));
    }
    if *changed {
        text.push_str(&format!("\nRestart {client}, so that it notices."));
    }
    text.push_str(&format!("\nUndo: kitbag uninstall --client {name}{flag}"));
    strip_controls(&text)
}

/// Returns the lines about the file that Kitbag went into.
fn edited(told: &InstallReport, project: bool) -> String {
    let (path, moved) = (told.path.display(), &told.moved);
    let mut text = match told.changed {
        true => format!("Kitbag is in {path}"),
        false => format!("Kitbag was in {path} already"),
    };
    if project {
        let servers = match moved.is_empty() {
            true => "",
            false => ", and these servers in it",
        };
        text.push_str(&format!(
            "\nEveryone who works on the project needs `kitbag` on the PATH{servers}."
        ));
    }
    if let Some(backup) = &told.backup {
        text.push_str(&format!("\nAs it was before: {}", backup.display()));
    }
    if !moved.is_empty() {
        let (number, names) = (pluralize(moved.len(), "server"), moved.join(", "));
        let client = told.client;
        text.push_str(&format!(
            "\nBehind Kitbag, switched off in {client}: {number} ({names})"
        ));
    }
    text
}

/// The line about the hook for prompts: its place, or the command for it.
fn hook_line(told: &InstallReport) -> String {
    let Ok(hook) = told.client.prompt_hook() else {
        return String::new();
    };
    let name = hook.client.name();
    match &told.hook {
        Some(path) => {
            let trust = hook.trust.map(|it| format!("\n{it}")).unwrap_or_default();
            format!(
                "\nEach prompt goes to the gateway that runs: {}{trust}",
                path.display()
            )
        }
        None => format!("\nTo find tools for each prompt: kitbag install --client {name} --hook"),
    }
}

/// A secret that was typed is encrypted here, and yet still stands in the client's file.
fn still_readable(told: &InstallReport) -> String {
    let secrets: usize = told.servers.iter().map(|row| row.secrets.len()).sum();
    if secrets == 0 {
        return String::new();
    }
    let (number, path) = (pluralize(secrets, "typed secret"), told.path.display());
    let (is, stands) = if secrets == 1 {
        ("is", "stands")
    } else {
        ("are", "stand")
    };
    let backup = told
        .backup
        .as_ref()
        .map(|backup| format!(" and {}", backup.display()))
        .unwrap_or_default();
    format!(
        "\n{number} {is} encrypted in the store now, and still {stands} readable in {path}{backup}, for the way \
         back.\nWhen you want none: delete the switched-off entries there, and the copy."
    )
}

/// Returns the lines about the servers that `--move-servers` did not move.
fn left_elsewhere(told: &InstallReport) -> String {
    told.left.iter().map(LeftServers::line).collect()
}

impl LeftServers {
    fn line(&self) -> String {
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
        format!("\nLeft where they are: {number} ({names}) in {path}{project}")
    }
}

/// The servers that the client still reaches by itself, and why.
fn staying(told: &InstallReport, moving: &str) -> String {
    let refused = told
        .servers
        .iter()
        .filter(|row| row.action == ImportAction::Refused);
    let mut text = String::new();
    for row in refused {
        let reason = row.reason.as_deref().unwrap_or_default();
        text.push_str(&format!(
            "\nStays in {}, since Kitbag cannot take it: {} ({reason})",
            told.client, row.name
        ));
    }
    if text.is_empty() && !told.beside.is_empty() {
        let (servers, names) = (
            pluralize(told.beside.len(), "server"),
            told.beside.join(", "),
        );
        text = format!("\nBeside Kitbag: {servers} ({names}). Move them behind it:\n  {moving}");
    }
    text
}
