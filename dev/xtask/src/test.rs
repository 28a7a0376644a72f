//! Everything that must pass before a change is merged, cheapest first.

use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use xtask::postgres::PostgresServer;
use xtask::repository::Repository;
use xtask::{cargo, processes, setup};

use crate::{conformance, fuzz};

/// The setup waits for the network while the first steps need the processor, so it starts together
/// with them.
pub(crate) fn all(repository: &Repository) -> anyhow::Result<()> {
    let begin = Instant::now();
    let times = thread::scope(|scope| {
        let mut setting_up = Some(scope.spawn(|| perform(repository, Step::Setup)));
        let mut times = Vec::new();
        for (done, step) in Step::ALL.into_iter().enumerate() {
            let time = match (step, setting_up.take()) {
                (Step::Setup, Some(setup)) => join_step(setup)?,
                (_, going_on) => {
                    setting_up = going_on;
                    print_remaining(&Step::ALL[done..], begin.elapsed());
                    perform(repository, step)?
                }
            };
            times.push((step, time));
        }
        anyhow::Ok(times)
    })?;
    print_times(times, begin.elapsed());
    Ok(())
}

fn join_step(step: ScopedJoinHandle<'_, anyhow::Result<Duration>>) -> anyhow::Result<Duration> {
    step.join()
        .unwrap_or_else(|_| Err(anyhow!("a step panicked")))
}

fn print_remaining(steps: &[Step], elapsed: Duration) {
    let names: Vec<&str> = steps.iter().map(|step| step.name()).collect();
    println!("\n── {:.0?} so far; to do: {}", elapsed, names.join(", "));
}

/// Prints the steps, slowest first.
fn print_times(mut times: Vec<(Step, Duration)>, total: Duration) {
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    println!();
    for (step, time) in times {
        println!("{:>7.1} s  {}", time.as_secs_f64(), step.name());
    }
    println!("\nall steps passed in {total:.0?}");
}

/// The checks of a developer's loop: lints, and the tests that need neither `.tools` nor the whole
/// gateway in many processes.
pub(crate) fn quick(repository: &Repository) -> anyhow::Result<()> {
    for step in [Step::Format, Step::Lints, Step::Build, Step::QuickTests] {
        perform(repository, step)?;
    }
    Ok(())
}

pub(crate) fn only(repository: &Repository, name: &str) -> anyhow::Result<()> {
    let step = Step::from_name(name).ok_or_else(|| {
        anyhow!(
            "`{name}` is not a step; the steps are {}",
            Step::ALL.map(Step::name).join(", ")
        )
    })?;
    for needed in step.needs() {
        perform(repository, *needed)?;
    }
    perform(repository, step).map(drop)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Format,
    Lints,
    Docs,
    Build,
    Setup,
    Tests,
    QuickTests,
    Postgres,
    Doctests,
    Fuzz,
    Conformance,
}

impl Step {
    const ALL: [Self; 10] = [
        Self::Format,
        Self::Lints,
        Self::Docs,
        Self::Build,
        Self::Setup,
        Self::Tests,
        Self::Postgres,
        Self::Doctests,
        Self::Fuzz,
        Self::Conformance,
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Lints => "lints",
            Self::Docs => "docs",
            Self::Build => "build",
            Self::Setup => "setup",
            Self::Tests => "tests",
            Self::QuickTests => "quick-tests",
            Self::Postgres => "postgres",
            Self::Doctests => "doctests",
            Self::Fuzz => "fuzz",
            Self::Conformance => "conformance",
        }
    }

    /// The steps that this one relies on. A whole run has already done them.
    fn needs(self) -> &'static [Self] {
        match self {
            Self::Tests | Self::Postgres => &[Self::Build, Self::Setup],
            Self::QuickTests => &[Self::Build],
            _ => &[],
        }
    }
}

