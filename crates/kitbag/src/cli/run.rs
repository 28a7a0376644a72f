//! `kitbag run`: runs a program that calls tools the same way `run_code` does.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};

use super::arguments::read_text;
use super::call::format_result;
use super::gateway::{CommandGateway, JoinChoice};
use super::{Invocation, to_exit_code};
use crate::local::requests::CallAlwaysOnTool;

/// Run a program that calls tools.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Program file in JavaScript or TypeScript; - for stdin.
    #[arg(value_name = "FILE")]
    file: String,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag run report.js
  echo 'return await search(\"read a file\")' | kitbag run -

The program runs in the sandbox under the rules for this machine. By default it
may call only tools that read; `code_writes` in [policy] allows others. The exit
code is 1 if the program fails.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let code = read_text(&arguments.file)?;
    let config = invocation.config()?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let given = Map::from_iter([("code".to_owned(), Value::String(code))]);
    let running = async {
        gateway.fetch_listings(None, invocation.output).await?;
        gateway.index_in_background();
        let name = "run_code".to_owned();
        let arguments = given;
        let running = gateway.ask(CallAlwaysOnTool { name, arguments });
        let output = invocation.output;
        output.with_progress("Running the program", running).await
    };
    let ran = running.await;
    gateway.close().await;
    let result = ran?;
    invocation.show(&result, format_result)?;
    let failed = result.get("isError").and_then(Value::as_bool);
    Ok(to_exit_code(failed != Some(true)))
}
