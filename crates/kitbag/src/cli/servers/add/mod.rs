//! `kitbag servers add`: adds a server to the configuration file.
//!
//! # Layout
//! - `from_registry`: configures a server from a registry entry
//! - `answers`: values that the entry requires, from flags or the user

pub(crate) mod answers;
pub(crate) mod from_registry;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use clap::error::ErrorKind;
use kitbag_config::edit::{self, EditError, NewServer, Reach};
use kitbag_config::{Config, ConfigSource};
use kitbag_domain::ServerName;
use kitbag_gateway::state::store_address::store_address;
use kitbag_registry::EntryName;
use serde::Serialize;

use super::test::{TestOutcome, test_server};
use crate::cli::doctor::has_literal_secret;
use crate::cli::failure::{Advise as _, CommandFailure};
use crate::cli::output::describe_offers;
use crate::cli::{Invocation, to_exit_code};
use crate::import::staged_secrets::StagedSecrets;
use crate::trail;
use from_registry::{AddOptions, FromRegistry, RegistryOrigin};
use kitbag_gateway::admin::app::App;

/// Add a server: a program to launch, a URL, or a registry entry.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(super) struct Arguments {
    /// Name; tools appear as NAME__tool. OWNER/NAME refers to the registry.
    name: AddTarget,
    /// URL of the server.
    #[arg(conflicts_with = "command")]
    url: Option<String>,
    /// Program and its arguments, after `--`.
    #[arg(last = true)]
    command: Vec<String>,
    /// Environment variable for the program; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_pair, conflicts_with = "url")]
    env: Vec<(String, String)>,
    /// Working directory of the program.
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    cwd: Option<String>,
    /// Header for every request; repeatable.
    #[arg(long, short = 'H', value_name = "KEY=VALUE", value_parser = parse_header, conflicts_with = "command")]
    header: Vec<(String, String)>,
    /// Use `sse` for a server that only speaks the old HTTP+SSE transport.
    #[arg(long, value_parser = ["http", "sse"], conflicts_with = "command")]
    transport: Option<String>,
    /// Add it without enabling it.
    #[arg(long)]
    disabled: bool,
    /// Do not test it.
    #[arg(long)]
    no_test: bool,
    /// Replace a server of the same name.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    from_registry: FromRegistry,
}

const USAGE: &str = "kitbag servers add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...
       kitbag servers add [OPTIONS] <NAME> <URL>
       kitbag servers add [OPTIONS] <OWNER/NAME>";

const EXAMPLES: &str = "\
Examples:
  kitbag servers add time -- uvx mcp-server-time
  kitbag servers add notes --cwd ~/notes -- npx -y @acme/notes-mcp .
  kitbag servers add git --env 'TOKEN=${GIT_TOKEN}' -- git-mcp-server stdio
  kitbag servers add docs https://docs.example/mcp -H 'X-Key=${DOCS_KEY}'
  kitbag servers add old http://localhost:8000/sse --transport sse
  kitbag servers add io.github.acme/weather --set region=eu

The exit code is 1 if the server was added but does not work. ${VARIABLE} is
expanded at launch, which keeps secrets out of the file; use single quotes so
that the shell does not expand it. Names with an owner are looked up in the
registry: kitbag servers find TEXT";

/// The server to add, distinguished by the form of its name.
#[derive(Debug, Clone)]
enum AddTarget {
    Named(ServerName),
    Registered(EntryName),
}

/// A server to write to the configuration.
pub(crate) struct ServerToAdd {
    pub(crate) name: ServerName,
    pub(crate) reach: Reach,
    /// Secrets that the server refers to.
    pub(crate) secrets: StagedSecrets,
    pub(crate) origin: Option<RegistryOrigin>,
}