fn perform(repository: &Repository, step: Step) -> anyhow::Result<Duration> {
    let name = step.name();
    println!("\n── {name}");
    let begin = Instant::now();
    outcome(repository, step).with_context(|| {
        format!("step `{name}` failed; run only this step with: cargo xtask test --only {name}")
    })?;
    let time = begin.elapsed();
    println!("── {name} took {time:.1?}");
    Ok(time)
}

fn outcome(repository: &Repository, step: Step) -> anyhow::Result<()> {
    match step {
        Step::Format => cargo::run(repository, &["fmt", "--all", "--check"]),
        Step::Lints => cargo::run(
            repository,
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "-D",
                "warnings",
            ],
        ),
        Step::Docs => docs(repository),
        Step::Build => cargo::build_programs(repository),
        Step::Setup => setup::run(repository),
        Step::Tests => tests(repository),
        Step::QuickTests => quick_tests(repository),
        Step::Postgres => on_postgres(repository),
        Step::Doctests => cargo::run(repository, &["test", "--workspace", "--doc"]),
        Step::Fuzz => fuzz::run_before_merge(repository),
        Step::Conformance => conformance::run(repository, &[]),
    }
}

/// Nothing here is published, so the documentation may link to private items.
fn docs(repository: &Repository) -> anyhow::Result<()> {
    let mut doc = cargo::command(
        repository,
        &[
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
    );
    processes::run(doc.env(
        "RUSTDOCFLAGS",
        "-D warnings -A rustdoc::private_intra_doc_links",
    ))
}

/// The tests marked as ignored need `.tools`, which is installed here.
fn tests(repository: &Repository) -> anyhow::Result<()> {
    let arguments: &[&str] = if processes::exists("cargo-nextest") {
        // The end-to-end tests mostly wait for processes, so more of them than cores run at once.
        &[
            "nextest",
            "run",
            "--workspace",
            "--run-ignored",
            "all",
            "--test-threads",
            "6",
            "--no-fail-fast",
        ]
    } else {
        &[
            "test",
            "--workspace",
            "--all-targets",
            "--",
            "--include-ignored",
        ]
    };
    let server = PostgresServer::start()?;
    let mut tests = cargo::command(repository, arguments);
    tests.env("KITBAG_TOOLS", repository.tools());
    processes::run(server.announce(&mut tests))
}

/// The tests of the crates and of the command line.
fn quick_tests(repository: &Repository) -> anyhow::Result<()> {
    let arguments: &[&str] = if processes::exists("cargo-nextest") {
        let but_processes = "not (binary(e2e) or binary(third_party) or package(xtask))";
        &[
            "nextest",
            "run",
            "--workspace",
            "--no-fail-fast",
            "-E",
            but_processes,
        ]
    } else {
        &["test", "--workspace", "--lib", "--bins"]
    };
    cargo::run(repository, arguments)
}

/// The parts of the end-to-end tests that concern persistent state.
const ABOUT_STATE: [&str; 10] = [
    "audit::",
    "callers::",
    "hidden::",
    "index::",
    "intents::learning",
    "learning::pairings::a_pairing",
    "joining::",
    "keys::",
    "login::",
    "reload::",
];

/// Runs the end-to-end tests about state again, with every store on PostgreSQL.
fn on_postgres(repository: &Repository) -> anyhow::Result<()> {
    let parts = ABOUT_STATE.map(|part| format!("test({part})"));
    let about_state = format!("binary(e2e) and ({})", parts.join(" or "));
    // All test programs as before, or everything would be rebuilt with other features.
    let arguments = if processes::exists("cargo-nextest") {
        let mut run = vec!["nextest", "run", "--workspace", "--test-threads", "6"];
        run.extend(["--no-fail-fast", "-E", &about_state]);
        run
    } else {
        let mut test = vec!["test", "--workspace", "--test", "e2e", "--"];
        test.extend(ABOUT_STATE);
        test
    };
    let server = PostgresServer::start()?;
    let mut tests = cargo::command(repository, &arguments);
    tests.env("KITBAG_TEST_ENGINE", "postgres");
    processes::run(server.announce(&mut tests))
}
