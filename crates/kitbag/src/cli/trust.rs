//! `kitbag trust`: the person says yes to the servers a project brings along, and takes that back.

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

/// Put the servers of a project's kitbag.toml in force.
///
/// A project's file came along with its folder, so nothing in it runs before you say yes. It adds
/// servers while Kitbag is used in that folder, and nothing else: no rules, no addresses, and none of
/// your secrets and variables but those you grant. What it would run is shown first. When the file
/// changes, it is out of force until you have looked at it again.
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
    /// Show the projects you trust, and what each may be handed.
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  kitbag trust list\n  kitbag trust list --json"
    )]
    List,
    /// Take back your trust in a project.
    #[command(
        after_help = "Examples:\n  kitbag trust withdraw\n  kitbag trust withdraw ~/code/shop/kitbag.toml"
    )]
    Withdraw {
        /// Its folder or its file; the current directory unless named.
        path: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
struct TrustingArguments {
    /// The project's folder or its file; the current directory unless named.
    path: Option<PathBuf>,
    /// A secret of yours that its servers may be handed.
    #[arg(long, value_name = "NAME")]
    grant_secret: Vec<String>,
    /// An environment variable of yours that its servers may be handed.
    #[arg(long, value_name = "NAME")]
    grant_variable: Vec<String>,
    /// Say yes without being asked.
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
    let path = existing_file(arguments.path.as_deref(), invocation)?;
    let file = ProjectFile::load(&path, &invocation.at).context("this file cannot be trusted")?;
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
    let servers = file.servers.iter();
    let in_force = servers.filter(|spec| is_satisfied(spec, &trust)).count();
    trust_file(invocation)?.add(trust)?;
    record_change(Action::ProjectTrusted, &path, invocation).await?;
    let told = json!({ "path": path, "servers": in_force, "not_granted": refused });
    invocation.output.show(&told, |_| {
        let servers = pluralize(in_force, "server");
        format!(
            "{} is trusted as it is now: {servers} in force in its folder",
            path.display()
        )
    })?;
    for variable in &refused {
        invocation
            .output
            .warn(&describe_not_granted(variable, &path));
    }
    Ok(())
}

/// True if the trust grants everything that the server asks for.
fn is_satisfied(spec: &ServerSpec, trust: &Trust) -> bool {
    spec.variables().iter().all(|name| trust.grants(name))
}

/// Returns every server in the file, as it would run.
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
        invocation.output.note("You trust no project.");
    }
    if all.is_empty() && !invocation.output.json {
        return Ok(());
    }
    invocation.output.show(&rows, |_| {
        format_table(
            ["FILE", "STATE", "MAY HAVE", "SINCE"],
            all.iter().map(cells),
        )
    })
}

async fn withdraw_trust(path: Option<&Path>, invocation: &Invocation) -> anyhow::Result<()> {
    let named = named_file(path, invocation);
    // A project that was deleted can still be taken off the list.
    let path = fs::canonicalize(&named).unwrap_or(named);
    if !trust_file(invocation)?.withdraw(&path)? {
        return Err(anyhow!("{} was not trusted", path.display()))
            .advise(|| "see which are: kitbag trust list".to_owned());
    }
    record_change(Action::ProjectWithdrawn, &path, invocation).await?;
    invocation.output.show(&json!({ "path": path }), |_| {
        format!("{} is no longer trusted", path.display())
    })
}

async fn record_change(action: Action, path: &Path, invocation: &Invocation) -> anyhow::Result<()> {
    let store = open_store(&invocation.at.load()?, "the audit cannot be reached").await?;
    let event = trail::change_event(&trail::typed_verb(), action, &path.display().to_string());
    let recorded = trail::record_event(&store, event).await;
    store.close().await;
    recorded
}

fn trust_file(invocation: &Invocation) -> anyhow::Result<TrustFile> {
    Ok(TrustFile::in_data_dir(
        &invocation
            .at
            .environment
            .data_dir(&invocation.at.overrides)?,
    ))
}

fn existing_file(path: Option<&Path>, invocation: &Invocation) -> anyhow::Result<PathBuf> {
    let named = named_file(path, invocation);
    fs::canonicalize(&named)
        .with_context(|| format!("there is no {}", named.display()))
        .advise(|| "name the folder of a project that has a kitbag.toml".to_owned())
}

/// A folder stands for the file in it.
fn named_file(path: Option<&Path>, invocation: &Invocation) -> PathBuf {
    let cwd = &invocation.at.environment.cwd;
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
        true if is_current(trust) => "in force",
        true => "changed, not in force",
    };
    let secrets = trust.secrets.iter().map(|name| format!("secret {name}"));
    let granted: Vec<_> = secrets.chain(trust.variables.iter().cloned()).collect();
    let granted = if granted.is_empty() {
        "nothing of yours".to_owned()
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

fn describe_not_granted(variable: &str, path: &Path) -> String {
    let (what, flag) = (describe_variable(variable), grant_flag(variable));
    let path = path.display();
    format!(
        "it asks for {what}, which it does not get\n  try: kitbag trust {path} {flag}, if you mean to"
    )
}
