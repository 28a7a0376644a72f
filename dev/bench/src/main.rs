//! The benchmarks, started by `cargo xtask bench`: the cost of the gateway, the quality and speed
//! of search, also compared with other gateways, the tokens for a model, code execution, and the web
//! pages.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark talks to the person who runs it"
)]

mod canvas;
mod catalog;
mod cli;
mod clients;
mod code;
mod convert;
mod extras;
mod gateway_speed;
mod http;
mod judge;
mod learning;
mod load;
mod models;
mod options;
mod pages;
mod peer;
mod peers;
mod plot;
mod proxy;
mod retrieval;
mod sets;
mod speed;
mod store;
mod table;
mod tokens;
mod ways;

use std::process::ExitCode;

use anyhow::bail;
use xtask::repository::Repository;

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
    let repository = &Repository::here()?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["proxy", rest @ ..] => proxy::run(repository, rest),
        ["retrieval", rest @ ..] => retrieval::run(repository, rest),
        ["peers", rest @ ..] => peers::run(repository, rest),
        ["speed", rest @ ..] => speed::run(repository, rest),
        ["learning", rest @ ..] => learning::run(repository, rest),
        ["tokens", rest @ ..] => tokens::run(repository, rest),
        ["store", rest @ ..] => store::run(repository, rest),
        ["clients", rest @ ..] => clients::run(repository, rest),
        ["code", rest @ ..] => code::run(repository, rest),
        ["pages", rest @ ..] => pages::run(repository, rest),
        ["models", rest @ ..] => models::run(repository, rest),
        _ => bail!(
            "the benchmarks are proxy, retrieval, peers, speed, learning, tokens, store, clients, code, models and pages; see `cargo xtask help`"
        ),
    }
}
