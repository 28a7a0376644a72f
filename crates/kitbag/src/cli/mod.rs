//! The commands that a person types, and the answers that the person reads.
//!
//! stdout is for results, stderr for logs and messages.
//!
//! # Layout
//! - one file or folder for each verb, such as [`serve`], [`servers`] and [`tools`]
//! - `help`: `kitbag --help`, with the verbs in groups, and renamed verbs
//! - `gateway`: the gateway a verb works with, the one that runs or one of its own
//! - `listing`: the list of prompts, resources or skills; `content`: a block of an answer, as people read it
//! - `open_store`: the store, for verbs that work with it alone
//! - [`output`]: tables for people, JSON for programs
//! - [`progress`]: a sign that work is going on, while it does
//! - [`ask`]: questions to the person at the terminal; `confirm`: asks before foreign commands run
//! - `overriding`: the flags and variables that beat the configuration file
//! - [`failure`]: the way an error is told: what, why, what now
//! - [`logging`]: the destination and the looks of log lines; `journal`: the log file of a gateway
//! - [`arguments`]: `key=value` words into the arguments of a call
//! - `moment`: moments and lengths of time, as people type and read them

pub mod agents;
pub mod arguments;
pub mod ask;
pub mod audit;
pub mod call;
pub mod completions;
pub mod config;
mod confirm;
mod content;
pub mod context;
pub mod doctor;
pub mod eval;
pub mod failure;
pub mod feedback;
mod gateway;
pub mod health;
mod help;
pub mod hook;
pub mod import;
pub mod index;
pub mod install;
mod journal;
pub mod key;
pub mod learned;
mod listing;
pub mod lock;
pub mod logging;
pub mod logs;
pub mod man;
mod moment;
mod new_file;
mod next_steps;
mod open_store;
pub mod output;
mod overriding;
mod program;
pub mod progress;
pub mod prompts;
pub mod resources;
pub mod run;
pub mod search;
pub mod secret;
pub mod serve;
pub mod servers;
pub mod service;
pub mod skills;
pub mod stats;
pub mod store;
pub mod templates;
pub mod tools;
pub mod trust;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow};
use clap::{Args, FromArgMatches as _, Parser, Subcommand};
use kitbag_config::Edit;
use kitbag_config::{Config, ConfigSource, Environment, Overrides};
use kitbag_gateway::state::file_limit;
use tracing::level_filters::LevelFilter;

use crate::reload::ConfigFollower;
use crate::trail;
use failure::Advise as _;
use logging::{LogFormat, Logging};
use open_store::open_store;
use output::{Color, Output};

/// One MCP endpoint in front of all your MCP servers.
#[derive(Debug, Parser)]
#[command(name = "kitbag", version, max_term_width = 80, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    global: Global,
}

const EXAMPLES: &str = "\
Examples:
  kitbag import --dry-run
  kitbag servers find calendar
  kitbag servers add time -- uvx mcp-server-time
  kitbag servers add docs https://docs.example/mcp -H 'X-Key=${DOCS_KEY}'
  kitbag install --client cursor
  kitbag serve
  kitbag search what time is it in Tokyo
  kitbag call time__get_current_time timezone=Asia/Tokyo
  kitbag doctor

