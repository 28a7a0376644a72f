//! `kitbag servers`: which servers are behind the endpoint.

mod add;
mod find;
mod list;
mod login;
mod person;
mod remove;
mod restart;
mod standing;
mod test;

use std::process::ExitCode;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use kitbag_domain::ServerName;
use kitbag_upstream::ServerSpec;

use super::Invocation;
use super::failure::Advise as _;
use crate::config::{Config, nearest};

/// See, add, remove and inspect the servers behind the endpoint.
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
    Find(find::Arguments),
    Add(Box<add::Arguments>),
    Remove(remove::Arguments),
    Restart(restart::Arguments),
    Test(test::Arguments),
    Login(login::LoginArguments),
    Logout(login::LogoutArguments),
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::List(arguments) => list::run(&arguments, invocation).await?,
        Verb::Find(arguments) => find::run(arguments, invocation).await?,
        Verb::Add(arguments) => return add::run(*arguments, invocation).await,
        Verb::Remove(arguments) => remove::run(&arguments, invocation)?,
        Verb::Restart(arguments) => restart::run(&arguments, invocation).await?,
        Verb::Test(arguments) => return test::run(arguments, invocation).await,
        Verb::Login(arguments) => login::login(arguments, invocation).await?,
        Verb::Logout(arguments) => login::logout(arguments, invocation).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The configured server of that name, or an error that knows what was probably meant.
pub(super) fn find<'a>(config: &'a Config, name: &ServerName) -> anyhow::Result<&'a ServerSpec> {
    let running = || config.running().map(|spec| &spec.name);
    let known = || running().chain(config.disabled.keys()).map(ServerName::as_str);
    let advice = || match nearest(name.as_str(), known()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "see which there are with `kitbag servers list`".to_owned(),
    };
    config.server(name).ok_or_else(|| anyhow!("there is no server `{name}`")).advise(advice)
}
