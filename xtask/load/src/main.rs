//! Calls one tool from many clients at once and reports how long the answers took.
//!
//! Each client is one keep-alive connection that sends its next call when the last one is
//! answered. Everything but the calls (connections, sessions, a warm-up) lies outside the
//! measured time. The report is one line of JSON.

mod client;
mod report;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use http::Uri;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::report::Report;

/// Calls one tool from many clients at once.
#[derive(Debug, Parser)]
struct Arguments {
    /// The endpoint, over plain HTTP.
    #[arg(long)]
    url: Uri,
    #[arg(long, value_enum)]
    era: Era,
    #[arg(long)]
    tool: String,
    /// How many clients call at the same time.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// How long to measure, after the warm-up.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the report is this program's only product")]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let report = measure(&arguments).await?;
    println!("{}", report.json());
    Ok(())
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Report> {
    let ready = Arc::new(Barrier::new(arguments.clients));
    let length = Duration::from_secs_f64(arguments.seconds);
    let mut first = Client::connect(&arguments.url, arguments.era, &arguments.tool).await?;
    first_answer(&mut first).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..arguments.clients {
        let client = Client::connect(&arguments.url, arguments.era, &arguments.tool).await?;
        tasks.spawn(drive(client, Arc::clone(&ready), length));
    }
    let mut latencies = Vec::new();
    while let Some(outcome) = tasks.join_next().await {
        latencies.extend(outcome.context("a client was interrupted")??);
    }
    Ok(Report::new(latencies, length))
}

/// A gateway that has just started may still be asking its upstream what it offers.
async fn first_answer(client: &mut Client) -> anyhow::Result<()> {
    let begin = Instant::now();
    while let Err(error) = client.call().await {
        if begin.elapsed() > PATIENCE {
            return Err(error);
        }
        tokio::time::sleep(PATIENCE / 200).await;
    }
    Ok(())
}

async fn drive(mut client: Client, ready: Arc<Barrier>, length: Duration) -> anyhow::Result<Vec<Duration>> {
    // The barrier is reached even by a client that fails, so that nobody waits for it forever.
    let warm = call_for(&mut client, WARM_UP).await;
    ready.wait().await;
    warm?;
    call_for(&mut client, length).await
}

async fn call_for(client: &mut Client, length: Duration) -> anyhow::Result<Vec<Duration>> {
    let mut latencies = Vec::with_capacity(1 << 12);
    let begin = Instant::now();
    while begin.elapsed() < length {
        let sent = Instant::now();
        client.call().await?;
        latencies.push(sent.elapsed());
    }
    Ok(latencies)
}

const PATIENCE: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_millis(500);
