//! `kitbag import`: copies servers from the clients' configuration into ours.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_clients::{Client, FileProblem, Scope, VariableSource, find};
use serde::Serialize;

use super::Invocation;
use super::completions::clients;
use super::confirm::{Confirmation, confirm};
use super::output::{Output, format_table, pluralize, strip_controls};
use crate::import::{
    FlaggedServers, ImportAction, ImportPlan, ImportRow, client_directories, split_by_project,
};
use crate::trail;

/// Import servers from your MCP clients.
///
/// Client files are only read. Secrets found in them go into the encrypted store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Import only from this client, such as cursor, vscode or claude-code.
    #[arg(long, value_name = "CLIENT", add = ArgValueCandidates::new(clients))]
    from: Option<Client>,
    /// Also import servers added there later, while Kitbag runs.
    #[arg(long)]
    follow: bool,
    /// Show what would be imported without changing anything.
    #[arg(long)]
    dry_run: bool,
    /// Import servers from project files without asking.
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag import --dry-run
  kitbag import
  kitbag import --from cursor --follow

Clients: claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini,
codex, cline, roo, kilo, continue, goose, opencode, lm-studio. Project files in
the current directory are read too; before their servers are imported, you see
the commands they run and confirm.";

#[derive(Debug, Serialize)]
struct ImportReport {
    /// True if anything was written.
    done: bool,
    config: PathBuf,
    /// Clients whose files are followed.
    follow: Vec<Client>,
    servers: Vec<ImportRow>,
    problems: Vec<FileProblem>,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let (at, directories) = (
        invocation.source.clone(),
        client_directories(&invocation.source.environment)?,
    );
    let (here, elsewhere) = split_by_project(find(&directories, arguments.from), &directories);
    let clients: Vec<Client> = here.iter().map(|found| found.client).collect();
    let mut plan = ImportPlan::build(here, &at, FlaggedServers::AsConfigured).await?;
    if arguments.follow {
        plan.follow_clients(arguments.from.into_iter().chain(clients))?;
    }
    let done = !arguments.dry_run && plan.edits;
    if arguments.dry_run {
        plan.reviews_to_confirm()
            .iter()
            .for_each(|review| invocation.note(&format!("{review}\n")));
    } else {
        let command = format!("{} --yes", arguments.real_command());
        confirm_project_servers(&plan, arguments.yes, &command, invocation.output)?;
        plan.apply(&at, &trail::typed_verb()).await?;
    }
    let report = ImportReport {
        done,
        config: plan.config,
        follow: plan.follow,
        servers: plan.rows,
        problems: plan.problems,
    };
    warn_about_problems(&report.problems, invocation.output);
    for project in elsewhere {
        invocation.note(&format!(
            "{} has its own servers; to import them, run this there.",
            project.display()
        ));
    }
    if report.servers.is_empty() && !report.done && !invocation.output.json {
        invocation.note(NOTHING);
        return Ok(ExitCode::SUCCESS);
    }
    let again = arguments.dry_run.then(|| arguments.real_command());
    invocation.show(&report, |report| format_import(report, again.as_deref()))?;
    Ok(ExitCode::SUCCESS)
}

/// Asks for confirmation of servers from project files, unless `yes`; `command` confirms in advance.
/// Servers from the user's own files need none.
pub(super) fn confirm_project_servers(
    plan: &ImportPlan,
    yes: bool,
    command: &str,
    output: Output,
) -> anyhow::Result<()> {
    let reviews = plan.reviews_to_confirm();
    let text = match reviews.len() {
        0 => return Ok(()),
        1 => "Run this?".to_owned(),
        number => format!("Run these {number}?"),
    };
    let text = &text;
    confirm(&reviews, Confirmation { text, yes, command }, output)
}

const NOTHING: &str = "\
No MCP servers found in any client on this machine. Add one yourself:
  kitbag servers add time -- uvx mcp-server-time";

/// Prints problems as warnings; JSON output contains them anyway.
pub(super) fn warn_about_problems(problems: &[FileProblem], output: Output) {
    for problem in problems
        .iter()
        .filter(|problem| !output.json && !problem.is_harmless())
    {
        output.warn(&problem.to_string());
    }
}

impl Arguments {
    /// Returns the command without `--dry-run`.
    fn real_command(&self) -> String {
        let from = self
            .from
            .map(|client| format!(" --from {}", client.name()))
            .unwrap_or_default();
        let follow = if self.follow { " --follow" } else { "" };
        format!("kitbag import{from}{follow}")
    }
}

fn format_import(report: &ImportReport, rehearsed: Option<&str>) -> String {
    let mut text = format_table(
        ["NAME", "ACTION", "RUNS", "FROM"],
        report.servers.iter().map(cells),
    );
    for row in report
        .servers
        .iter()
        .filter(|row| row.action != ImportAction::Known)
    {
        let remarks = row_notes(row).into_iter();
        text.extend(remarks.map(|it| format!("\n{}: {}", row.name, strip_controls(&it))));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format_files(&report.servers));
    text.push_str(&format_missing(report.added_rows()));
    text.push_str(&report.format_summary(rehearsed));
    if !report.follow.is_empty() {
        let clients: Vec<_> = report.follow.iter().map(|client| client.title()).collect();
        text.push_str(&format!(
            "\nA running gateway also imports servers added later in {}.",
            clients.join(", ")
        ));
    }
    text
}

