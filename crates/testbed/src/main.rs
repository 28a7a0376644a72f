//! A real MCP server with every manner, good and bad, that the tests need.
//!
//! It stands where a stranger's server would stand: behind the gateway. The official
//! conformance suite finds every name it asks for, and the `--manner` flags bring out the
//! misbehaviour seen in real servers.
//!
//! # Layout
//! - [`cli`]: the flags; [`manners`]: misbehaviour that starts before the first message
//! - [`server`]: what all clients share; [`peer`]: what belongs to one client
//! - [`dispatch`], [`legacy`], [`modern`]: from a request to its answer, per era
//! - [`call`]: what a tool or prompt sees of the request it serves
//! - [`lists`], [`tools`], [`prompts`], [`resources`]: what is on offer
//! - [`catalog`]: other people's tools, listed in their place
//! - [`hostile`]: what means harm: lists, nesting and floods without end
//! - [`stdio`], [`http`], [`sse`]: the transports

mod call;
mod catalog;
mod cli;
mod dispatch;
mod hostile;
mod http;
mod input;
mod legacy;
mod lists;
mod manners;
mod modern;
mod outbox;
mod peer;
mod prompts;
mod resources;
mod seal;
mod server;
mod sse;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;

use std::io::{self, Write};

use clap::Parser;

use crate::cli::{Arguments, Command, Manner, Served};
use crate::server::Server;
use crate::tools::exotic;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    match arguments.command {
        Command::PrintExotic => return print(exotic_result(arguments.era)),
        Command::PrintDefinition => return print(exotic::DEFINITION),
        Command::Stdio | Command::Http { .. } | Command::Sse { .. } => {}
    }
    if let (Command::Http { port }, Some(file)) = (arguments.command, &arguments.catalog) {
        return http::serve_catalog(arguments.era, catalog::read(file)?, port).await;
    }
    manners::at_start(&arguments.manners, arguments.data_dir.as_deref()).await?;
    let stays = arguments.manners.contains(&Manner::IgnoreTerm);
    let server = Server::new(arguments.era, arguments.manners, arguments.data_dir);
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
