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
use xtask::{cargo, postgres, setup, shape};

const USAGE: &str = "\
The chores of this repository:

  cargo xtask setup                        install into .tools, pinned, the tools of the end-to-end tests
  cargo xtask test [--only STEP]           every check that a change must pass before it is merged
  cargo xtask postgres -- COMMAND…         run a command with a PostgreSQL server up, such as the tests of the store
  cargo xtask fuzz [TARGET] [--minutes N] [--seed N]
                                           feed random input to each parser of foreign text; ten minutes
  cargo xtask conformance [--pair PAIR]…   the official suite, through the gateway, for each pair of eras
  cargo xtask bench proxy [--json] [--seconds N] [--rounds N] [--with-kitbag PATH] [--with-mcp-proxy PATH]
                                           the cost of the gateway, against the same upstream directly
  cargo xtask bench retrieval [--data DIR] [--install] [--json]
                                           the quality of search, by BM25, published weights and Kitbag
  cargo xtask bench peers [--data DIR] [--install] [--json]
                                           the same search by FastMCP, mcp-proxy and Kitbag, as gateways
  cargo xtask bench speed [--data DIR] [--up-to TOOLS] [--json]
                                           search from a thousand tools to a million; draws docs/speed.svg
  cargo xtask bench learning [--data DIR]  what use teaches, as JSON; draws docs/learning.svg
  cargo xtask bench tokens [--data DIR] [--json]
                                           the tokens that tools cost a model, against listing all of them
  cargo xtask bench store [--json]         audit rows and key look-ups, on SQLite and on PostgreSQL
  cargo xtask bench clients [--data DIR] [--json]
                                           a thousand clients that search and call at the same time
  cargo xtask bench code [--only PART] [--tasks FILE --tools FILE] [--json]
                                           programs: how soon they run, beside hostile ones, and their tokens
  cargo xtask bench code --tasks FILE --tools FILE --suite FOLDER
                                           published tasks as a suite of `kitbag eval agents`
  cargo xtask bench models [--data DIR] [--json]
                                           the time that the model proxy adds to the first event of an answer
  cargo xtask shape [--names] [--json] [--check] [--in DIR]
                                           size, density and knots of the code, beside their goals

  --data DIR (or KITBAG_BENCH_DATA) is a folder with larger sets than the repository may carry;
  --install gets into .tools, pinned, the programs that a benchmark compares with";

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
        ["postgres", "--", rest @ ..] => postgres::run(rest),
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
