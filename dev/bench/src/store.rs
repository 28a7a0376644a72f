//! The cost of storage: audit rows and key look-ups, on either engine.
//!
//! The engines alternate, round by round, so that a temporarily busy machine affects both; the
//! median of the rounds is reported. PostgreSQL is a local server, reached over its socket, with
//! Debian's default settings.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use kitbag_domain::{
    CallCost, Caller, Capability, Observation, Origin, Outcome, Purpose, Tenant, Timestamp,
};
use kitbag_store::{KeySpec, Recognition, Store, StoreAddress};
use serde_json::json;
use tokio::task::JoinSet;
use xtask::postgres::PostgresServer;
use xtask::repository::Repository;

const ROUNDS: usize = 5;
const ROWS: usize = 20_000;
/// The rows that are queued at once, as under heavy load.
const ROWS_AT_ONCE: usize = 1_000;
/// The calls that wait for their rows at the same time, if the audit is required.
const CALLERS: usize = 8;
const CALLS_EACH: usize = 50;
const KEYS: usize = 300;
const LOOK_UPS: usize = 20_000;

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let as_json = match arguments {
        [] => false,
        ["--json"] => true,
        _ => bail!("`cargo xtask bench store` takes --json and nothing else"),
    };
    let folder = repository.scratch("bench-store")?;
    let server = PostgresServer::start()?;
    let stores = [
        ("SQLite", StoreAddress::from(&folder.join("kitbag.db"))),
        (
            "PostgreSQL",
            StoreAddress::parse(&server.address(), &folder.join("postgres"))?,
        ),
    ];
    let runtime = tokio::runtime::Runtime::new()?;
    let engines = runtime.block_on(measure(&stores))?;
    if as_json {
        let rows: Vec<_> = engines.iter().map(EngineFigures::json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        table(&engines);
    }
    Ok(())
}

/// The rounds of one engine.
struct EngineFigures {
    engine: &'static str,
    rounds: Vec<Round>,
}

#[derive(Clone, Copy)]
struct Round {
    rows_per_second: f64,
    recorded_calls_per_second: f64,
    recorded_p99: Duration,
    first_look_up_p99: Duration,
    look_up_p99: Duration,
}

async fn measure(stores: &[(&'static str, StoreAddress)]) -> anyhow::Result<Vec<EngineFigures>> {
    let mut engines = Vec::new();
    for (engine, _) in stores {
        let rounds = Vec::new();
        engines.push(EngineFigures { engine, rounds });
    }
    for number in 1..=ROUNDS {
        eprintln!("round {number} of {ROUNDS}");
        for ((_, address), figures) in stores.iter().zip(&mut engines) {
            figures.rounds.push(round(address).await?);
        }
    }
    Ok(engines)
}

async fn round(address: &StoreAddress) -> anyhow::Result<Round> {
    let store = Store::open(address).await.context("opening the store")?;
    let rows_per_second = rows_per_second(&store).await;
    let (recorded_calls_per_second, recorded_p99) = recorded_calls(&store).await?;
    let (first_look_up_p99, look_up_p99) = look_ups(&store, address).await?;
    store.close().await;
    Ok(Round {
        rows_per_second,
        recorded_calls_per_second,
        recorded_p99,
        first_look_up_p99,
        look_up_p99,
    })
}

/// Rows that no call waits for.
async fn rows_per_second(store: &Store) -> f64 {
    let sink = store.start_audit_sink();
    let begin = Instant::now();
    for _ in 0..ROWS / ROWS_AT_ONCE {
        (0..ROWS_AT_ONCE).for_each(|_| sink.record_call(call()));
        sink.flush().await;
    }
    let took = begin.elapsed().as_secs_f64();
    sink.shutdown().await;
    ROWS as f64 / took
}

/// Calls that wait until their row is on disk, several at the same time.
async fn recorded_calls(store: &Store) -> anyhow::Result<(f64, Duration)> {
    let (sink, mut callers) = (store.start_audit_sink(), JoinSet::new());
    let begin = Instant::now();
    for _ in 0..CALLERS {
        let sink = sink.clone();
        callers.spawn(async move {
            let mut took = Vec::with_capacity(CALLS_EACH);
            for _ in 0..CALLS_EACH {
                let begin = Instant::now();
                sink.begin_call(call()).await?;
                took.push(begin.elapsed());
            }
            anyhow::Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(ended) = callers.join_next().await {
        took.extend(ended??);
    }
    let per_second = took.len() as f64 / begin.elapsed().as_secs_f64();
    sink.shutdown().await;
    Ok((per_second, p99(took)))
}

/// The first look-up of each key by a process, and the later ones.
async fn look_ups(store: &Store, address: &StoreAddress) -> anyhow::Result<(Duration, Duration)> {
    let order = KeySpec::user(Tenant::local());
    let mut tokens = Vec::with_capacity(KEYS);
    for _ in 0..KEYS {
        let key = store.create_key(&order, Timestamp(1)).await?;
        tokens.push(key.token.reveal().to_owned());
    }
    let other = Store::open(address).await?;
    let mut first = Vec::with_capacity(KEYS);
    for token in &tokens {
        first.push(look_up(&other, token).await?);
    }
    let mut later = Vec::with_capacity(LOOK_UPS);
    for token in tokens.iter().cycle().take(LOOK_UPS) {
        later.push(look_up(&other, token).await?);
    }
    other.close().await;
    Ok((p99(first), p99(later)))
}

async fn look_up(store: &Store, token: &str) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let found = store.authenticate(token, Timestamp(2)).await?;
    let took = begin.elapsed();
    match found {
        Recognition::Known(_) => Ok(took),
        other => bail!("a key was not recognized: {other:?}"),
    }
}

fn call() -> Observation {
    Observation {
        at: Timestamp(1_700_000_000_000),
        caller: Caller::local(),
        client: None,
        origin: Origin::default(),
        purpose: Purpose::Use,
        capability: Capability::tool("files".parse().expect("a name"), "read_text_file"),
        outcome: Outcome::Ok,
        latency: Duration::from_micros(1_234),
        cost: CallCost::default(),
        arguments: None,
    }
}

fn p99(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() * 99 / 100]
}

impl EngineFigures {
    fn median(&self, figure: impl Fn(&Round) -> f64) -> f64 {
        let mut all: Vec<f64> = self.rounds.iter().map(figure).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }

    fn micros(&self, figure: impl Fn(&Round) -> Duration) -> f64 {
        self.median(|round| figure(round).as_secs_f64() * 1e6)
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "engine": self.engine,
            "audit_rows_per_second": self.median(|it| it.rows_per_second),
            "recorded_calls_per_second": self.median(|it| it.recorded_calls_per_second),
            "recorded_call_p99_us": self.micros(|it| it.recorded_p99),
            "first_key_look_up_p99_us": self.micros(|it| it.first_look_up_p99),
            "key_look_up_p99_us": self.micros(|it| it.look_up_p99),
        })
    }
}

fn table(engines: &[EngineFigures]) {
    println!(
        "{:<11} {:>13} {:>15} {:>16} {:>18} {:>15}",
        "engine",
        "audit rows/s",
        "required rows/s",
        "required p99 µs",
        "first key p99 µs",
        "key p99 µs"
    );
    for it in engines {
        println!(
            "{:<11} {:>13.0} {:>15.0} {:>16.0} {:>18.0} {:>15.1}",
            it.engine,
            it.median(|round| round.rows_per_second),
            it.median(|round| round.recorded_calls_per_second),
            it.micros(|round| round.recorded_p99),
            it.micros(|round| round.first_look_up_p99),
            it.micros(|round| round.look_up_p99),
        );
    }
}
