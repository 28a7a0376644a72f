//! `run_code`: runs a program written by a model, which calls tools; only its return value goes
//! back to the model.
//!
//! # Layout
//! - this file: runs a program
//! - `host`: host functions; `path`: resolves the tool that a program names; `value`: a result as a
//!   program sees it
//! - `report`: the report to the model at the end
//! - `resumable_work`: questions to the user during the run

mod host;
mod path;
mod report;
pub(super) mod resumable_work;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::{Outcome, ServerName};
use kitbag_sandbox::{Program, ProgramShape, ToolPath};
use kitbag_telemetry::operations::{CompletedOperation, OperationEvent, OperationPath};
use kitbag_wire::{Raw, RawObject};
use serde::Deserialize;

use self::host::ProgramHost;
pub(super) use self::host::tool_declaration;
use self::resumable_work::run_with_questions;
use super::intent::learn;
use crate::call::failure::Failure;
use crate::catalog::CatalogEntry;
use crate::turn::Turn;
use crate::turn::run::CodeRun;

/// Programs written by models have some dozens of lines; a longer text contains data.
const MAX_PROGRAM_LENGTH: usize = 64 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunCodeArguments {
    code: String,
}

pub(super) async fn run_code(
    turn: &Turn,
    arguments: RunCodeArguments,
    params: &RawObject,
) -> Result<Raw, Failure> {
    if arguments.code.len() > MAX_PROGRAM_LENGTH {
        return Err(Failure::bad_params(format!(
            "the program has {} bytes, more than the limit of {MAX_PROGRAM_LENGTH}; let it read data with a tool",
            arguments.code.len()
        )));
    }
    let program = Program {
        source: arguments.code,
        params: None,
        wants_shape: turn.gateway.code.route.enable_template_learning,
    };
    run_with_questions(turn, params, |turn| async move {
        let (source, started) = (program.source.clone(), Instant::now());
        let ran = run_program(turn.clone(), program, BTreeMap::new(), None).await;
        record_operation(&turn, &ran, started, &source);
        learn::learn_from_program(&turn, &ran).await;
        Ok(ran.answer)
    })
    .await
}

/// A finished program.
pub(super) struct ProgramResult {
    /// The result of the tool that ran it.
    pub(super) answer: Raw,
    outcome: Outcome,
    pub(super) run: Arc<CodeRun>,
    pub(super) shape: Option<ProgramShape>,
}

impl ProgramResult {
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome
    }

    pub(super) fn has_failed(&self) -> bool {
        self.outcome != Outcome::Ok
    }
}

/// Runs a program to its end. `aliases` are the servers for the names in it, and `purpose` is the
/// request that it performs.
pub(super) async fn run_program(
    turn: Turn,
    program: Program,
    aliases: BTreeMap<ServerName, ServerName>,
    purpose: Option<&str>,
) -> ProgramResult {
    run_on_host(ProgramHost::start(turn, aliases, purpose), program).await
}

/// Runs a program that may not change anything.
pub(super) async fn run_trial(
    turn: Turn,
    program: Program,
    aliases: BTreeMap<ServerName, ServerName>,
) -> ProgramResult {
    run_on_host(ProgramHost::start_trial(turn, aliases), program).await
}

async fn run_on_host(host: ProgramHost, program: Program) -> ProgramResult {
    let source = program.source.clone();
    let sandbox = host.turn.gateway.sandbox.clone();
    let tenant = host.turn.caller().tenant.clone();
    let outcome = sandbox.run(&tenant, program, &host).await;
    ProgramResult {
        answer: report::to_result(&host.turn, &host.run, &source, &outcome),
        outcome: report::audit_outcome(&outcome),
        run: host.run,
        shape: outcome.shape,
    }
}

/// Makes one call under the rules for programs, without running a program. `purpose` is the request
/// that it performs.
pub(super) async fn run_single_call(
    turn: Turn,
    purpose: &str,
    tool: String,
    arguments: Raw,
) -> ProgramResult {
    let host = ProgramHost::start(turn, BTreeMap::new(), Some(purpose));
    let answer = host.call_tool_for_result(tool, arguments).await;
    let (answer, failed) = report::call_result(&host.turn, &host.run, answer);
    ProgramResult {
        answer,
        outcome: if failed {
            Outcome::ToolError
        } else {
            Outcome::Ok
        },
        run: host.run,
        shape: None,
    }
}

/// Returns the tool that a program names, if the caller may use it.
pub(super) fn find_entry<'a>(turn: &'a Turn, path: &ToolPath) -> Option<&'a CatalogEntry> {
    path::visible_entry(turn, path).ok()
}

fn record_operation(turn: &Turn, ran: &ProgramResult, started: Instant, source: &str) {
    let meter = &turn.gateway.services.meter;
    if !ran.has_failed() {
        meter.record_event(&turn.client, OperationEvent::CodeExecutionSuccess);
    }
    let ended = CompletedOperation {
        path: OperationPath::Code,
        outcome: ran.outcome,
        latency: started.elapsed(),
        request_tokens: kitbag_budget::estimate_tokens(source),
        answer_tokens: kitbag_budget::estimate_result_tokens(ran.answer.get()),
    };
    meter.record_operation(&turn.client, &ended);
}
