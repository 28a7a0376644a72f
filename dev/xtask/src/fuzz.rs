//! Fuzzes the parsers of untrusted text, for any length of time.
//!
//! Each target is a property test. It is run repeatedly, each time with the next seed, until the
//! time is over; a failure prints the seed that reproduces it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde_json::Value;
use xtask::repository::Repository;
use xtask::{cargo, processes};

/// A parser of foreign text, and its tests: the directory of their package, their program as cargo
/// knows it, and the beginning of their names.
struct Target {
    name: &'static str,
    package: &'static str,
    program: &'static str,
    tests: &'static str,
}

const TARGETS: [Target; 9] = [
    Target {
        name: "envelope",
        package: "crates/wire",
        program: "kitbag_wire",
        tests: "message::",
    },
    Target {
        name: "configuration",
        package: "crates/config",
        program: "kitbag_config",
        tests: "anything::",
    },
    Target {
        name: "client-files",
        package: "crates/clients",
        program: "fixtures",
        tests: "a_damaged_file",
    },
    Target {
        name: "registry",
        package: "crates/registry",
        program: "registry",
        tests: "anything::",
    },
    Target {
        name: "catalog",
        package: "crates/gateway",
        program: "kitbag_gateway",
        tests: "catalog::tests::whatever",
    },
    Target {
        name: "arguments",
        package: "crates/schema",
        program: "kitbag_schema",
        tests: "anything",
    },
    Target {
        name: "rules",
        package: "crates/policy",
        program: "spelling",
        tests: "",
    },
    Target {
        name: "vendors",
        package: "crates/llm",
        program: "catalogs",
        tests: "",
    },
    Target {
        name: "pages",
        package: "crates/web",
        program: "kitbag_web",
        tests: "reader::bounds::tests::whatever",
    },
];

/// The first seed of every run before a merge, so that two runs use the same cases.
const FIXED_SEED: u64 = 20_261_115;
/// Enough that starting the program does not matter, and few enough to stay within the time.
const CASES_AT_ONCE: &str = "500";
/// The time of each target before a merge.
const TIME_BEFORE_MERGE: Duration = Duration::from_secs(30);

/// Runs every target, all at the same time, from the fixed seed on.
pub(crate) fn run_before_merge(repository: &Repository) -> anyhow::Result<()> {
    let all: Vec<&Target> = TARGETS.iter().collect();
    run_all(repository, &all, TIME_BEFORE_MERGE, FIXED_SEED)
}

/// `[TARGET] [--minutes N] [--seed N]`
pub(crate) fn run(repository: &Repository, words: &[&str]) -> anyhow::Result<()> {
    let (mut targets, mut minutes, mut seed) =
        (TARGETS.iter().collect::<Vec<_>>(), 10, from_the_clock());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => minutes = number(word, words.next())?,
            "--seed" => seed = number(word, words.next())?,
            name => targets = vec![find_target(name)?],
        }
    }
    run_all(
        repository,
        &targets,
        Duration::from_secs(60 * minutes),
        seed,
    )
}

fn number(flag: &str, given: Option<&&str>) -> anyhow::Result<u64> {
    let given = given.with_context(|| format!("{flag} needs a number"))?;
    given
        .parse()
        .with_context(|| format!("`{given}` is not a number"))
}

fn find_target(name: &str) -> anyhow::Result<&'static Target> {
    match TARGETS.iter().find(|target| target.name == name) {
        Some(target) => Ok(target),
        None => bail!(
            "`{name}` is not a target; there are {}",
            TARGETS.map(|it| it.name).join(", ")
        ),
    }
}

fn from_the_clock() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(FIXED_SEED, |since| since.as_secs())
}

fn run_all(
    repository: &Repository,
    targets: &[&Target],
    time: Duration,
    seed: u64,
) -> anyhow::Result<()> {
    // Built first, so that the time is spent on running.
    let programs = TestPrograms::build(repository)?;
    let failures: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = targets
            .iter()
            .map(|target| scope.spawn(|| target.run(&programs, time, seed)))
            .collect();
        running
            .into_iter()
            .filter_map(|it| it.join().unwrap_or(Some("a target broke down".to_owned())))
            .collect()
    });
    if !failures.is_empty() {
        bail!("{}", failures.join("\n"));
    }
    Ok(())
}

impl Target {
    /// Returns the part of the output that describes the failure, if there was one.
    fn run(&self, programs: &TestPrograms, time: Duration, seed: u64) -> Option<String> {
        let (begun, mut round) = (Instant::now(), 0);
        while begun.elapsed() < time {
            let seed = seed + round;
            let Some(mut command) = programs.command(self) else {
                return Some(format!("{}: its test program was not built", self.name));
            };
            command
                .env("PROPTEST_CASES", CASES_AT_ONCE)
                .env("PROPTEST_RNG_SEED", seed.to_string());
            command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
            match processes::output(command.arg(self.tests)) {
                Ok((status, _)) if status.success() => {}
                Ok((_, printed)) => return Some(self.describe_failure(seed, &printed)),
                Err(error) => return Some(format!("{}: {error:#}", self.name)),
            }
            round += 1;
        }
        println!(
            "{}: {round} rounds of {CASES_AT_ONCE} cases, seeds {seed} to {}",
            self.name,
            seed + round
        );
        None
    }

    fn is_of(&self, built: &Value) -> bool {
        built["target"]["name"] == self.program
            && folder(built).is_some_and(|folder| folder.ends_with(self.package))
    }

    fn describe_failure(&self, seed: u64, printed: &str) -> String {
        let name = self.name;
        format!(
            "{printed}\n{name} failed; reproduce it with: cargo xtask fuzz {name} --minutes 1 --seed {seed}"
        )
    }
}

/// The programs of all tests. They are built like in the step `tests`, or cargo would rebuild
/// everything with the features of a single package.
struct TestPrograms(Vec<Value>);

impl TestPrograms {
    fn build(repository: &Repository) -> anyhow::Result<Self> {
        let arguments = ["test", "--workspace", "--no-run", "--message-format=json"];
        let output = cargo::command(repository, &arguments)
            .stderr(Stdio::inherit())
            .output()
            .context("building the tests")?;
        if !output.status.success() {
            bail!("the tests cannot be built");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let built = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(Self(built.filter(is_test_program).collect()))
    }

    /// Runs a program in the directory of its package, as cargo does.
    fn command(&self, target: &Target) -> Option<Command> {
        let mut programs = self.0.iter();
        let found = programs.find(|built| target.is_of(built))?;
        let mut command = Command::new(found["executable"].as_str()?);
        command.arg("--quiet").current_dir(folder(found)?);
        Some(command)
    }
}

/// The directory of a program's package.
fn folder(built: &Value) -> Option<&Path> {
    Path::new(built["manifest_path"].as_str()?).parent()
}

fn is_test_program(built: &Value) -> bool {
    built["profile"]["test"] == true && built["executable"].is_string()
}