Configuration is read from --config, $KITBAG_CONFIG or
~/.config/kitbag/kitbag.toml, the first that is named; without one, defaults
apply. A kitbag.toml in the current directory adds servers once you trust it.";

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(serve::Arguments),
    Servers(servers::Arguments),
    Tools(Box<tools::Arguments>),
    Resources(resources::Arguments),
    Prompts(prompts::Arguments),
    Skills(skills::Arguments),
    Stats(stats::Arguments),
    Logs(logs::Arguments),
    Audit(Box<audit::Arguments>),
    Config(config::Arguments),
    Search(search::Arguments),
    Index(index::Arguments),
    Eval(eval::Arguments),
    Call(call::Arguments),
    Run(run::Arguments),
    Agents(agents::Arguments),
    Key(key::Arguments),
    Secret(secret::Arguments),
    Context(context::Arguments),
    Feedback(feedback::Arguments),
    Store(store::Arguments),
    Templates(templates::Arguments),
    Learned(learned::Arguments),
    Trust(trust::Arguments),
    Lock(lock::Arguments),
    Import(import::Arguments),
    Install(install::InstallArguments),
    Uninstall(install::UninstallArguments),
    #[command(hide = true)]
    Hook(hook::Arguments),
    Doctor(doctor::Arguments),
    #[command(hide = true)]
    Health(health::Arguments),
    Service(service::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Man(man::Arguments),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// The configuration file.
    #[arg(
        long,
        global = true,
        env = "KITBAG_CONFIG",
        hide_env_values = true,
        value_name = "PATH"
    )]
    config: Option<PathBuf>,
    /// The folder for the database and the logs of servers.
    #[arg(
        long,
        global = true,
        env = "KITBAG_DATA_DIR",
        hide_env_values = true,
        value_name = "PATH"
    )]
    data_dir: Option<PathBuf>,
    /// The database: a path, or postgres://user@host/database.
    #[arg(
        long,
        global = true,
        env = "KITBAG_STORE",
        hide_env_values = true,
        value_name = "ADDRESS"
    )]
    store: Option<String>,
    /// Answer in JSON, for programs.
    #[arg(long, global = true)]
    json: bool,
    /// The level to log from: error, warn, info, debug, trace, or `module=level,…`.
    #[arg(
        long,
        global = true,
        env = "KITBAG_LOG",
        hide_env_values = true,
        value_name = "LEVEL"
    )]
    log: Option<logging::Targets>,
    /// The form of log lines.
    #[arg(
        long,
        global = true,
        env = "KITBAG_LOG_FORMAT",
        hide_env_values = true,
        default_value = "text",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,
    /// The use of colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// The values that every verb gets: how to answer, and where the configuration is.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) output: Output,
    pub(crate) at: ConfigSource,
}

impl Invocation {
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        let config = self.at.load().context("the configuration cannot be used")?;
        for (what, remedy) in config.project.notices() {
            self.output.warn(&format!("{what}\n  try: {remedy}"));
        }
        Ok(config)
    }

    /// Refuses a store that a flag or a variable names: a command line that is written down for later
    /// must not hold an address, which may have a password in it.
    pub(crate) fn reject_store_override(&self) -> anyhow::Result<()> {
        match self.at.overrides.store {
            None => Ok(()),
            Some(_) => Err(anyhow!(
                "the store is named by --store or KITBAG_STORE, which will not be there later"
            ))
            .advise(|| "name it under [store] in the configuration".to_owned()),
        }
    }

    /// Returns the follower, which holds the configuration and follows it from now on.
    pub(crate) fn follow_config(&self) -> anyhow::Result<ConfigFollower> {
        ConfigFollower::new(self.at.clone()).context("the configuration cannot be used")
    }
}

impl Cli {
    /// Returns the command line that the person typed, or the exit code after help or a mistake was
    /// told.
    pub fn parse_or_report() -> Result<Self, ExitCode> {
        let parsed = help::grouped_command().try_get_matches();
        let parsed = parsed.and_then(|matches| Self::from_arg_matches(&matches));
        parsed.map_err(|error| match error.use_stderr() {
            true if hook::is_run_by_client() => ExitCode::SUCCESS,
            _ => failure::report_usage(&error, std::env::args_os().any(|it| it == "--json")),
        })
    }

    pub fn run(self) -> ExitCode {
        let Global {
            config,
            data_dir,
            store,
            json,
            log,
            log_format,
            color,
        } = self.global;
        color.apply();
        logging::init_logging(Logging {
            targets: log,
            format: log_format,
            default: default_level(self.verb.as_ref()),
        });
        disable_huge_pages();
        file_limit::raise_limit();
        let invocation = Invocation {
            output: Output { json },
            at: ConfigSource {
                overrides: Overrides {
                    config,
                    data_dir,
                    store,
                    ..Overrides::default()
                },
                environment: Environment::from_process(),
            },
        };
        let ended = match self.verb {
            Some(verb) => block_on(run_and_record(verb, invocation)),
            None => next_steps::run(&invocation),
        };
        ended
            .inspect_err(journal::record_exit)
            .unwrap_or_else(|error| failure::report(&error, json))
    }
}

/// Huge pages make a heap that is mostly small things a third larger, and nothing here faster.
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

