//! `kitbag servers`: manages the servers behind the endpoint.

pub(crate) mod add;
pub(crate) mod find;
mod list;
pub(crate) mod login;
pub(crate) mod login_dialog;
pub(crate) mod remove;
mod rename;
mod restart;
pub(crate) mod show;
pub(crate) mod state;
pub(crate) mod switch;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use kitbag_config::{Config, Project};
use kitbag_domain::ServerName;
use kitbag_upstream::ServerSpec;

use super::Invocation;
use super::failure::{Advise as _, suggest_name};

/// List, add, remove and inspect servers.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  kitbag servers list
  kitbag servers find weather
  kitbag servers add time -- uvx mcp-server-time
  kitbag servers test time
  kitbag servers remove time";

#[derive(Debug, Subcommand)]
enum Verb {
    List(list::Arguments),
    Show(show::Arguments),
    Find(find::Arguments),
    Add(Box<add::Arguments>),
    Remove(remove::Arguments),
    Rename(rename::Arguments),
    Enable(switch::EnableArguments),
    Disable(switch::DisableArguments),
    Restart(restart::Arguments),
    Test(test::Arguments),
    Login(login::LoginArguments),
    Logout(login::LogoutArguments),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::List(arguments) => list::run(&arguments, invocation).await?,
        Verb::Show(arguments) => show::run(&arguments, invocation).await?,
        Verb::Find(arguments) => find::run(arguments, invocation).await?,
        Verb::Add(arguments) => return add::run(*arguments, invocation).await,
        Verb::Remove(arguments) => remove::run(&arguments, invocation)?,
        Verb::Rename(arguments) => rename::run(&arguments, invocation)?,
        Verb::Enable(arguments) => switch::enable(&arguments, invocation)?,
        Verb::Disable(arguments) => switch::disable(&arguments, invocation)?,
        Verb::Restart(arguments) => restart::run(&arguments, invocation).await?,
        Verb::Test(arguments) => return test::run(arguments, invocation).await,
        Verb::Login(arguments) => login::login(arguments, invocation).await?,
        Verb::Logout(arguments) => login::logout(arguments, invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the configured server, or an error that suggests the nearest name.
pub(crate) fn find<'a>(config: &'a Config, name: &ServerName) -> anyhow::Result<&'a ServerSpec> {
    config
        .find_server(name)
        .ok_or_else(|| anyhow!("no server `{name}`"))
        .advise(|| {
            let running = config.running_servers().map(|spec| &spec.name);
            let known = running.chain(config.disabled.keys());
            let otherwise = "list the servers with `kitbag servers list`";
            suggest_name(name.as_str(), known.map(ServerName::as_str), otherwise)
        })
}

/// Returns the configuration and the user's file with the server's table.
fn editable(name: &ServerName, invocation: &Invocation) -> anyhow::Result<(Config, PathBuf)> {
    let config = invocation.config()?;
    let path = editable_file(name, &config)?;
    Ok((config, path))
}

/// Returns the user's file with the server's table.
fn editable_file(name: &ServerName, config: &Config) -> anyhow::Result<PathBuf> {
    find(config, name)?;
    if config
        .agents
        .as_ref()
        .is_some_and(|agents| agents.spec.name == *name)
    {
        return Err(anyhow!(
            "`{name}` is built in and not in your configuration"
        ))
        .advise(|| "to disable it, set `enabled = false` under [agents]".to_owned());
    }
    if let Project::Active { path, servers, .. } = &config.project
        && servers.contains(name)
    {
        return Err(anyhow!("`{name}` comes from {}", path.display())).advise(|| {
            format!(
                "edit the file and trust it again, or run: kitbag trust withdraw {}",
                path.display()
            )
        });
    }
    let path = config
        .origin
        .clone()
        .ok_or_else(|| anyhow!("no configuration file found"))?;
    Ok(path)
}
