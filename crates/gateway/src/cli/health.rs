//! `kitbag health`: whether a gateway answers, for those who keep it alive.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;

use super::Invocation;
use super::failure::Advise as _;
use super::overriding::address;

/// Ask the gateway on this machine whether it is up.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Where it listens, if not where the configuration says.
    #[arg(long, env = "KITBAG_BIND", hide_env_values = true, value_name = "ADDRESS", value_parser = address)]
    bind: Option<SocketAddr>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag health
  kitbag health --bind 127.0.0.1:7421

The exit code is 1 when nobody answers. No key is needed, and no server is
started; whether the servers work is the business of `kitbag servers test`.";

pub(super) async fn run(arguments: Arguments, mut invocation: Invocation) -> anyhow::Result<ExitCode> {
    invocation.at.overrides.bind = arguments.bind;
    let url = format!("http://{}/health", reachable(invocation.config()?.serve.bind));
    ask(&url).await.advise(|| "start it: kitbag serve".to_owned())?;
    invocation.output.show(&json!({ "url": url, "up": true }), |_| format!("{url} answers"))?;
    Ok(ExitCode::SUCCESS)
}

async fn ask(url: &str) -> anyhow::Result<()> {
    // What is on this machine is not reached through a proxy.
    let client = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build()?;
    let nobody = || format!("nobody answers at {url}");
    let answer = client.get(url).send().await.with_context(nobody)?;
    if !answer.status().is_success() {
        return Err(anyhow!("{url} answers with {}, so it is not Kitbag", answer.status()));
    }
    Ok(())
}

/// An address that stands for all of this machine's is one to listen on, not one to go to.
pub(super) fn reachable(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

const PATIENCE: Duration = Duration::from_secs(5);
