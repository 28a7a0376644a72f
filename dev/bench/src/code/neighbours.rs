//! Calls and programs of one tenant while another tenant runs hostile programs, compared with the
//! same without an attack.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::processes::Server;
use xtask::repository::{Profile, Repository};
use xtask::scene::{self, Era, Gateway};

use super::figures::{LatencySpread, PartReport};
use crate::cli::kitbag;
use crate::http::Session;

pub(super) fn measure(repository: &Repository) -> anyhow::Result<PartReport> {
    let gateway = SharedGateway::open(repository)?;
    let mut report =
        PartReport::new("a tenant next to hostile programs of another, eight at a time");
    eprintln!("without an attack");
    let baseline = gateway.measure_latencies()?;
    report.add("without an attack, a call, p50", baseline.calls.p50, "ms");
    report.add(
        "without an attack, a program, p50",
        baseline.programs.p50,
        "ms",
    );
    for (attack, act) in ATTACKS {
        eprintln!("during {attack}");
        let (attacked, acts) = gateway.measure_under_attack(act)?;
        report.add(format!("{attack}, acts"), acts as f64, "");
        add(
            &mut report,
            &format!("{attack}, a call"),
            attacked.calls,
            baseline.calls,
        );
        add(
            &mut report,
            &format!("{attack}, a program"),
            attacked.programs,
            baseline.programs,
        );
    }
    Ok(report)
}

const ATTACKS: [(&str, HostileAct); 4] = [
    ("infinite loop", HostileAct::Program("while (true) {}")),
    (
        "memory bomb",
        HostileAct::Program(
            "const all = []; while (true) all.push(new Array(100000).fill(all.length));",
        ),
    ),
    (
        "flood of calls",
        HostileAct::Program(
            "while (true) await Promise.all(\
             Array.from({ length: 1000 }, () => tools.testbed.echo({ message: 'x' })));",
        ),
    ),
    ("as many plain calls", HostileAct::PlainCalls),
];

/// The act that a hostile tenant repeats.
#[derive(Debug, Clone, Copy)]
enum HostileAct {
    Program(&'static str),
    /// Calls without a program, to distinguish the cost of calls from the cost of programs.
    PlainCalls,
}

impl HostileAct {
    fn at_a_time(self) -> usize {
        match self {
            Self::Program(_) => 8,
            // Seven programs of one tenant run at once, with sixteen calls each.
            Self::PlainCalls => 7 * 16,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Program(_) => "/mcp/code",
            Self::PlainCalls => "/mcp/all",
        }
    }

    fn call(self) -> (String, Value) {
        match self {
            Self::Program(code) => ("run_code".to_owned(), json!({ "code": code })),
            Self::PlainCalls => (format!("{}__echo", scene::NAME), json!({ "message": "x" })),
        }
    }
}

const LENGTH: Duration = Duration::from_secs(8);
/// A hostile program runs until its timeout. A short timeout starts the next one sooner, which is
/// worse for the others than one that continues.
const SETTINGS: &str = "[policy]\ncode_writes = \"allow\"\n\n[code]\ntimeout = \"3s\"\n\n\
                        [tenants.peaceful]\n\n[tenants.hostile]\n\n";

/// A gateway with two tenants and a server whose tool `echo` repeats its argument.
struct SharedGateway {
    gateway: Gateway,
    peaceful: String,
    hostile: String,
    _testbed: Server,
}

/// The latencies of one tenant over a while.
struct TenantLatencies {
    calls: LatencySpread,
    programs: LatencySpread,
}

impl SharedGateway {
    fn open(repository: &Repository) -> anyhow::Result<Self> {
        let folder = repository.scratch("bench-code-neighbours")?;
        let (testbed, url) =
            scene::start_testbed(repository, Profile::Release, &folder, Era::Legacy)?;
        let own = format!("[servers.{}]\n{}\n", scene::NAME, scene::http_section(&url));
        let sections = format!("{SETTINGS}{own}");
        let config = folder.join("kitbag.toml");
        fs::write(&config, &sections).with_context(|| format!("writing {}", config.display()))?;
        let peaceful = key(repository, &folder, "peaceful")?;
        let hostile = key(repository, &folder, "hostile")?;
        let gateway =
            Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
        Ok(Self {
            gateway,
            peaceful,
            hostile,
            _testbed: testbed,
        })
    }

    /// Measures during an attack, and returns the number of hostile acts that ended in the
    /// meantime.
    fn measure_under_attack(&self, act: HostileAct) -> anyhow::Result<(TenantLatencies, usize)> {
        let over = AtomicBool::new(false);
        let (origin, hostile) = (&self.gateway.origin, &self.hostile);
        thread::scope(|scope| {
            let attackers: Vec<_> = (0..act.at_a_time())
                .map(|_| scope.spawn(|| attack(origin, hostile, act, &over)))
                .collect();
            let visit = self.measure_latencies();
            over.store(true, Ordering::Relaxed);
            let mut acts = 0;
            for attacker in attackers {
                // An attacker that gave up early would make the neighbours look good.
                acts += match attacker.join() {
                    Ok(ended) => ended.context("attacking")?,
                    Err(_) => bail!("an attacker ended early"),
                };
            }
            Ok((visit?, acts))
        })
    }

    /// Alternates calls and runs.
    fn measure_latencies(&self) -> anyhow::Result<TenantLatencies> {
        let origin = &self.gateway.origin;
        let mut all = Session::open_with_key(origin, "/mcp/all", &self.peaceful)?;
        let mut code = Session::open_with_key(origin, "/mcp/code", &self.peaceful)?;
        let echo = format!("{}__echo", scene::NAME);
        let (mut calls, mut programs) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while begin.elapsed() < LENGTH {
            calls.push(time_call(&mut all, &echo, &json!({ "message": "x" }))?);
            programs.push(time_call(
                &mut code,
                "run_code",
                &json!({ "code": "return 1" }),
            )?);
        }
        Ok(TenantLatencies {
            calls: LatencySpread::from_latencies(calls),
            programs: LatencySpread::from_latencies(programs),
        })
    }
}

/// Repeats the act until the measurement is over.
fn attack(origin: &str, key: &str, act: HostileAct, over: &AtomicBool) -> anyhow::Result<usize> {
    let mut session = Session::open_with_key(origin, act.path(), key)?;
    let (tool, arguments) = act.call();
    let mut acts = 0;
    while !over.load(Ordering::Relaxed) {
        session.call(&tool, &arguments)?;
        acts += 1;
    }
    Ok(acts)
}

fn time_call(session: &mut Session, tool: &str, arguments: &Value) -> anyhow::Result<Duration> {
    let begin = Instant::now();
    let result = session.call(tool, arguments)?;
    let took = begin.elapsed();
    if result["isError"] == true {
        bail!("{tool} was answered with {result}");
    }
    Ok(took)
}

fn key(repository: &Repository, folder: &Path, tenant: &str) -> anyhow::Result<String> {
    let printed = kitbag(
        repository,
        folder,
        &["--json", "key", "create", "--tenant", tenant],
    )?;
    let printed: Value = serde_json::from_str(&printed)?;
    let key = printed["key"]
        .as_str()
        .context("the command printed no key")?;
    Ok(key.to_owned())
}

fn add(report: &mut PartReport, what: &str, attacked: LatencySpread, baseline: LatencySpread) {
    report.add(format!("{what}, p50"), attacked.p50, "ms");
    report.add(format!("{what}, p95"), attacked.p95, "ms");
    report.add(
        format!("{what}, p50 relative to no attack"),
        attacked.p50 / baseline.p50,
        "times",
    );
}
