//! `kitbag trust`: grants and withdraws trust in the servers of a project file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use kitbag_config::{ProjectFile, Trust, TrustFile, describe_variable, grant_flag};
use kitbag_domain::Action;
use kitbag_upstream::ServerSpec;
use serde_json::json;

use super::Invocation;
use super::confirm::{Confirmation, confirm};
use super::failure::Advise as _;
use super::output::{format_table, pluralize};
use crate::cli::open_store::open_store;
use crate::trail;
use kitbag_launch_review::{Review, ReviewSource};

/// Trust the servers in a project's kitbag.toml.
///
/// Nothing in a project's file runs before you trust it. It can add servers while Kitbag is used in
/// that folder, and nothing else: no rules and no addresses. Its servers get only the secrets and
/// variables that you grant. You see the commands it would run before you confirm. When the file
/// changes, it is inactive until you trust it again.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    trusting: TrustingArguments,
}

const EXAMPLES: &str = "\
Examples:
  kitbag trust
  kitbag trust ~/code/shop --grant-secret shop.token
  kitbag trust list
  kitbag trust withdraw ~/code/shop";

#[derive(Debug, Subcommand)]
enum Verb {
    /// List trusted projects and their grants.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag trust list\n  kitbag trust list --json"
    )]
    List,
    /// Withdraw trust in a project.
    #[command(
        after_help = "Examples:\n  kitbag trust withdraw\n  kitbag trust withdraw ~/code/shop/kitbag.toml"
    )]
    Withdraw {
        /// Project folder or file [default: the current directory].
        path: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
struct TrustingArguments {
    /// Project folder or file [default: the current directory].
    path: Option<PathBuf>,
    /// Secret to grant to its servers.
    #[arg(long, value_name = "NAME")]
    grant_secret: Vec<String>,
    /// Environment variable to grant to its servers.
    #[arg(long, value_name = "NAME")]
    grant_variable: Vec<String>,
    /// Trust without asking.
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    match &arguments.verb {
        None => trust_project(&arguments.trusting, invocation).await?,
        Some(Verb::List) => list_trusted(invocation)?,
        Some(Verb::Withdraw { path }) => withdraw_trust(path.as_deref(), invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn trust_project(
    arguments: &TrustingArguments,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let named = named_file(arguments.path.as_deref(), invocation);
    let path = fs::canonicalize(&named)
        .with_context(|| format!("cannot find {}", named.display()))
        .advise(|| "pass a project folder that contains a kitbag.toml".to_owned())?;
    let file = ProjectFile::load(&path, &invocation.source).context("cannot trust this file")?;
    let trust = Trust {
        path: path.clone(),
        hash: file.hash.clone(),
        since: jiff::Timestamp::now(),
        secrets: arguments.grant_secret.iter().cloned().collect(),
        variables: arguments.grant_variable.iter().cloned().collect(),
    };
    let refused: Vec<String> = file
        .required_variables()
        .into_iter()
        .filter(|name| !trust.grants(name))
        .collect();
    let command = format!("kitbag trust {} --yes", path.display());
    let question = Confirmation {
        text: "Trust this file?",
        yes: arguments.yes,
        command: &command,
    };
    confirm(&review_servers(&file, &path), question, invocation.output)?;
    let is_active = |spec: &&ServerSpec| spec.variables().iter().all(|name| trust.grants(name));
    let active = file.servers.iter().filter(is_active).count();
    trust_file(invocation)?.add(trust)?;
    record_change(Action::ProjectTrusted, &path, invocation).await?;
    let report = json!({ "path": path, "servers": active, "not_granted": refused });
    invocation.show(&report, |_| {
        let servers = pluralize(active, "server");
        format!("Trusted {}: {servers} active in its folder", path.display())
    })?;
    for variable in &refused {
        let (what, flag) = (describe_variable(variable), grant_flag(variable));
        invocation.output.warn(&format!(
            "it needs {what}, which is not granted\n  try: kitbag trust {} {flag}",
            path.display()
        ));
    }
    Ok(())
}

/// Reviews every server in the file.
fn review_servers(file: &ProjectFile, path: &Path) -> Vec<Review> {
    let project = path.parent().unwrap_or(path).to_owned();
    let origin = ReviewSource::ProjectFile {
        path: path.to_owned(),
        project,
    };
    file.servers
        .iter()
        .chain(&file.disabled)
        .filter_map(|spec| Review::from_spec(spec, origin.clone()))
        .collect()
}

fn list_trusted(invocation: &Invocation) -> anyhow::Result<()> {
    let all = trust_file(invocation)?.read_all()?;
    let rows: Vec<_> = all
        .iter()
        .map(|trust| {
            json!({
                "path": trust.path,
                "since": trust.since.to_string(),
                "in_force": is_current(trust),
                "secrets": trust.secrets,
                "variables": trust.variables,
            })
        })
        .collect();
    if all.is_empty() {
        invocation.note("No trusted projects.");
    }
    if all.is_empty() && !invocation.output.json {
        return Ok(());
    }
    invocation.show(&rows, |_| {
        format_table(["FILE", "STATE", "GRANTED", "SINCE"], all.iter().map(cells))
    })
}

async fn withdraw_trust(path: Option<&Path>, invocation: &Invocation) -> anyhow::Result<()> {
    let named = named_file(path, invocation);
    // The folder may have been deleted since.
    let path = fs::canonicalize(&named).unwrap_or(named);
    if !trust_file(invocation)?.withdraw(&path)? {
        return Err(anyhow!("{} is not trusted", path.display()))
            .advise(|| "list trusted projects: kitbag trust list".to_owned());
    }
    record_change(Action::ProjectWithdrawn, &path, invocation).await?;
    invocation.show(&json!({ "path": path }), |_| {
        format!("{} is no longer trusted", path.display())
    })
}

async fn record_change(action: Action, path: &Path, invocation: &Invocation) -> anyhow::Result<()> {
    let store = open_store(&invocation.source.load()?, "cannot open the audit log").await?;
    let event = trail::change_event(&trail::typed_verb(), action, &path.display().to_string());
    let recorded = trail::record_event(&store, event).await;
    store.close().await;
    recorded
}

fn trust_file(invocation: &Invocation) -> anyhow::Result<TrustFile> {
    Ok(TrustFile::in_data_dir(&invocation.source.data_dir()?))
}

/// Maps a folder to its kitbag.toml.
fn named_file(path: Option<&Path>, invocation: &Invocation) -> PathBuf {
    let cwd = &invocation.source.environment.cwd;
    let named = path.map_or(cwd.clone(), |path| cwd.join(path));
    if named.is_dir() {
        named.join("kitbag.toml")
    } else {
        named
    }
}

fn is_current(trust: &Trust) -> bool {
    fs::read_to_string(&trust.path).is_ok_and(|text| Trust::hash_text(&text) == trust.hash)
}

fn cells(trust: &Trust) -> [String; 4] {
    let state = match trust.path.is_file() {
        false => "gone",
        true if is_current(trust) => "active",
        true => "changed, inactive",
    };
    let secrets = trust.secrets.iter().map(|name| format!("secret {name}"));
    let granted: Vec<_> = secrets.chain(trust.variables.iter().cloned()).collect();
    let granted = if granted.is_empty() {
        "nothing".to_owned()
    } else {
        granted.join(", ")
    };
    [
        trust.path.display().to_string(),
        state.to_owned(),
        granted,
        trust.since.strftime("%F").to_string(),
    ]
}
