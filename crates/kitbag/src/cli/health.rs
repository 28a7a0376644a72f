//! `kitbag health`: checks that a gateway answers, for supervisors.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use kitbag_config::Config;
use reqwest::Response;
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::gateway::ask_running_gateway;
use super::overrides::parse_address;
use crate::local::requests::GetStatus;

/// Check that the gateway on this machine answers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Address to check [default: the configured address, else that of the running gateway].
    #[arg(long, env = "KITBAG_BIND", hide_env_values = true, value_name = "ADDRESS", value_parser = parse_address)]
    bind: Option<SocketAddr>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag health
  kitbag health --bind 127.0.0.1:7421

The exit code is 1 if no gateway answers. No key is needed, and no server is
started; to check servers, use `kitbag servers test`.";

pub(super) async fn run(
    arguments: Arguments,
    mut invocation: Invocation,
) -> anyhow::Result<ExitCode> {
    invocation.source.overrides.bind = arguments.bind;
    let config = invocation.config()?;
    let mut url = health_url(config.serve.bind);
    let mut answered = check_health(&url).await;
    if answered.is_err()
        && arguments.bind.is_none()
        && let Some(address) = find_running_address(&config, &invocation).await
    {
        url = health_url(address);
        answered = check_health(&url).await;
    }
    answered.advise(|| "start one: kitbag serve".to_owned())?;
    invocation.show(&json!({ "url": url, "up": true }), |_| {
        format!("{url} answers")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn health_url(bind: SocketAddr) -> String {
    format!("http://{}/health", connectable_address(bind))
}

/// Returns the address of the running gateway for this user and configuration, which may differ
/// from the configured one.
async fn find_running_address(config: &Config, invocation: &Invocation) -> Option<SocketAddr> {
    let status = ask_running_gateway(GetStatus {}, config, invocation).await?;
    status.ok()?.address
}

async fn check_health(url: &str) -> anyhow::Result<()> {
    let answer = fetch(url, TIMEOUT).await;
    let answer = answer.with_context(|| format!("no gateway answers at {url}"))?;
    if !answer.status().is_success() {
        return Err(anyhow!(
            "{url} answered {}; it is not Kitbag",
            answer.status()
        ));
    }
    Ok(())
}

/// Requests a URL on this machine, without a proxy.
pub(super) async fn fetch(url: &str, timeout: Duration) -> reqwest::Result<Response> {
    let client = kitbag_fetch::client().timeout(timeout).no_proxy().build()?;
    client.get(url).send().await
}

/// Returns an address to connect to: the loopback address for an unspecified one.
pub(super) fn connectable_address(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

const TIMEOUT: Duration = Duration::from_secs(5);
