//! `kitbag serve`: opens the doors.

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::Invocation;
use super::output::count;
use crate::app::{App, Banner};
use crate::config::{Config, parse_bind};
use crate::surface::Surface;

/// Serve every configured server at one MCP endpoint.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Speak MCP on stdin and stdout instead of HTTP.
    #[arg(long)]
    stdio: bool,
    /// What clients are shown where the path does not say: search, adaptive, code or all.
    #[arg(long, env = "KITBAG_SURFACE", hide_env_values = true, value_name = "SURFACE")]
    surface: Option<Surface>,
    /// The address to listen on; 127.0.0.1:7420 unless configured.
    #[arg(long, env = "KITBAG_BIND", hide_env_values = true, value_name = "ADDRESS", value_parser = parse_bind)]
    bind: Option<SocketAddr>,
    /// Let nobody in without a key, not even from this machine.
    #[arg(
        long,
        env = "KITBAG_REQUIRE_KEY",
        hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    require_key: Option<bool>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag serve
  kitbag serve --stdio --surface all
  kitbag serve --bind 0.0.0.0:7420 --require-key";

pub(super) async fn run(arguments: Arguments, mut invocation: Invocation) -> anyhow::Result<ExitCode> {
    invocation.overrides.bind = arguments.bind;
    invocation.overrides.require_key = arguments.require_key;
    invocation.overrides.surface = arguments.surface;
    let config = invocation.config()?;
    prefer_small_pages();
    if arguments.stdio {
        App::open(&config).await?.serve_stdio(arguments.surface).await?;
        return Ok(ExitCode::SUCCESS);
    }
    config.serve.guarded()?;
    let app = App::open(&config).await?;
    app.serve_http(|banner| welcome(banner, &config, &invocation)).await?;
    Ok(ExitCode::SUCCESS)
}

/// Huge pages make a heap that is mostly small things a third larger, and nothing here faster.
fn prefer_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%error, "huge pages stay on");
    }
}

fn welcome(banner: &Banner, config: &Config, invocation: &Invocation) {
    let snippet = snippet(banner, config);
    let result = json!({
        "endpoint": banner.endpoint,
        "servers": config.servers.len(),
        "known": banner.known,
        "asking": banner.asking,
        "tools": banner.tools,
        "client": snippet,
    });
    let shown = invocation.output.show(&result, |_| for_people(banner, config, &snippet));
    if let Err(error) = shown {
        // Whoever started us may have closed stdout; that is no reason not to serve.
        tracing::debug!(%error, "the welcome could not be shown");
    }
}

fn for_people(banner: &Banner, config: &Config, snippet: &serde_json::Value) -> String {
    let origin = config.origin.as_ref().map_or("the defaults".to_owned(), |path| path.display().to_string());
    let found = found(banner);
    let disabled = match config.disabled.len() {
        0 => String::new(),
        number => format!("; {number} disabled"),
    };
    let door = if config.serve.keyless() { "from this machine, without a key" } else { "with a key" };
    format!(
        "Kitbag serves {endpoint}\n\n  Servers: {found}{disabled}\n  Open:    {door}\n  Config:  {origin}\n\n\
         Paste into a client:\n\n{snippet:#}\n",
        endpoint = banner.endpoint,
    )
}

fn found(banner: &Banner) -> String {
    let tools = count(banner.tools, "tool");
    match (banner.known, banner.asking) {
        (0, 0) => "none yet; add one: kitbag servers add time -- uvx mcp-server-time".to_owned(),
        (known, 0) => format!("{known} with {tools}"),
        (0, asking) => format!("{asking}, being asked what they offer"),
        (known, asking) => {
            format!("{} ({known} known with {tools}, {asking} being asked)", known + asking)
        }
    }
}

/// What most clients understand; the key stays for the person to fill in.
fn snippet(banner: &Banner, config: &Config) -> serde_json::Value {
    let mut server = json!({ "type": "http", "url": banner.endpoint });
    if !config.serve.keyless() {
        server["headers"] = json!({ "Authorization": "Bearer YOUR_KEY" });
    }
    json!({ "mcpServers": { "kitbag": server } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_welcome_says_what_was_found() {
        let check = |known, asking, tools, expected: &str| {
            assert_eq!(found(&Banner { endpoint: String::new(), known, asking, tools }), expected);
        };
        check(0, 0, 0, "none yet; add one: kitbag servers add time -- uvx mcp-server-time");
        check(1, 0, 1, "1 with 1 tool");
        check(0, 2, 0, "2, being asked what they offer");
        check(5, 2, 61, "7 (5 known with 61 tools, 2 being asked)");
    }
}
