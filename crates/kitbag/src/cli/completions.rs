//! `kitbag completions`: shell completion.
//!
//! The shell script runs this program for each completion, so names of servers, tools and clients
//! are completed too, and a newer Kitbag needs no newer script. Candidates come from the
//! configuration and the store; no server is started.
//!
//! - `parameters`: completes `key=value` arguments

mod parameters;

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{ArgMatches, Args, CommandFactory as _, ValueEnum};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, CompletionCandidate};
use kitbag_clients::Client;
use kitbag_config::{Config, ConfigSource, Environment, Overrides};
use kitbag_domain::{Caller, ServerName};
use kitbag_intents::{TemplateSet, built_in};
use kitbag_policy::Policy;
use kitbag_store::Store;
use serde_json::Value;

use self::parameters::{CompletableParameter, MAX_DEPTH, collect_parameters, complete_parameters};
use super::output::{strip_controls, to_one_line};
use super::{Cli, Invocation, block_on};
use crate::key_check::is_active;
use kitbag_domain::text::first_sentence;
use kitbag_gateway::admin::offers;
use kitbag_gateway::catalog::Catalog;
use kitbag_gateway::learning::learned_templates;
use kitbag_gateway::secrets::vault::open_vault;
use kitbag_gateway::state::host;
use kitbag_gateway::state::store_address::{store_address, store_may_exist};

/// Generate shell completions for commands, names and arguments.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  kitbag completions bash
  kitbag completions fish > ~/.config/fish/completions/kitbag.fish

To load them in every bash or zsh session, add to ~/.bashrc or ~/.zshrc:
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
    let shell = shell.ok_or_else(|| anyhow!("unsupported shell"))?;
    let program = env::current_exe().context("cannot find the path of the kitbag executable")?;
    let mut script = Vec::new();
    shell.write_registration(
        COMPLETE_VARIABLE,
        "kitbag",
        "kitbag",
        &program.to_string_lossy(),
        &mut script,
    )?;
    if matches!(arguments.shell, Shell::Bash) {
        script.extend_from_slice(include_bytes!("completions.bash"));
    }
    invocation.output.print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a completion request and exits; returns if there is none.
pub fn answer_shell() {
    CompleteEnv::with_factory(Cli::command)
        .var(COMPLETE_VARIABLE)
        .complete();
}

/// The variable that marks a completion request.
const COMPLETE_VARIABLE: &str = "KITBAG_COMPLETE";

pub(super) fn servers() -> Vec<CompletionCandidate> {
    load_config().map_or_else(Vec::new, |config| {
        let running = config.running_servers().map(|spec| &spec.name);
        server_candidates(running.chain(config.disabled.keys()))
    })
}

/// Returns configured servers, without the built-in ones.
pub(super) fn own_servers() -> Vec<CompletionCandidate> {
    load_config().map_or_else(Vec::new, |config| {
        server_candidates(config.servers.keys().chain(config.disabled.keys()))
    })
}

pub(super) fn enabled_servers() -> Vec<CompletionCandidate> {
    load_config().map_or_else(Vec::new, |config| server_candidates(config.servers.keys()))
}

pub(super) fn disabled_servers() -> Vec<CompletionCandidate> {
    load_config().map_or_else(Vec::new, |config| server_candidates(config.disabled.keys()))
}

fn server_candidates<'a>(
    servers: impl Iterator<Item = &'a ServerName>,
) -> Vec<CompletionCandidate> {
    servers.map(|name| name.as_str().into()).collect()
}

pub(super) fn tools() -> Vec<CompletionCandidate> {
    let rows = read_catalog(offers::tool_rows).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| to_candidate(row.name, row.description.as_deref()))
        .collect()
}

pub(super) fn prompts() -> Vec<CompletionCandidate> {
    let rows = read_catalog(offers::prompt_rows).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| to_candidate(row.name, row.description.as_deref()))
        .collect()
}

/// Includes templates: the user replaces the text in braces.
pub(super) fn resources() -> Vec<CompletionCandidate> {
    let rows = read_catalog(offers::resource_rows).unwrap_or_default();
    rows.into_iter()
        .filter_map(|row| to_candidate(row.uri, row.description.as_deref()))
        .collect()
}

/// Completes `key=` for the tool's parameters, or `key=value` where the values are known.
pub(super) fn tool_arguments(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some((name, given)) = parse_typed_call(&["call"]) else {
        return Vec::new();
    };
    let definition = read_catalog(|catalog, policy| find_definition(&name, catalog, policy));
    let definition = definition.flatten().unwrap_or_default();
    let mut parameters = Vec::new();
    collect_parameters(
        "",
        definition.get("inputSchema").unwrap_or(&Value::Null),
        MAX_DEPTH,
        &mut parameters,
    );
    complete_parameters(&parameters, current, &given)
}

fn find_definition(name: &str, catalog: &Catalog, policy: &Policy) -> Option<Value> {
    let entry = catalog.tool(name)?;
    let visible = policy.is_visible(&Caller::local(), &entry.capability);
    visible.then(|| serde_json::from_str(entry.definition.get()).ok())?
}

pub(super) fn prompt_arguments(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some((name, given)) = parse_typed_call(&["prompts", "get"]) else {
        return Vec::new();
    };
    let rows = read_catalog(offers::prompt_rows).unwrap_or_default();
    let parameters: Vec<_> = rows
        .into_iter()
        .filter(|row| row.name == name)
        .flat_map(|row| row.arguments)
        .map(CompletableParameter::from)
        .collect();
    complete_parameters(&parameters, current, &given)
}