impl Verb {
    async fn run(self, invocation: Invocation) -> anyhow::Result<ExitCode> {
        match self {
            Self::Serve(arguments) => Box::pin(serve::run(arguments, invocation)).await,
            Self::Servers(arguments) => servers::run(arguments, &invocation).await,
            Self::Config(arguments) => config::run(arguments, invocation).await,
            Self::Logs(arguments) => logs::run(&arguments, &invocation).await,
            Self::Audit(arguments) => audit::run(&arguments, &invocation).await,
            Self::Search(arguments) => search::run(arguments, &invocation).await,
            Self::Index(arguments) => index::run(arguments, &invocation).await,
            Self::Eval(arguments) => eval::run(arguments, &invocation).await,
            Self::Tools(arguments) => tools::run(*arguments, &invocation).await,
            Self::Resources(arguments) => resources::run(arguments, &invocation).await,
            Self::Prompts(arguments) => prompts::run(arguments, &invocation).await,
            Self::Skills(arguments) => skills::run(arguments, &invocation).await,
            Self::Call(arguments) => call::run(arguments, &invocation).await,
            Self::Run(arguments) => run::run(arguments, &invocation).await,
            Self::Stats(arguments) => stats::run(arguments, &invocation).await,
            Self::Agents(arguments) => agents::run(arguments, &invocation).await,
            Self::Key(arguments) => key::run(arguments, &invocation).await,
            Self::Secret(arguments) => secret::run(arguments, &invocation).await,
            Self::Context(arguments) => context::run(arguments, &invocation).await,
            Self::Feedback(arguments) => feedback::run(arguments, &invocation).await,
            Self::Store(arguments) => store::run(arguments, &invocation).await,
            Self::Templates(arguments) => templates::run(arguments, &invocation).await,
            Self::Learned(arguments) => learned::run(arguments, &invocation).await,
            Self::Lock(arguments) => lock::run(arguments, &invocation).await,
            Self::Trust(arguments) => trust::run(&arguments, &invocation).await,
            Self::Import(arguments) => import::run(arguments, &invocation).await,
            Self::Install(arguments) => install::install(arguments, &invocation).await,
            Self::Uninstall(arguments) => install::uninstall(&arguments, &invocation),
            Self::Hook(arguments) => hook::run(arguments, invocation).await,
            Self::Doctor(arguments) => doctor::run(arguments, &invocation).await,
            Self::Health(arguments) => health::run(arguments, invocation).await,
            Self::Service(arguments) => service::run(arguments, &invocation).await,
            Self::Completions(arguments) => completions::run(&arguments, &invocation),
            Self::Man(arguments) => man::run(&arguments, &invocation),
        }
    }
}

/// Runs a verb; its changes to the configuration go on record, also if it failed later.
async fn run_and_record(verb: Verb, invocation: Invocation) -> anyhow::Result<ExitCode> {
    let (at, output) = (invocation.at.clone(), invocation.output);
    let ended = Box::pin(verb.run(invocation)).await;
    let edits = kitbag_config::take_edits();
    if !edits.is_empty()
        && let Err(error) = record_edits(&edits, &at).await
    {
        output.warn(&format!("{error:#}"));
    }
    ended
}

async fn record_edits(edits: &[Edit], at: &ConfigSource) -> anyhow::Result<()> {
    let store = open_store(&at.load()?, "the audit cannot be reached").await?;
    for edit in edits {
        trail::record_event(&store, trail::edit_event(&trail::typed_verb(), edit)).await?;
    }
    store.close().await;
    Ok(())
}

fn default_level(verb: Option<&Verb>) -> LevelFilter {
    match verb {
        Some(Verb::Serve(_)) => LevelFilter::INFO,
        // Its client shows to the person what it writes to stderr.
        Some(Verb::Hook(_)) => LevelFilter::OFF,
        _ => LevelFilter::WARN,
    }
}

/// Returns the exit code of a verb that has told its result.
fn to_exit_code(is_well: bool) -> ExitCode {
    if is_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the operating system gives no threads to work with")?;
    let ended = runtime.block_on(work);
    // A read from stdin cannot be interrupted; waiting for it would keep the process alive
    // until the person presses a key.
    runtime.shutdown_background();
    ended
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_contradicts_itself_nowhere() {
        Cli::command().debug_assert();
    }
}
