//! The chores of this repository, as `cargo xtask CHORE`.
//!
//! Few libraries are used, so that a chore starts within seconds on a fresh checkout: `anyhow`,
//! `serde_json`, and `syn` to measure the code.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who runs it"
)]

mod conformance;
mod expected;
mod fuzz;
mod results;
mod suite;
mod test;

use std::process::ExitCode;

use anyhow::bail;
use xtask::repository::Repository;
use xtask::{cargo, setup, shape};

const USAGE: &str = "\
The chores of this repository:

  cargo xtask setup                        install, pinned, what the end-to-end tests need into .tools
  cargo xtask test [--only STEP]           everything that must hold before a change is merged
  cargo xtask fuzz [TARGET] [--minutes N] [--seed N]
                                           anything before what reads the words of strangers; ten minutes
  cargo xtask conformance [--pair PAIR]…   the official suite, through the gateway, for each pair of eras
  cargo xtask bench proxy [--json] [--seconds N] [--rounds N] [--with-mcp-proxy PATH]
                                           what the gateway costs, against the same upstream directly
  cargo xtask bench retrieval [--data DIR] [--install] [--json]
                                           how well tools are found, by BM25, published weights and us
  cargo xtask bench peers [--data DIR] [--install] [--json]
                                           the same search by FastMCP, mcp-proxy and us, as gateways
  cargo xtask bench speed [--data DIR] [--up-to TOOLS] [--json]
                                           search from a thousand tools to a million; draws docs/speed.svg
  cargo xtask bench tokens [--data DIR] [--json]
                                           what tools cost a model, against listing all of them
  cargo xtask bench clients [--data DIR] [--json]
                                           a thousand clients that search and call at the same time

  cargo xtask shape [--names] [--json] [--check] [--in DIR]
                                           how large, dense and knotted the code is, beside its goals

  --data DIR (or KITBAG_BENCH_DATA) is a folder with larger sets than the repository may carry;
  --install gets, pinned, into .tools what a bench compares with";

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
        ["test", "--only", step] => test::only(&repository, step),
        ["fuzz", rest @ ..] => fuzz::run(&repository, rest),
        ["conformance", rest @ ..] => conformance::run(&repository, rest),
        ["bench", rest @ ..] => bench(&repository, rest),
        ["shape", rest @ ..] => {
            println!("{}", shape::command::run(repository.root(), rest)?);
            Ok(())
        }
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!(
            "`cargo xtask {}` is not a chore\n\n{USAGE}",
            words.join(" ")
        ),
    }
}

/// The benchmarks are a program of their own, optimised as the programs that they measure.
fn bench(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let program = ["run", "--release", "--package", "kitbag-bench", "--"];
    cargo::run(repository, &[&program, arguments].concat())
}
