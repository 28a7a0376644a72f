//! The command line: one module per verb, and the helpers they share.
//!
//! Results go to stdout; logs and messages go to stderr.
//!
//! # Layout
//! - one file or folder for each verb, such as [`serve`], [`servers`] and [`tools`]
//! - `help`: `kitbag --help` with grouped verbs, and new spellings of renamed verbs
//! - `gateway`: the gateway behind a verb: the running one or one of its own
//! - `listing`: lists of prompts, resources or skills; `content`: one content block as text
//! - `open_store`: opens the store for verbs that need no gateway
//! - [`output`]: tables for people, JSON for programs
//! - [`progress`]: a spinner during long work
//! - [`ask`]: prompts at the terminal; `confirm`: confirmation before other people's commands run
//! - `overrides`: flags and variables that override the configuration file
//! - [`failure`]: error output: what failed, why, what to try
//! - [`logging`]: destination and format of log lines; `journal`: the log file of a gateway
//! - [`arguments`]: `key=value` words to call arguments
//! - `moment`: points in time and durations as people type and read them

pub mod agents;
pub mod arguments;
pub mod ask;
pub mod audit;
pub mod call;
pub mod completions;
pub mod config;
mod confirm;
pub(crate) mod content;
pub mod context;
pub mod demo;
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
mod model_access;
pub(crate) mod moment;
mod new_file;
mod next_steps;
mod open_store;
pub mod output;
mod overrides;
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
use serde::Serialize;
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
~/.config/kitbag/kitbag.toml, whichever is set first; defaults apply without a
file. A kitbag.toml in the current directory adds servers once you trust it.";

#[derive(Debug, Subcommand)]
enum Verb {
    Demo(demo::Arguments),
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
    /// Configuration file.
    #[arg(
        long,
        global = true,
        env = "KITBAG_CONFIG",
        hide_env_values = true,
        value_name = "PATH"
    )]
    config: Option<PathBuf>,
    /// Directory for the database and server logs.
    #[arg(
        long,
        global = true,
        env = "KITBAG_DATA_DIR",
        hide_env_values = true,
        value_name = "PATH"
    )]
    data_dir: Option<PathBuf>,
    /// Database: a path, or postgres://user@host/database.
    #[arg(
        long,
        global = true,
        env = "KITBAG_STORE",
        hide_env_values = true,
        value_name = "ADDRESS"
    )]
    store: Option<String>,
    /// Print output as JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Log level: error, warn, info, debug, trace, or `module=level,…`.
    #[arg(
        long,
        global = true,
        env = "KITBAG_LOG",
        hide_env_values = true,
        value_name = "LEVEL"
    )]
    log: Option<logging::Targets>,
    /// Log format.
    #[arg(
        long,
        global = true,
        env = "KITBAG_LOG_FORMAT",
        hide_env_values = true,
        default_value = "text",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Output settings and configuration source, passed to every verb.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) output: Output,
    pub(crate) source: ConfigSource,
}

impl Invocation {
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        let config = self
            .source
            .load()
            .context("the configuration cannot be used")?;
        for (what, remedy) in config.project.notices() {
            self.output.warn(&format!("{what}\n  try: {remedy}"));
        }
        Ok(config)
    }

    /// Prints a result.
    pub(crate) fn show<T: Serialize>(
        &self,
        result: &T,
        to_text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        self.output.show(result, to_text)
    }

    /// Prints a note to stderr, unless the output is JSON.
    pub(crate) fn note(&self, text: &str) {
        self.output.note(text);
    }

    /// Rejects a store set by a flag or variable: the command line is stored for later use, and a store
    /// address may contain a password.
    pub(crate) fn reject_store_override(&self) -> anyhow::Result<()> {
        match self.source.overrides.store {
            None => Ok(()),
            Some(_) => Err(anyhow!(
                "the store is set by --store or KITBAG_STORE, which will not be set later"
            ))
            .advise(|| "set it under [store] in the configuration".to_owned()),
        }
    }

    /// Loads the configuration and returns its follower.
    pub(crate) fn follow_config(&self) -> anyhow::Result<ConfigFollower> {
        ConfigFollower::new(self.source.clone()).context("the configuration cannot be used")
    }
}

impl Cli {
    /// Parses the command line. Help and usage errors are printed, and their exit code is returned.
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
            source: ConfigSource {
                overrides: Overrides {
                    config,
                    data_dir,
                    store,
                    ..Overrides::default()
                },
                environment: Environment::from_process(),
            },
        };
        let result = match self.verb {
            Some(verb) => block_on(run_and_record(verb, invocation)),
            None => next_steps::run(&invocation),
        };
        result
            .inspect_err(journal::record_exit)
            .unwrap_or_else(|error| failure::report(&error, json))
    }
}

/// Huge pages grow a heap of many small allocations by a third and speed up nothing here.
fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "cannot disable huge pages");
    }
}

impl Verb {
    async fn run(self, invocation: Invocation) -> anyhow::Result<ExitCode> {
        match self {
            Self::Demo(arguments) => demo::run(arguments, &invocation).await,
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

/// Runs a verb and records its configuration edits, even if it failed later.
async fn run_and_record(verb: Verb, invocation: Invocation) -> anyhow::Result<ExitCode> {
    let (source, output) = (invocation.source.clone(), invocation.output);
    let result = Box::pin(verb.run(invocation)).await;
    let edits = kitbag_config::take_edits();
    if !edits.is_empty()
        && let Err(error) = record_edits(&edits, &source).await
    {
        output.warn(&format!("{error:#}"));
    }
    result
}

async fn record_edits(edits: &[Edit], source: &ConfigSource) -> anyhow::Result<()> {
    let store = open_store(&source.load()?, "cannot open the audit log").await?;
    for edit in edits {
        trail::record_event(&store, trail::edit_event(&trail::typed_verb(), edit)).await?;
    }
    store.close().await;
    Ok(())
}

fn default_level(verb: Option<&Verb>) -> LevelFilter {
    match verb {
        Some(Verb::Serve(_)) => LevelFilter::INFO,
        // The client shows the user everything on stderr.
        Some(Verb::Hook(_)) => LevelFilter::OFF,
        _ => LevelFilter::WARN,
    }
}

/// Returns the exit code of a verb that has printed its result.
fn to_exit_code(succeeded: bool) -> ExitCode {
    if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let result = runtime.block_on(work);
    // A read from stdin cannot be interrupted; waiting for it would keep the process alive until the
    // user presses a key.
    runtime.shutdown_background();
    result
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