/// Active keys.
pub(super) fn keys() -> Vec<CompletionCandidate> {
    let keys = read_store(async |_, store| Ok(store.list_keys().await?)).unwrap_or_default();
    keys.into_iter()
        .filter(is_active)
        .filter_map(|key| to_candidate(key.id.0, key.label.as_deref()))
        .collect()
}

pub(super) fn secrets() -> Vec<CompletionCandidate> {
    let names = read_store(async |config, store| {
        Ok(open_vault(config.secret_key, store)?.list_secrets().await?)
    });
    names
        .unwrap_or_default()
        .into_iter()
        .map(|it| CompletionCandidate::new(it.name.as_str()))
        .collect()
}

pub(super) fn secrets_and_credentials() -> Vec<CompletionCandidate> {
    secrets().into_iter().chain(credentials()).collect()
}

pub(super) fn credentials() -> Vec<CompletionCandidate> {
    let known = read_store(async |config, store| {
        Ok(open_vault(config.secret_key, store)?
            .list_credentials()
            .await?)
    });
    let mut names: Vec<String> = known
        .unwrap_or_default()
        .into_iter()
        .map(|it| it.key.name.to_string())
        .collect();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Built-in and learned templates.
pub(super) fn templates() -> Vec<CompletionCandidate> {
    let (built_in, _) = TemplateSet::read(&built_in::files());
    let entries = built_in.entries().iter();
    let mut names: Vec<String> = entries.map(|it| it.template.name().to_string()).collect();
    let learned = read_store(async |_, store| Ok(learned_templates::read_all(store, None).await?));
    let (learned, _) = learned.unwrap_or_default();
    names.extend(
        learned
            .iter()
            .map(|it| it.learned.template().name().to_string()),
    );
    names.into_iter().map(CompletionCandidate::new).collect()
}

pub(super) fn clients() -> Vec<CompletionCandidate> {
    Client::ALL
        .into_iter()
        .map(|client| CompletionCandidate::new(client.name()).help(Some(client.title().into())))
        .collect()
}

/// Turns a name from a server into a candidate, with the first sentence of its description. Omits
/// names that a shell could run as a command or parse as an option.
fn to_candidate(value: String, help: Option<&str>) -> Option<CompletionCandidate> {
    let offered = !value.is_empty() && !value.starts_with('-') && value.chars().all(is_safe_letter);
    let help = help.map(|help| to_one_line(&strip_controls(&first_sentence(help))).into());
    offered.then(|| CompletionCandidate::new(value).help(help))
}

fn is_safe_letter(letter: char) -> bool {
    letter.is_alphanumeric() || "_-.,/:=@%+~?&#{}[] ".contains(letter)
}

/// Returns the `name` argument of the verb at this path, and the words after it.
fn parse_typed_call(path: &[&str]) -> Option<(String, Vec<String>)> {
    let matches = parse_typed()?;
    let verb = path
        .iter()
        .try_fold(&matches, |matches, name| matches.subcommand_matches(name))?;
    let words = verb
        .get_many::<String>("words")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    Some((verb.get_one::<String>("name")?.clone(), words))
}

/// Parses the command line typed so far, ignoring errors.
fn parse_typed() -> Option<ArgMatches> {
    let words = env::args_os().skip_while(|word| word != "--").skip(1);
    Cli::command()
        .ignore_errors(true)
        .try_get_matches_from(words)
        .ok()
}

/// Candidates that take longer are useless: the user has typed on.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Reads the stored catalog; asks no server.
fn read_catalog<T>(look: impl FnOnce(&Catalog, &Policy) -> T) -> Option<T> {
    read_store(async |config, store| {
        Ok(look(
            &host::stored_catalog(config, store).await?,
            &config.policy,
        ))
    })
}

/// Reads from the store, if it exists. Errors are dropped: the verb itself will report them.
fn read_store<T>(look: impl AsyncFnOnce(&Config, &Store) -> anyhow::Result<T>) -> Option<T> {
    let config = load_config()?;
    if !store_may_exist(&config) {
        return None;
    }
    let looking = async {
        let store = Store::open(store_address(&config)?).await?;
        let found = look(&config, &store).await;
        store.close().await;
        found
    };
    block_on(async { tokio::time::timeout(TIMEOUT, looking).await? }).ok()
}

fn load_config() -> Option<Config> {
    let typed = parse_typed();
    let overrides = Overrides {
        config: typed_path(typed.as_ref(), "config", "KITBAG_CONFIG"),
        data_dir: typed_path(typed.as_ref(), "data_dir", "KITBAG_DATA_DIR"),
        store: typed
            .as_ref()
            .and_then(|typed| typed.get_one::<String>("store").cloned())
            .or_else(|| env::var("KITBAG_STORE").ok()),
        ..Overrides::default()
    };
    ConfigSource {
        overrides,
        environment: Environment::from_process(),
    }
    .load()
    .ok()
}

/// Returns the path from the option, or else from the variable.
fn typed_path(typed: Option<&ArgMatches>, option: &str, variable: &str) -> Option<PathBuf> {
    let typed = typed.and_then(|typed| typed.get_one::<PathBuf>(option).cloned());
    typed.or_else(|| env::var_os(variable).map(Into::into))
}
