//! Calls tools from many clients at once and reports the latencies.
//!
//! Each client is one keep-alive connection that sends its next call when the last one is answered.
//! Everything except the calls (connections, sessions, a warm-up) is outside the measured time. The
//! report is one line of JSON.

mod client;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use http::Uri;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::client::{Call, Client};
use crate::report::Tally;

/// Calls a tool from many clients at once
#[derive(Debug, Parser)]
struct Arguments {
    /// Endpoint URL, over plain HTTP
    #[arg(long)]
    url: Uri,
    #[arg(long, value_enum)]
    era: Era,
    /// Tool that repeats its `message`; without it, clients only search
    #[arg(long, required_unless_present = "queries")]
    tool: Option<String>,
    /// Search before each call with a line of this file, and call with `call_api`
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Number of concurrent clients
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// Time to measure, after the warm-up
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// The requests that every client repeats.
#[derive(Debug)]
struct Round {
    era: Era,
    searches: Option<Searches>,
    call: Option<Call>,
}

#[derive(Debug)]
struct Searches {
    queries: Vec<String>,
    /// The number of searches so far. No two are the same, so none is answered from a cache.
    count: AtomicUsize,
}

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "the report is this program's only product"
)]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let tally = measure(&arguments).await?;
    println!("{}", tally.json());
    Ok(())
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Tally> {
    let ready = Arc::new(Barrier::new(arguments.clients));
    let length = Duration::from_secs_f64(arguments.seconds);
    let round = Arc::new(Round::new(arguments)?);
    let mut first = Client::connect(&arguments.url, arguments.era).await?;
    wait_for_first_answer(&mut first, &round).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..arguments.clients {
        let client = Client::connect(&arguments.url, arguments.era).await?;
        tasks.spawn(drive_client(
            client,
            round.clone(),
            Arc::clone(&ready),
            length,
        ));
    }
    let mut all = Tally::default();
    while let Some(tally) = tasks.join_next().await {
        all.add(tally.context("a client was interrupted")?);
    }
    Ok(all)
}

/// A gateway that has just started may still be listing its upstream.
async fn wait_for_first_answer(client: &mut Client, round: &Round) -> anyhow::Result<()> {
    let begin = Instant::now();
    while let Err(error) = round.call_once(client, &mut Tally::default()).await {
        if begin.elapsed() > TIMEOUT {
            return Err(error);
        }
        tokio::time::sleep(TIMEOUT / 200).await;
    }
    Ok(())
}

async fn drive_client(
    mut client: Client,
    round: Arc<Round>,
    ready: Arc<Barrier>,
    length: Duration,
) -> Tally {
    let warm = round.repeat(&mut client, WARM_UP).await;
    ready.wait().await;
    let mut tally = round.repeat(&mut client, length).await;
    tally.errors.extend(warm.errors);
    tally
}

impl Round {
    fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        let Arguments {
            era, tool, queries, ..
        } = arguments;
        let searches = queries.as_deref().map(Searches::read).transpose()?;
        let call = tool.as_deref().map(|tool| match searches {
            Some(_) => Call::echo_through_call_api(*era, tool),
            None => Call::echo(*era, tool),
        });
        Ok(Self {
            era: *era,
            searches,
            call: call.transpose()?,
        })
    }

    /// Repeats until the time is over, or something fails: a failing call fails again at once, and
    /// would be counted endlessly.
    async fn repeat(&self, client: &mut Client, length: Duration) -> Tally {
        let mut tally = Tally::default();
        let begin = Instant::now();
        while begin.elapsed() < length && tally.errors.is_empty() {
            if let Err(error) = self.call_once(client, &mut tally).await {
                tally.errors.push(format!("{error:#}"));
            }
        }
        tally.took = begin.elapsed();
        tally
    }

    async fn call_once(&self, client: &mut Client, tally: &mut Tally) -> anyhow::Result<()> {
        if let Some(searches) = &self.searches {
            let search = Call::search(self.era, &searches.next())?;
            tally.searches.push(time_call(client, &search).await?);
        }
        if let Some(call) = &self.call {
            tally.calls.push(time_call(client, call).await?);
        }
        Ok(())
    }
}

impl Searches {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        Ok(Self {
            queries: text.lines().map(str::to_owned).collect(),
            count: AtomicUsize::new(0),
        })
    }

    fn next(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{} {number}", self.queries[number % self.queries.len()])
    }
}

async fn time_call(client: &mut Client, call: &Call) -> anyhow::Result<Duration> {
    let sent = Instant::now();
    client.call(call).await?;
    Ok(sent.elapsed())
}

const TIMEOUT: Duration = Duration::from_secs(10);
const WARM_UP: Duration = Duration::from_millis(500);
