//! `kitbag servers add`: one more server in the configuration file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use kitbag_domain::ServerName;
use serde::Serialize;

use super::test::{Outcome, test};
use crate::app::App;
use crate::cli::Invocation;
use crate::cli::failure::{Advise as _, Failure};
use crate::cli::output::offers;
use crate::config::edit::{self, NewServer, Reach};
use crate::config::{self, ConfigError};

/// Add a server: a program to launch, or the URL of one that is running.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(super) struct Arguments {
    /// What to call it; tools appear as NAME__tool.
    name: ServerName,
    /// Where the server is reached.
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    url: Option<String>,
    /// The program and its arguments, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
    /// A variable for the program; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// The directory to launch the program in.
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    cwd: Option<String>,
    /// A header for every request; may be repeated.
    #[arg(long, short = 'H', value_name = "KEY=VALUE", value_parser = header, conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// `sse` for a server that speaks only the old HTTP+SSE transport.
    #[arg(long, value_parser = ["http", "sse"], conflicts_with = "command")]
    transport: Option<String>,
    /// Write it down without using it yet.
    #[arg(long)]
    disabled: bool,
    /// Do not start it now to see whether it works.
    #[arg(long)]
    no_test: bool,
    /// Replace a server of the same name.
    #[arg(long)]
    force: bool,
}

const USAGE: &str = "kitbag servers add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...
       kitbag servers add [OPTIONS] <NAME> <URL>";

const EXAMPLES: &str = "\
Examples:
  kitbag servers add time -- uvx mcp-server-time
  kitbag servers add notes --cwd ~/notes -- npx -y @acme/notes-mcp .
  kitbag servers add git --env 'TOKEN=${GIT_TOKEN}' -- git-mcp-server stdio
  kitbag servers add docs https://docs.example/mcp -H 'X-Key=${DOCS_KEY}'
  kitbag servers add old http://localhost:8000/sse --transport sse

${VARIABLE} is filled in at launch, so that the secret stays out of the file.
Put it in single quotes, or the shell fills it in right away.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<()> {
    let name = arguments.name.clone();
    let wanted = !arguments.no_test && !arguments.disabled;
    let path = write_down(arguments, invocation)?;
    let test = if wanted { Some(try_out(&name, invocation).await) } else { None };
    invocation.output.show(&Added { name, config: path, test }, for_people)
}

#[derive(Debug, Serialize)]
struct Added {
    name: ServerName,
    config: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Outcome>,
}

/// The configuration file that now has the server.
fn write_down(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<PathBuf> {
    let name = arguments.name.clone();
    let path = invocation.around.editable(&invocation.overrides).ok_or(ConfigError::NoHome)?;
    let text = read(&path)?;
    let before = config::parse(&text, Some(&path), &invocation.overrides, &invocation.around)
        .context("the configuration cannot be used")?;
    if before.server(&name).is_some() && !arguments.force {
        return Err(anyhow!("there is a server `{name}` already"))
            .advise(|| "choose another name, or replace it with --force".to_owned());
    }
    let server = describe(arguments)?;
    let text = edit::add_server(&text, &name, &server)?;
    config::parse(&text, Some(&path), &invocation.overrides, &invocation.around)
        .with_context(|| format!("the server `{name}` was not added"))?;
    edit::write(&path, &text).with_context(|| format!("{} could not be written", path.display()))?;
    Ok(path)
}

/// Starts the server once, so that a mistake shows while the person is still here, and the
/// first client finds its tools.
async fn try_out(name: &ServerName, invocation: &Invocation) -> Outcome {
    invocation.output.note(&format!("Asking `{name}` what it offers"));
    match open(name, invocation).await {
        Ok(app) => {
            let outcome = test(&app, name).await;
            app.close().await;
            outcome
        }
        Err(error) => Outcome::Fails(Failure::of(&error)),
    }
}

/// A house with this one server in it.
async fn open(name: &ServerName, invocation: &Invocation) -> anyhow::Result<App> {
    let mut config = invocation.config()?;
    config.servers.retain(|other, _| other == name);
    App::open(&config).await
}

fn for_people(added: &Added) -> String {
    let Added { name, config, test } = added;
    let path = config.display();
    match test {
        None => format!("Added `{name}` to {path}\nSee whether it works: kitbag servers test {name}"),
        Some(Outcome::Works(report)) => format!(
            "Added `{name}` to {path}\nIt works and offers {}.\nServe it: kitbag serve (start it again if it is \
             running)",
            offers(report.tools, report.prompts, report.resources)
        ),
        Some(Outcome::Fails(failure)) => format!(
            "Added `{name}` to {path}, but it does not work yet.\n\n{failure}\n\nAfter that: kitbag servers test \
             {name}\nOr take it out again: kitbag servers remove {name}"
        ),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other.with_context(|| format!("the configuration file {} cannot be read", path.display())),
    }
}

fn describe(arguments: Arguments) -> anyhow::Result<NewServer> {
    let Arguments { name, url, command, env, cwd, header, transport, disabled, .. } = arguments;
    let mut words = command.into_iter();
    let reach = match (words.next(), url) {
        (Some(command), None) => Reach::Launch { command, args: words.collect(), env, cwd },
        (None, Some(url)) if url.contains("://") => Reach::Remote { url, transport, headers: header },
        (None, Some(word)) => {
            return Err(anyhow!("`{word}` is not a URL"))
                .advise(|| format!("to launch it as a program: kitbag servers add {name} -- {word} …"));
        }
        _ => bail!("a server needs either a program to launch or a URL"),
    };
    Ok(NewServer { reach, enabled: !disabled })
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// `Key=value`, or `Key: value` as other tools want it.
fn header(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once(['=', ':']).ok_or("write KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