/// A server that was written to the configuration.
pub(crate) struct AddedServer {
    pub(crate) config: PathBuf,
    /// True if the file contains what looks like a secret in plain text.
    pub(crate) readable: bool,
}

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let (enabled, force) = (!arguments.disabled, arguments.force);
    let is_tested = !arguments.no_test && enabled;
    if let AddTarget::Named(name) = &arguments.name
        && arguments.has_no_source()
    {
        return Ok(report_missing_source(name));
    }
    let mut server = build_server(arguments, invocation).await?;
    let (name, origin) = (server.name.clone(), server.origin.take());
    let (source, verb) = (&invocation.source, &trail::typed_verb());
    let AddedServer { config, readable } =
        write_server(server, enabled, force, source, verb).await?;
    let test = match is_tested {
        true => Some(try_server(&name, invocation).await),
        false => None,
    };
    let works = !matches!(test, Some(TestOutcome::Fails(_)));
    invocation.show(
        &AddReport {
            name,
            config,
            origin,
            test,
        },
        format_report,
    )?;
    if readable {
        invocation.note(READABLE);
    }
    Ok(to_exit_code(works))
}

/// Writes the server to the user's file. `verb` is the command or page that adds it.
pub(crate) async fn write_server(
    server: ServerToAdd,
    enabled: bool,
    force: bool,
    source: &ConfigSource,
    verb: &str,
) -> anyhow::Result<AddedServer> {
    let ServerToAdd {
        name,
        reach,
        secrets,
        ..
    } = server;
    let draft = Draft::build(&name, &NewServer { reach, enabled }, force, source)?;
    // Secrets must be stored before the configuration refers to them.
    secrets
        .save(
            &store_address(&draft.config)?,
            draft.config.secret_key,
            verb,
        )
        .await?;
    let readable = draft
        .config
        .find_server(&name)
        .is_some_and(has_literal_secret);
    let config = draft.write()?;
    Ok(AddedServer { config, readable })
}

