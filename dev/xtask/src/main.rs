//! Development tasks, run as `cargo xtask TASK`.
//!
//! Depends only on `anyhow` and `serde_json`, so that a task starts within seconds on a fresh checkout.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tasks print to the terminal"
)]

mod conformance;
mod dist;
mod expected;
mod fuzz;
mod results;
mod suite;
mod test;

use std::process::ExitCode;

use anyhow::bail;
use xtask::repository::Repository;
use xtask::{cargo, postgres, setup};

const USAGE: &str = "\
Development tasks:

  cargo xtask test [--only STEP]           Run every check that a change must pass before it is merged
  cargo xtask test --quick                 Run the checks of a developer's loop: lints and the tests of the crates
  cargo xtask setup                        Install pinned dependencies of the end-to-end tests into .tools
  cargo xtask postgres -- COMMAND…         Run a command with a PostgreSQL server up
  cargo xtask fuzz [TARGET] [--minutes N] [--seed N]
                                           Feed random input to every parser of untrusted text (10 minutes)
  cargo xtask conformance [--pair PAIR]…   Run the official suite through the gateway, for each pair of eras
  cargo xtask dist [--target TRIPLE]… [--binary PATH] [--out DIR] [--url BASE] [--only KIND]…
                                           Make the packages of this version in target/packages

Benchmarks:

  cargo xtask bench proxy [--json] [--seconds N] [--rounds N] [--with-kitbag PATH] [--with-mcp-proxy PATH]
                                           Latency and throughput, compared with the same server called directly
  cargo xtask bench retrieval [--data DIR] [--install] [--json]
                                           Search quality of BM25, published weights and Kitbag
  cargo xtask bench peers [--data DIR] [--install] [--json]
                                           Search quality of FastMCP, mcp-proxy and Kitbag, each as a gateway
  cargo xtask bench speed [--data DIR] [--up-to TOOLS] [--json]
                                           Search latency from 1,000 to 1,000,000 tools; draws docs/speed.svg
  cargo xtask bench learning [--data DIR]  Effect of learning, as JSON; draws docs/learning.svg
  cargo xtask bench tokens [--data DIR] [--json]
                                           Token cost of tools, compared with listing all of them
  cargo xtask bench store [--json]         Audit rows and key lookups, on SQLite and PostgreSQL
  cargo xtask bench clients [--data DIR] [--json]
                                           1,000 clients that search and call concurrently
  cargo xtask bench code [--only PART] [--tasks FILE --tools FILE] [--json]
                                           Programs: start-up, hostile neighbours, token cost
  cargo xtask bench code --tasks FILE --tools FILE --suite FOLDER
                                           Convert published tasks into a suite for `kitbag eval agents`
  cargo xtask bench models [--data DIR] [--json]
                                           Time the model proxy adds to the first event of a response
  cargo xtask bench pages [--json]         Time and size of each web page, with 10,000 tools and a million audit rows

  --data DIR   Folder with data sets too large for the repository [env: KITBAG_BENCH_DATA]
  --install    Install the pinned programs to compare with into .tools";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let repository = Repository::here()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["setup"] => setup::run(&repository),
        ["test"] => test::all(&repository),
        ["test", "--quick"] => test::quick(&repository),
        ["test", "--only", step] => test::only(&repository, step),
        ["postgres", "--", rest @ ..] => postgres::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(&repository, rest),
        ["conformance", rest @ ..] => conformance::run(&repository, rest),
        ["dist", rest @ ..] => dist::run(&repository, rest),
        ["bench", rest @ ..] => bench(&repository, rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("`cargo xtask {}` is not a task\n\n{USAGE}", words.join(" ")),
    }
}

/// The benchmarks are a separate program, built with optimizations like the programs they measure.
fn bench(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let program = ["run", "--release", "--package", "kitbag-bench", "--"];
    cargo::run(repository, &[&program, arguments].concat())
}
