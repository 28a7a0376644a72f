//! The result of `run_code`: the program's return value, its console output, and its calls.

use kitbag_domain::Outcome;
use kitbag_domain::text::strip_invisible;
use kitbag_sandbox::{ConsoleLevel, ConsoleLine, HostError, RunFailure, RunOutcome};
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};

use super::value;
use crate::surface::tool_answer::{text_result, truncate_to_budget};
use crate::turn::Turn;
use crate::turn::run::{CodeRun, ProgramCall};

/// The key of the run's id in a result, by which the audit finds its calls.
const RUN: &str = "io.kitbag/run";

/// The longest console output for a model, in bytes: some two thousand tokens.
const MOST_CONSOLE: usize = 8_000;

pub(super) fn to_result(turn: &Turn, run: &CodeRun, source: &str, outcome: &RunOutcome) -> Raw {
    let (value, failed) = match &outcome.value {
        Ok(value) => (value_text(value), false),
        Err(failure) => (explain_failure(failure, source), true),
    };
    let parts = [
        Some(value),
        format_console(&outcome.console),
        summarize_calls(&run.calls()),
    ];
    let texts: Vec<String> = parts.into_iter().flatten().collect();
    let result = truncate_to_budget(
        turn,
        text_result(&strip_invisible(&texts.join("\n"))),
        turn.gateway.surfaces.result_tokens,
    );
    add_run_id(&result, run, failed)
}

/// Returns the result of a single call that replaces a whole program, and true if it failed.
pub(super) fn call_result(
    turn: &Turn,
    run: &CodeRun,
    answer: Result<Raw, HostError>,
) -> (Raw, bool) {
    let (result, failed) = match answer {
        Ok(result) => {
            let failed = value::is_error(&result);
            (result, failed)
        }
        Err(error) => (text_result(&strip_invisible(&error.message)), true),
    };
    let result = truncate_to_budget(turn, result, turn.gateway.surfaces.result_tokens);
    (add_run_id(&result, run, failed), failed)
}

/// Returns the outcome of a run for the audit.
pub(super) fn audit_outcome(ended: &RunOutcome) -> Outcome {
    match &ended.value {
        Ok(_) => Outcome::Ok,
        Err(RunFailure::TooLong { .. } | RunFailure::TooBusy { .. }) => Outcome::TimedOut,
        Err(
            RunFailure::WorkerDied { .. }
            | RunFailure::Unavailable { .. }
            | RunFailure::Busy { .. },
        ) => Outcome::Unavailable,
        Err(_) => Outcome::ToolError,
    }
}

/// Adds the run's id where programs read it and models do not pay for it.
fn add_run_id(result: &Raw, run: &CodeRun, failed: bool) -> Raw {
    let result = RawObject::open(result).unwrap_or_default();
    let result = result.with("_meta", &raw(&json!({ RUN: run.id.as_str() })));
    match failed {
        true => result.with("isError", &true).to_raw(),
        false => result.to_raw(),
    }
}

/// Formats a string without quotes, everything else as JSON.
fn value_text(value: &Raw) -> String {
    match serde_json::from_str(value.get()) {
        Ok(Value::String(text)) => text,
        _ => value.get().to_owned(),
    }
}

fn explain_failure(failure: &RunFailure, source: &str) -> String {
    let (line, hint) = match failure {
        RunFailure::Syntax(mistake) => (Some(mistake.line), mistake.hint.as_deref()),
        RunFailure::Thrown { line, hint, .. } => (*line, hint.as_deref()),
        _ => (None, None),
    };
    let excerpt = line.and_then(|line| source_line(source, line));
    let parts = [Some(failure.to_string()), excerpt, hint.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns the program's line with the error.
fn source_line(source: &str, line: usize) -> Option<String> {
    const MOST: usize = 160;
    let text = source.lines().nth(line.checked_sub(1)?)?;
    let cut: String = text.chars().take(MOST).collect();
    Some(format!("{line} | {cut}"))
}

fn format_console(lines: &[ConsoleLine]) -> Option<String> {
    let printed: Vec<String> = lines.iter().map(format_console_line).collect();
    let mut text = printed.join("\n");
    if text.len() > MOST_CONSOLE {
        text.truncate(text.floor_char_boundary(MOST_CONSOLE));
        text.push_str("\n… more was printed");
    }
    (!lines.is_empty()).then(|| format!("[console]\n{text}"))
}

fn format_console_line(line: &ConsoleLine) -> String {
    match line.level {
        ConsoleLevel::Log => line.text.clone(),
        level => format!("{level}: {}", line.text),
    }
}

/// Calls of one tool with the same outcome are summarized together.
fn summarize_calls(calls: &[ProgramCall]) -> Option<String> {
    let mut groups: Vec<CallGroup<'_>> = Vec::new();
    for call in calls {
        match groups.iter_mut().find(|group| group.contains(call)) {
            Some(group) => group.add(call),
            None => groups.push(CallGroup::new(call)),
        }
    }
    let summaries: Vec<String> = groups.iter().map(CallGroup::format).collect();
    (!summaries.is_empty()).then(|| format!("[calls] {}", summaries.join(", ")))
}

struct CallGroup<'a> {
    tool: &'a str,
    outcome: Outcome,
    count: usize,
    longest_ms: u128,
}

impl<'a> CallGroup<'a> {
    fn new(call: &'a ProgramCall) -> Self {
        Self {
            tool: &call.tool,
            outcome: call.outcome,
            count: 1,
            longest_ms: call.latency.as_millis(),
        }
    }

    fn contains(&self, call: &ProgramCall) -> bool {
        self.tool == call.tool && self.outcome == call.outcome
    }

    fn add(&mut self, call: &ProgramCall) {
        self.count += 1;
        self.longest_ms = self.longest_ms.max(call.latency.as_millis());
    }

    fn format(&self) -> String {
        let times = match self.count {
            1 => String::new(),
            count => format!(" ×{count}"),
        };
        match self.outcome {
            Outcome::Ok => format!("{}{times} {} ms", self.tool, self.longest_ms),
            other => format!("{}{times} {}", self.tool, other.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn program_call(tool: &str, outcome: Outcome, milliseconds: u64) -> ProgramCall {
        ProgramCall {
            tool: tool.to_owned(),
            server: None,
            outcome,
            latency: Duration::from_millis(milliseconds),
            writes: false,
        }
    }

    #[test]
    fn calls_with_the_same_outcome_are_summarized() {
        let all = [
            program_call("git__log", Outcome::Ok, 12),
            program_call("files__read", Outcome::Ok, 3),
            program_call("git__log", Outcome::Ok, 40),
            program_call("git__push", Outcome::Denied, 0),
        ];
        assert_eq!(
            summarize_calls(&all).unwrap(),
            "[calls] git__log ×2 40 ms, files__read 3 ms, git__push denied"
        );
        assert_eq!(summarize_calls(&[]), None);
    }
}
