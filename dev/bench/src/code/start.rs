//! The time from a request to the result of the smallest program: with an idle worker and with a
//! new one, in the sandbox only and through the gateway.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kitbag_domain::Tenant;
use kitbag_sandbox::{
    Budget, Host, HostError, HostRequest, Isolation, Program, Sandbox, SandboxSettings,
    WorkerCommand,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use super::figures::{Goal, LatencySpread, PartReport};
use crate::http::Session;

pub(super) fn measure(repository: &Repository) -> anyhow::Result<PartReport> {
    let mut report = PartReport::new("the start of a run: `return 1`");
    eprintln!("the sandbox only");
    tokio::runtime::Runtime::new()?.block_on(measure_sandbox(repository, &mut report))?;
    eprintln!("through the gateway");
    measure_gateway(repository, &mut report)?;
    Ok(report)
}

/// The goals in milliseconds for a run with an idle worker, and with a new one.
const WARM: f64 = 5.0;
const COLD: f64 = 50.0;
const WARM_RUNS: usize = 500;
const COLD_RUNS: usize = 30;
/// Each starts its own gateway.
const FIRST_CALLS: usize = 8;
const SMALLEST: &str = "return 1";

async fn measure_sandbox(repository: &Repository, report: &mut PartReport) -> anyhow::Result<()> {
    let settings = settings(repository);
    add(
        report,
        "sandbox, worker waits",
        WARM,
        measure_warm(&settings).await?,
    );
    add(
        report,
        "sandbox, first run after its start",
        COLD,
        measure_first_run(&settings).await?,
    );
    add(
        report,
        "sandbox, all slots but one taken",
        COLD,
        measure_crowded(&settings).await?,
    );
    Ok(())
}

async fn measure_warm(settings: &SandboxSettings) -> anyhow::Result<Vec<Duration>> {
    let (sandbox, tenant) = (Sandbox::new(settings.clone()), tenant(0)?);
    time_run(&sandbox, &tenant).await?;
    let mut latencies = Vec::new();
    for _ in 0..WARM_RUNS {
        latencies.push(time_run(&sandbox, &tenant).await?);
    }
    Ok(latencies)
}

async fn measure_first_run(settings: &SandboxSettings) -> anyhow::Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    for _ in 0..COLD_RUNS {
        let sandbox = Sandbox::new(settings.clone());
        latencies.push(time_run(&sandbox, &tenant(0)?).await?);
    }
    Ok(latencies)
}

/// Each run is of another tenant, so that none can use the previous worker, and there is no room
/// for an idle worker.
async fn measure_crowded(settings: &SandboxSettings) -> anyhow::Result<Vec<Duration>> {
    let sandbox = Sandbox::new(settings.clone());
    let arrived = Arc::new(Semaphore::new(0));
    let mut long = JoinSet::new();
    for number in 1..settings.most {
        long.spawn(occupy_worker(
            sandbox.clone(),
            tenant(number)?,
            arrived.clone(),
        ));
    }
    let _all = arrived.acquire_many(settings.most as u32 - 1).await?;
    time_run(&sandbox, &tenant(0)?).await?;
    let mut latencies = Vec::new();
    for number in 0..COLD_RUNS {
        latencies.push(time_run(&sandbox, &tenant(settings.most + number)?).await?);
    }
    Ok(latencies)
}

async fn occupy_worker(sandbox: Sandbox, tenant: Tenant, arrived: Arc<Semaphore>) {
    let host = SilentHost { arrived };
    sandbox
        .run(&tenant, program("await search('')"), &host)
        .await;
}

async fn time_run(sandbox: &Sandbox, tenant: &Tenant) -> anyhow::Result<Duration> {
    let host = SilentHost {
        arrived: Arc::new(Semaphore::new(0)),
    };
    let begin = Instant::now();
    let outcome = sandbox.run(tenant, program(SMALLEST), &host).await;
    let took = begin.elapsed();
    outcome.value.context("the smallest program failed")?;
    Ok(took)
}

/// Counts the requests that arrive, and answers none.
struct SilentHost {
    arrived: Arc<Semaphore>,
}

impl Host for SilentHost {
    async fn answer(&self, _: HostRequest) -> Result<Box<RawValue>, HostError> {
        self.arrived.add_permits(1);
        std::future::pending().await
    }

    fn waits_for_person(&self) -> bool {
        false
    }
}

fn program(source: &str) -> Program {
    Program {
        source: source.to_owned(),
        params: None,
        wants_shape: false,
    }
}

fn tenant(number: usize) -> anyhow::Result<Tenant> {
    Ok(format!("tenant-{number}").parse()?)
}

/// The gateway's own defaults, with its own program as the worker.
fn settings(repository: &Repository) -> SandboxSettings {
    SandboxSettings {
        worker: WorkerCommand {
            program: repository.program_path(Profile::Release, "kitbag"),
            arguments: vec![WorkerCommand::ARGUMENT.to_owned()],
        },
        budget: Budget {
            wall: Duration::from_secs(30),
            cpu: Duration::from_secs(30),
            memory: 128 << 20,
            output: 1_000_000,
            calls: 200,
            calls_at_once: 16,
        },
        warm: 2,
        most: 8,
        isolation: Isolation::Required,
    }
}

fn measure_gateway(repository: &Repository, report: &mut PartReport) -> anyhow::Result<()> {
    let mut first = Vec::new();
    for _ in 1..FIRST_CALLS {
        first.push(call(&mut open_session(repository)?.1)?);
    }
    let (_gateway, mut session) = open_session(repository)?;
    first.push(call(&mut session)?);
    let warm: Result<Vec<Duration>, _> = (0..WARM_RUNS).map(|_| call(&mut session)).collect();
    add(report, "gateway over HTTP, worker waits", WARM, warm?);
    add(
        report,
        "gateway over HTTP, first run after its start",
        COLD,
        first,
    );
    Ok(())
}

fn open_session(repository: &Repository) -> anyhow::Result<(Gateway, Session)> {
    let folder = repository.scratch("bench-code-start")?;
    let gateway = Gateway::start_with_sections(repository, Profile::Release, &folder, "")?;
    let session = Session::open(&gateway.origin, "/mcp/code")?;
    Ok((gateway, session))
}

fn call(session: &mut Session) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let result = session.call("run_code", &json!({ "code": SMALLEST }))?;
    let took = begin.elapsed();
    if result["isError"] == true {
        bail!("the smallest program was answered with {result}");
    }
    Ok(took)
}

fn add(report: &mut PartReport, what: &str, most: f64, latencies: Vec<Duration>) {
    let spread = LatencySpread::from_latencies(latencies);
    report.add(format!("{what}, p50"), spread.p50, "ms");
    report.set_goal(Goal::AtMost(most));
    report.add(format!("{what}, p95"), spread.p95, "ms");
}
