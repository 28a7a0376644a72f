//! `run_code`: a program that a model wrote calls tools, and only what it returns goes back.
//!
//! # Layout
//! - this file: a program is run
//! - `host`: answers what the program asks; `path`: finds the tool that it names; `value`: a result
//!   as a program sees it
//! - `report`: what the model is told at the end
//! - `asking`: the person is asked in the middle

mod asking;
mod host;
mod path;
mod report;
mod value;

use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::{Outcome, Surface};
use kitbag_sandbox::Program;
use kitbag_telemetry::operations::{EndedOperation, OperationEvent, OperationPath};
use kitbag_wire::{Raw, RawObject};
use serde::Deserialize;

use self::host::ProgramHost;
use crate::failure::Failure;
use crate::run::CodeRun;
use crate::turn::Turn;
use crate::view::View;

/// Programs of models have some dozens of lines; a longer text is data in the wrong place.
const LONGEST_PROGRAM: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunCodeArguments {
    code: String,
}

pub(super) async fn run_code(
    turn: &Turn,
    asked: RunCodeArguments,
    params: &RawObject,
) -> Result<Raw, Failure> {
    if asked.code.len() > LONGEST_PROGRAM {
        return Err(Failure::params(format!(
            "the program has {} bytes, and may have {LONGEST_PROGRAM}; let it read data with a tool",
            asked.code.len()
        )));
    }
    let program = Program {
        source: asked.code,
        params: None,
        wants_shape: false,
    };
    asking::carried(
        turn,
        params,
        |turn| async move { Ok(run(turn, program).await) },
    )
    .await
}

/// Runs a program to its end, and reports it as the result of a tool.
async fn run(turn: Turn, program: Program) -> Raw {
    let (source, started) = (program.source.clone(), Instant::now());
    let (turn, run) = within_run(turn);
    let sandbox = turn.gateway.sandbox.clone();
    let host = ProgramHost { turn, run };
    let outcome = sandbox
        .run(&host.turn.caller().tenant, program, &host)
        .await;
    let ended = report::outcome(&outcome);
    let answer = report::report(&host.turn, &host.run, &source, &outcome);
    counted(&host.turn, ended, started, &source, &answer);
    answer
}

fn counted(turn: &Turn, outcome: Outcome, started: Instant, source: &str, answer: &Raw) {
    let meter = &turn.gateway.services.meter;
    if outcome == Outcome::Ok {
        meter.happened(&turn.client, OperationEvent::CodeExecutionSuccess);
    }
    let ended = EndedOperation {
        path: OperationPath::Code,
        outcome,
        latency: started.elapsed(),
        asked: kitbag_budget::estimate(source),
        answered: kitbag_budget::price(answer.get()),
    };
    meter.operated(&turn.client, &ended);
}

/// The turn that the calls of a program take: on every surface the arguments are checked, and text
/// of servers is data.
fn within_run(mut turn: Turn) -> (Turn, Arc<CodeRun>) {
    let run = Arc::new(CodeRun::begin());
    turn.view = View::Merged(Surface::Code);
    turn.run = Some(run.clone());
    turn.origin.run = Some(run.id.clone());
    (turn, run)
}
