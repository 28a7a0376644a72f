//! One screen: arguments → what they ask for → how it ended.

use std::process::ExitCode;

use clap::Parser as _;
use kitbag_gateway::cli::Cli;

fn main() -> ExitCode {
    Cli::parse().run()
}
