//! `kitbag stats tokens`: the tokens that a surface costs and saves.

use kitbag_domain::Surface;
use std::process::ExitCode;

use clap::Args;

use crate::cli::Invocation;
use crate::cli::gateway::{CommandGateway, JoinChoice};
use crate::cli::output::{format_table, pluralize};
use crate::local::requests::CountTokens;
use kitbag_gateway::surface::tokens::SurfaceTokens;

/// Count the tokens that a surface costs a model, and the tokens it saves.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Surface: search, adaptive, code or all [default: the configured one].
    #[arg(long, value_name = "SURFACE")]
    surface: Option<Surface>,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag stats tokens
  kitbag stats tokens --surface adaptive
  kitbag stats tokens --json";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let surface = arguments.surface.unwrap_or(config.surfaces.default);
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let output = invocation.output;
    let counting = async {
        gateway.fetch_listings(None, output).await?;
        let counting = gateway.ask(CountTokens { surface });
        output.with_progress("Counting tokens", counting).await
    };
    let counted = counting.await;
    gateway.close().await;
    let tokens = counted?;
    invocation.show(&tokens, format_tokens)?;
    invocation.note("Counted with o200k; an estimate for models with another tokenizer.");
    Ok(ExitCode::SUCCESS)
}

fn format_tokens(tokens: &SurfaceTokens) -> String {
    let rows = tokens.servers.iter();
    let mut servers: Vec<_> = rows.collect();
    servers.sort_by_key(|it| std::cmp::Reverse(it.tokens));
    let rows = servers.into_iter().map(|it| {
        [
            it.server.to_string(),
            it.tools.to_string(),
            it.tokens.to_string(),
        ]
    });
    let share = 100.0 * tokens.saved as f64 / tokens.catalog.max(1) as f64;
    format!(
        "{}\n{} would cost {} tokens. `{}` shows {}: {} saved ({share:.1} %).",
        format_table(["SERVER", "TOOLS", "TOKENS"], rows),
        pluralize(tokens.tools, "tool"),
        tokens.catalog,
        tokens.surface,
        tokens.shown,
        tokens.saved,
    )
}