impl ImportReport {
    fn added_rows(&self) -> impl Iterator<Item = &ImportRow> {
        let servers = self.servers.iter();
        servers.filter(|row| row.action == ImportAction::Add)
    }

    fn format_summary(&self, rehearsed: Option<&str>) -> String {
        let (number, path) = (self.added_rows().count(), self.config.display());
        let servers = pluralize(number, "server");
        let secrets = match self.added_rows().map(|row| row.secrets.len()).sum() {
            0 => String::new(),
            number => format!(
                ", with {} encrypted in the store",
                pluralize(number, "secret")
            ),
        };
        match rehearsed {
            _ if number == 0 => format!("\nNothing to add to {path}."),
            _ if self.done => format!(
                "\nAdded {servers} to {path}{secrets}.\nTest them: kitbag servers test\nAdd Kitbag to a client: \
                 kitbag install --client NAME --move-servers"
            ),
            Some(command) => {
                format!("\nWould add {servers} to {path}{secrets}.\nTo add: {command}")
            }
            None => format!("\nNothing to add to {path}."),
        }
    }
}

/// Returns notes about a server that its table row does not show.
fn row_notes(row: &ImportRow) -> Vec<String> {
    let mut remarks: Vec<String> = row
        .reason
        .iter()
        .cloned()
        .chain(describe_rename(row))
        .collect();
    if !row.sets.is_empty() {
        remarks.push(format!("sets {}", row.sets.join(", ")));
    }
    remarks.extend(row.dangers.iter().map(|it| format!("danger: {it}")));
    remarks.extend(row.notes.iter().map(ToString::to_string));
    let missing = row.missing.iter();
    let foreign = missing.filter(|it| it.source == VariableSource::Foreign);
    remarks
        .extend(foreign.map(|it| format!("only the client can set ${{{}}}; replace it", it.name)));
    remarks
}

fn cells(row: &ImportRow) -> [String; 4] {
    let what = match row.action {
        ImportAction::Add if row.disabled => "add, disabled",
        ImportAction::Add => "add",
        ImportAction::Known => "known",
        ImportAction::Refused => "refused",
    };
    let mut clients: Vec<&str> = row
        .from
        .iter()
        .map(|origin| origin.client.title())
        .collect();
    clients.dedup();
    let of_project = if row.is_from_project() {
        ", project file"
    } else {
        ""
    };
    [
        row.name.to_string(),
        what.to_owned(),
        row.target.clone(),
        clients.join(", ") + of_project,
    ]
}

/// Lists the files with servers to add, marking project files.
fn format_files(rows: &[ImportRow]) -> String {
    let mut lines = Vec::new();
    let added = rows.iter().filter(|row| row.action == ImportAction::Add);
    for origin in added.flat_map(|row| &row.from) {
        let of_project = if origin.scope == Scope::Project {
            ", a project file"
        } else {
            ""
        };
        let line = format!(
            "  {} ({}{of_project})",
            origin.path.display(),
            origin.client
        );
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        String::new()
    } else {
        strip_controls(&format!("\nFrom\n{}\n", lines.join("\n")))
    }
}

/// Returns the server's name in the client, unless it is obvious from ours.
fn describe_rename(row: &ImportRow) -> Option<String> {
    let origin = row.from.first()?;
    let local_name = keep_alphanumerics(row.name.as_str());
    let plain = keep_alphanumerics(&origin.name).starts_with(&local_name);
    (!plain).then(|| format!("called `{}` in {}", origin.name, origin.client))
}

fn keep_alphanumerics(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Lists the values the user must supply before these servers can start.
pub(super) fn format_missing<'a>(rows: impl Iterator<Item = &'a ImportRow>) -> String {
    let mut lines = BTreeSet::new();
    for row in rows {
        for variable in row
            .missing
            .iter()
            .filter(|it| it.source != VariableSource::Foreign)
        {
            let comment = match &variable.source {
                VariableSource::Asked(question) if !question.is_empty() => {
                    format!("   # {question}")
                }
                VariableSource::Folder => "   # the folder open in the client".to_owned(),
                VariableSource::File(path) => {
                    format!("   # the client reads it from {}", path.display())
                }
                _ => String::new(),
            };
            lines.insert(match variable.name.strip_prefix("secret:") {
                Some(secret) => format!("  kitbag secret set {secret}{comment}"),
                None => format!("  export {}=…{comment}", variable.name),
            });
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<_> = lines.into_iter().collect();
    strip_controls(&format!(
        "\nRequired before all of them can start:\n{}\n",
        lines.join("\n")
    ))
}