/// Builds the server from the command line or the registry.
async fn build_server(
    arguments: Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ServerToAdd> {
    if let AddTarget::Named(name) = &arguments.name
        && !arguments.from_registry.registry
    {
        return from_arguments(name.clone(), arguments);
    }
    arguments.reject_own_definition()?;
    let options = AddOptions {
        force: arguments.force,
        enabled: !arguments.disabled,
    };
    from_registry::fetch(
        &arguments.name,
        &arguments.from_registry,
        options,
        invocation,
    )
    .await
}

const READABLE: &str = "
The file contains what looks like a secret in plain text. To encrypt it, run
  kitbag secret set NAME    and replace the text with ${secret:NAME}";

/// Prints a usage error like clap, with a remedy.
fn report_missing_source(name: &ServerName) -> ExitCode {
    let text = format!(
        "nothing given to run as `{name}`\n\n  \
         launch a program:   kitbag servers add {name} -- COMMAND [ARGS]...\n  \
         connect to a URL:   kitbag servers add {name} URL\n  \
         from the registry:  kitbag servers add OWNER/NAME\n\n\
         To search the registry: kitbag servers find {name}\n"
    );
    // Nothing can be done if stderr is closed.
    let _unheard = clap::Error::raw(ErrorKind::MissingRequiredArgument, text).print();
    ExitCode::from(USAGE_ERROR)
}

/// The same exit code as for usage errors of clap.
const USAGE_ERROR: u8 = 2;

#[derive(Debug, Serialize)]
struct AddReport {
    name: ServerName,
    config: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<RegistryOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<TestOutcome>,
}

/// The edited configuration, not yet written.
struct Draft {
    path: PathBuf,
    text: String,
    config: Config,
}

impl Draft {
    fn build(
        name: &ServerName,
        server: &NewServer,
        force: bool,
        source: &ConfigSource,
    ) -> anyhow::Result<Self> {
        let path = source.editable_file()?;
        let text = edit::read_file(&path)?;
        let before = source.parse(&text, &path);
        check_name_is_free(
            &before.context("the configuration cannot be used")?,
            name,
            force,
        )?;
        let text = edit::add_server(&text, name, server)?;
        let config = source.parse(&text, &path);
        let config = config.with_context(|| format!("the server `{name}` was not added"))?;
        Ok(Self { path, text, config })
    }

    /// Writes the file and returns its path.
    fn write(self) -> Result<PathBuf, EditError> {
        edit::write_file(&self.path, &self.text)?;
        Ok(self.path)
    }
}

/// Returns an error if the name is taken and `force` is false.
pub(crate) fn check_name_is_free(
    config: &Config,
    name: &ServerName,
    force: bool,
) -> anyhow::Result<()> {
    if config.find_server(name).is_none() || force {
        return Ok(());
    }
    Err(anyhow!("server `{name}` already exists"))
        .advise(|| "choose another name, or replace the server with --force".to_owned())
}

/// Starts the server once, so that mistakes show up now and its tools are already listed for the
/// first client.
async fn try_server(name: &ServerName, invocation: &Invocation) -> TestOutcome {
    // The first start of a package downloads it.
    let _shown = invocation.output.progress(&format!("Starting `{name}`"));
    match open_app(name, invocation).await {
        Ok(app) => {
            let outcome = test_server(&app, name).await;
            app.close().await;
            outcome
        }
        Err(error) => TestOutcome::Fails(CommandFailure::from_error(&error)),
    }
}

/// Opens a gateway with this one server.
async fn open_app(name: &ServerName, invocation: &Invocation) -> anyhow::Result<App> {
    let mut config = invocation.config()?;
    config.servers.retain(|other, _| other == name);
    App::open(&config).await
}

fn format_report(added: &AddReport) -> String {
    let AddReport {
        name, config, test, ..
    } = added;
    let path = config.display();
    match test {
        None => {
            format!("Added `{name}` to {path}\nTo test it: kitbag servers test {name}")
        }
        Some(TestOutcome::Works(report)) => format!(
            "Added `{name}` to {path}\nIt works and offers {}.\nTo serve it: kitbag serve (a running gateway adds it by itself)",
            describe_offers(report.tools, report.prompts, report.resources)
        ),
        Some(TestOutcome::Fails(failure)) => format!(
            "Added `{name}` to {path}, but it does not work yet.\n\n{failure}\n\nThen test it: kitbag servers test \
             {name}\nOr remove it: kitbag servers remove {name}"
        ),
    }
}

impl Arguments {
    fn has_no_source(&self) -> bool {
        self.url.is_none() && self.command.is_empty() && !self.from_registry.registry
    }

    fn reject_own_definition(&self) -> anyhow::Result<()> {
        if self.url.is_some() || !self.command.is_empty() {
            return Err(anyhow!(
                "a name with an owner refers to the registry, which defines how to run it"
            ))
            .advise(|| "to define the server yourself, choose a name without `/`".to_owned());
        }
        let has_values = !self.env.is_empty() || !self.header.is_empty();
        if has_values || self.cwd.is_some() || self.transport.is_some() {
            return Err(anyhow!(
                "the registry defines the variables and headers of this server"
            ))
            .advise(|| "set their values with --set KEY=VALUE".to_owned());
        }
        Ok(())
    }
}

fn from_arguments(name: ServerName, arguments: Arguments) -> anyhow::Result<ServerToAdd> {
    let Arguments {
        url,
        command,
        env,
        cwd,
        header,
        transport,
        from_registry,
        ..
    } = arguments;
    if let Some(flag) = from_registry.first_given_flag() {
        bail!("{flag} is only for servers from the registry");
    }
    let mut words = command.into_iter();
    let reach = match (words.next(), url) {
        (Some(command), None) => Reach::Launch {
            command,
            args: words.collect(),
            env,
            cwd,
        },
        (None, Some(url)) if url.contains("://") => Reach::Remote {
            url,
            transport,
            headers: header,
        },
        (None, Some(word)) => {
            return Err(anyhow!("`{word}` is not a URL")).advise(|| {
                format!("to launch it as a program: kitbag servers add {name} -- {word} …")
            });
        }
        _ => bail!("a server needs either a program to launch or a URL"),
    };
    Ok(ServerToAdd {
        name,
        reach,
        secrets: StagedSecrets::default(),
        origin: None,
    })
}

impl FromStr for AddTarget {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        if text.contains('/') {
            Ok(Self::Registered(text.parse()?))
        } else {
            Ok(Self::Named(text.parse()?))
        }
    }
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// `Key=value`, or `Key: value` as in other tools.
fn parse_header(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once(['=', ':']).ok_or("expected KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
