//! `kitbag completions`: a shell that finishes what a person began to type.
//!
//! The script that a shell loads asks this program each time, so that names of servers, tools and
//! clients are completed as well, and a newer Kitbag needs no newer script.

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, CompletionCandidate};
use kitbag_clients::Client;

use super::{Cli, Invocation, in_runtime};
use crate::app::App;
use crate::config::{Config, Overrides, Surroundings, Whereabouts};
use crate::signature::summary;

/// Print what a shell needs to complete commands, servers and tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  kitbag completions bash
  kitbag completions fish > ~/.config/fish/completions/kitbag.fish

For good, in bash and zsh, put this line into ~/.bashrc or ~/.zshrc:
  source <(kitbag completions bash)
  source <(kitbag completions zsh)";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

pub(super) fn run(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let shells = Shells::builtins();
    let value = arguments.shell.to_possible_value();
    let shell = value
        .as_ref()
        .and_then(|shell| shells.completer(shell.get_name()));
    let shell = shell.ok_or_else(|| anyhow!("this shell cannot be served"))?;
    let program =
        env::current_exe().context("the operating system does not say where Kitbag is")?;
    let mut script = Vec::new();
    shell.write_registration(
        ASKED,
        "kitbag",
        "kitbag",
        &program.to_string_lossy(),
        &mut script,
    )?;
    invocation.output.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks what could come next, and ends; returns if none has asked.
pub fn answer() {
    CompleteEnv::with_factory(Cli::command)
        .var(ASKED)
        .complete();
}

/// The variable by which a shell asks.
const ASKED: &str = "KITBAG_COMPLETE";

pub(super) fn servers() -> Vec<CompletionCandidate> {
    let Some(config) = config() else {
        return Vec::new();
    };
    let running = config.running().map(|spec| &spec.name);
    running
        .chain(config.disabled.keys())
        .map(|name| name.as_str().into())
        .collect()
}

/// Those somebody configured, without what is built in.
pub(super) fn own_servers() -> Vec<CompletionCandidate> {
    let Some(config) = config() else {
        return Vec::new();
    };
    config
        .servers
        .keys()
        .chain(config.disabled.keys())
        .map(|name| name.as_str().into())
        .collect()
}

pub(super) fn enabled_servers() -> Vec<CompletionCandidate> {
    let Some(config) = config() else {
        return Vec::new();
    };
    config
        .servers
        .keys()
        .map(|name| name.as_str().into())
        .collect()
}

pub(super) fn disabled_servers() -> Vec<CompletionCandidate> {
    let Some(config) = config() else {
        return Vec::new();
    };
    config
        .disabled
        .keys()
        .map(|name| name.as_str().into())
        .collect()
}

/// Those that are known without starting a server.
pub(super) fn tools() -> Vec<CompletionCandidate> {
    let known = async {
        let app = App::open(&config().ok_or_else(|| anyhow!("there is no configuration"))?).await?;
        let rows = app.tools();
        app.close().await;
        Ok(rows)
    };
    // A shell has no place for errors; the verb itself will tell.
    let rows = in_runtime(known).unwrap_or_default();
    let candidate = |row: crate::app::ToolRow| {
        let help = summary(row.description.as_deref().unwrap_or_default());
        CompletionCandidate::new(row.name).help(Some(help.into()))
    };
    rows.into_iter().map(candidate).collect()
}

pub(super) fn clients() -> Vec<CompletionCandidate> {
    let candidate =
        |client: Client| CompletionCandidate::new(client.name()).help(Some(client.title().into()));
    Client::ALL.into_iter().map(candidate).collect()
}

fn config() -> Option<Config> {
    let path = |name: &str| env::var_os(name).map(Into::into);
    let overrides = Overrides {
        config: path("KITBAG_CONFIG"),
        data_dir: path("KITBAG_DATA_DIR"),
        ..Overrides::default()
    };
    Whereabouts {
        overrides,
        around: Surroundings::of_this_process(),
    }
    .load()
    .ok()
}
