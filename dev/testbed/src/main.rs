//! A real MCP server for tests, with configurable misbehaviour.
//!
//! It runs behind the gateway, like the server of an unknown author. It has every name that the
//! official conformance suite requires, and the `--manner` flags enable misbehaviour that real
//! servers have shown.
//!
//! # Layout
//! - [`cli`]: the command line; [`misbehaviour`]: misbehaviour before the first message
//! - [`server`]: the state shared by all clients; [`connected_client`]: the state of one client
//! - [`dispatch`], [`legacy`], [`modern`]: from a request to its answer, per era
//! - [`call`]: the request that a tool or prompt serves, as the tool sees it
//! - [`lists`], [`tools`], [`prompts`], [`resources`]: tools, prompts and resources
//! - [`catalog`]: tools of other servers, listed instead of its own
//! - [`hostile`]: deliberate harm: endless lists, nesting and floods; [`markup`]: text that wants to run
//! - [`stdio`], [`http`], [`sse`]: the transports

mod call;
mod catalog;
mod cli;
mod connected_client;
mod dispatch;
mod edited;
mod hostile;
mod http;
mod input;
mod legacy;
mod lists;
mod markup;
mod misbehaviour;
mod modern;
mod outbox;
mod prompts;
mod resources;
mod seal;
mod server;
mod skills;
mod sse;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;

use std::io::{self, Write};

use clap::Parser;

use crate::cli::{Command, Misbehaviour, Served, TestbedArguments};
use crate::server::TestServer;
use crate::tools::exotic;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = TestbedArguments::parse();
    match (arguments.command, &arguments.catalog) {
        (Command::PrintExotic, _) => print(exotic_result(arguments.era)),
        (Command::PrintDefinition, _) => print(exotic::DEFINITION),
        (Command::Http { port }, Some(file)) => {
            http::serve_catalog(arguments.era, catalog::read(file)?, port).await
        }
        (Command::Stdio | Command::Http { .. } | Command::Sse { .. }, _) => serve(arguments).await,
    }
}

async fn serve(arguments: TestbedArguments) -> anyhow::Result<()> {
    misbehaviour::at_start(&arguments.misbehaviours, arguments.data_dir.as_deref()).await?;
    let stays = arguments.misbehaviours.contains(&Misbehaviour::IgnoreTerm);
    let server = TestServer::new(arguments.era, arguments.misbehaviours, arguments.data_dir);
    match arguments.command {
        Command::Stdio => stdio::serve(server).await?,
        Command::Http { port } => http::serve(server, port).await?,
        Command::Sse { port } => sse::serve(server, port).await?,
        Command::PrintExotic | Command::PrintDefinition => {}
    }
    if stays {
        std::future::pending::<()>().await;
    }
    Ok(())
}

fn exotic_result(era: Served) -> &'static str {
    match era {
        Served::Legacy => exotic::LEGACY_RESULT,
        Served::Modern | Served::Dual => exotic::MODERN_RESULT,
    }
}

fn print(line: &str) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{line}")?;
    Ok(())
}
