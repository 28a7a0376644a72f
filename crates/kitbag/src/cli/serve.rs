//! `kitbag serve`: serves clients over HTTP, or over stdin and stdout.

use kitbag_config::Config;
use kitbag_domain::Surface;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use tokio::io::{AsyncRead, BufReader};

use super::next_steps::{first_steps, has_no_servers};
use super::output::pluralize;
use super::overrides::ServeOverrides;
use super::{Invocation, journal};
use crate::local::gateway_connection::GatewayConnection;
use crate::local::protocol::Want;
use crate::local::relay::{GatewayEnded, RelayEnd, relay};
use crate::serving::{self, Banner, wait_for_signal};
use kitbag_gateway::admin::app::App;

/// Serve all configured servers at one MCP endpoint.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Speak MCP over stdin and stdout instead of HTTP.
    ///
    /// If a gateway is running for the same user and configuration, the client is relayed to it and
    /// shares its servers.
    #[arg(long)]
    stdio: bool,
    /// With --stdio, start separate servers instead of joining the running gateway.
    #[arg(long, requires = "stdio")]
    own: bool,
    #[command(flatten)]
    overrides: ServeOverrides,
}

const EXAMPLES: &str = "\
Examples:
  kitbag serve
  kitbag serve --stdio --surface all
  kitbag serve --stdio --own
  kitbag serve --bind 0.0.0.0:7420 --require-key";

pub(super) async fn run(
    arguments: Arguments,
    mut invocation: Invocation,
) -> anyhow::Result<ExitCode> {
    arguments.overrides.apply(&mut invocation.source.overrides);
    if arguments.stdio {
        return Box::pin(serve_stdio(&arguments, &invocation)).await;
    }
    journal::open_in(&invocation.source.data_dir()?);
    let follower = invocation.follow_config()?;
    let config = follower.initial_config().clone();
    config.serve.check_exposure()?;
    let app = App::open(&config).await?;
    serving::serve_http(app, follower, |banner| {
        print_banner(banner, &config, &invocation);
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}

/// Relays the client to the running gateway, or serves it here.
async fn serve_stdio(arguments: &Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let mut stdin = BufReader::with_capacity(64 * 1024, tokio::io::stdin());
    let surface = arguments.overrides.surface;
    if !arguments.own && !ServeOverrides::sets_address() {
        match relay_if_running(surface, invocation, &mut stdin).await? {
            Some(RelayEnd::ByClient) => return Ok(ExitCode::SUCCESS),
            Some(RelayEnd::ByGateway) => return Err(GatewayEnded.into()),
            Some(RelayEnd::Unused) => {
                tracing::info!("the gateway has ended; continuing without it");
            }
            None => {}
        }
    }
    journal::open_in(&invocation.source.data_dir()?);
    let follower = invocation.follow_config()?;
    let app = App::open(&follower.initial_config().clone()).await?;
    serving::serve_stdio(app, follower, surface, &mut stdin).await?;
    Ok(ExitCode::SUCCESS)
}

/// Relays the client to the running gateway, if there is one, and returns how the relay ended.
async fn relay_if_running(
    surface: Option<Surface>,
    invocation: &Invocation,
    stdin: &mut (impl AsyncRead + Unpin),
) -> anyhow::Result<Option<RelayEnd>> {
    // An invalid configuration does not matter here: the running gateway keeps its last valid one.
    let config = invocation.config().ok();
    let want = Want::Stdio { surface };
    let Some(gateway) = GatewayConnection::find(&invocation.source, config.as_ref(), want).await
    else {
        return Ok(None);
    };
    tracing::debug!("joined the running gateway");
    let mut stdout = tokio::io::stdout();
    tokio::select! {
        ended = relay(gateway, stdin, &mut stdout) => Ok(Some(ended?)),
        () = wait_for_signal() => Ok(Some(RelayEnd::ByClient)),
    }
}

fn print_banner(banner: &Banner, config: &Config, invocation: &Invocation) {
    let snippet = client_snippet(banner, config);
    let result = json!({
        "endpoint": banner.endpoint,
        "pages": banner.pages,
        "servers": config.servers.len(),
        "known": banner.known,
        "asking": banner.asking,
        "tools": banner.tools,
        "client": snippet,
    });
    let shown = invocation.show(&result, |_| {
        let next = has_no_servers(config).then(|| first_steps(invocation));
        format_banner(banner, config, &snippet, next.as_deref())
    });
    if let Err(error) = shown {
        // The launching program may have closed stdout; serve anyway.
        tracing::debug!(%error, "cannot print the banner");
    }
}

fn format_banner(
    banner: &Banner,
    config: &Config,
    snippet: &serde_json::Value,
    next: Option<&str>,
) -> String {
    let origin = config
        .origin
        .as_ref()
        .map_or("the defaults".to_owned(), |path| path.display().to_string());
    let found = describe_servers(banner);
    let disabled = match config.disabled.len() {
        0 => String::new(),
        number => format!("; {number} disabled"),
    };
    let access = if config.serve.allows_keyless() {
        "from this machine, without a key"
    } else {
        "with a key"
    };
    let next = next.map(|next| format!("{next}\n\n")).unwrap_or_default();
    format!(
        "Kitbag serves {endpoint}\n\n  Servers: {found}{disabled}\n  Pages:   {pages}\n  Access:  {access}\n  Config:  {origin}\n\n\
         {next}Add to a client:\n\n{snippet:#}\n",
        endpoint = banner.endpoint,
        pages = banner.pages,
    )
}

fn describe_servers(banner: &Banner) -> String {
    let tools = pluralize(banner.tools, "tool");
    match (banner.known, banner.asking) {
        (0, 0) => "none yet".to_owned(),
        (known, 0) => format!("{known} with {tools}"),
        (0, asking) => format!("{asking}, listing tools"),
        (known, asking) => {
            format!(
                "{} ({known} known with {tools}, {asking} listing)",
                known + asking
            )
        }
    }
}

/// Returns an entry in the common client format; the user fills in the key.
fn client_snippet(banner: &Banner, config: &Config) -> serde_json::Value {
    let mut server = json!({ "type": "http", "url": banner.endpoint });
    if !config.serve.allows_keyless() {
        server["headers"] = json!({ "Authorization": "Bearer YOUR_KEY" });
    }
    json!({ "mcpServers": { "kitbag": server } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_counts_servers() {
        let check = |known, asking, tools, expected: &str| {
            assert_eq!(
                describe_servers(&Banner {
                    endpoint: String::new(),
                    pages: String::new(),
                    known,
                    asking,
                    tools
                }),
                expected
            );
        };
        check(0, 0, 0, "none yet");
        check(1, 0, 1, "1 with 1 tool");
        check(0, 2, 0, "2, listing tools");
        check(5, 2, 61, "7 (5 known with 61 tools, 2 listing)");
    }
}
