//! `kitbag eval agents --dry-run`: tells what would be sent, and if the suite and the server agree.

use std::process::ExitCode;

use kitbag_budget::count;
use kitbag_exam::rehearsal::{Rehearsal, rehearse};
use kitbag_exam::{ExamSurface, ModelEndpoint, ShownSurface, Suite};
use serde::Serialize;
use serde_json::{Map, Value};

use super::agents::TOKENIZER;
use super::figures;
use super::server::Examined;
use crate::cli::Invocation;

/// The requests that would be sent, and what the server makes of the suite.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub(super) suite: String,
    pub(super) prompts: usize,
    pub(super) runs: u32,
    pub(super) tools: usize,
    pub(super) counted_with: &'static str,
    pub(super) models: Vec<Planned>,
    pub(super) rehearsal: Rehearsal,
}

#[derive(Debug, Serialize)]
pub(super) struct Planned {
    pub(super) model: String,
    pub(super) surface: ExamSurface,
    /// The number of requests if every prompt is answered in one turn, which on the surface of
    /// every tool means that no call fails.
    pub(super) requests: usize,
    /// The number of requests if every prompt takes all its turns.
    pub(super) most_requests: usize,
    pub(super) definition_tokens: usize,
    /// The tokens of definitions and prompts in the fewest requests.
    pub(super) input_tokens: usize,
}

pub(super) async fn rehearsed(
    suite: &Suite,
    examined: &Examined,
    surfaces: &[ShownSurface<'_>],
    endpoints: &[ModelEndpoint],
    times: u32,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let runs = times as usize;
    let prompts: usize = suite.prompts.iter().map(|it| count(&it.prompt)).sum();
    let planned = |endpoint: &ModelEndpoint, shown: &ShownSurface<'_>| {
        let definition_tokens = count(&Value::from(endpoint.definitions(shown.tools)).to_string());
        let requests = suite.prompts.len() * runs;
        Planned {
            model: endpoint.to_string(),
            surface: shown.surface,
            requests,
            most_requests: requests * shown.max_turns as usize,
            definition_tokens,
            input_tokens: requests * definition_tokens + runs * prompts,
        }
    };
    let pairs = endpoints
        .iter()
        .flat_map(|endpoint| surfaces.iter().map(move |shown| (endpoint, shown)));
    let server = async |tool: String, given: Map<String, Value>| examined.call(&tool, given).await;
    let rehearsing = rehearse(suite, &server);
    let plan = Plan {
        suite: suite.name.clone(),
        prompts: suite.prompts.len(),
        runs: times,
        tools: examined.tools.len(),
        counted_with: TOKENIZER,
        models: pairs
            .map(|(endpoint, shown)| planned(endpoint, shown))
            .collect(),
        rehearsal: invocation
            .output
            .during("Trying the suite on the server", rehearsing)
            .await,
    };
    invocation.output.show(&plan, figures::of_plan)?;
    let Rehearsal {
        expected,
        scenarios,
        ..
    } = &plan.rehearsal;
    let flawless =
        expected.right == expected.total && scenarios.iter().all(|it| it.problem.is_none());
    Ok(if flawless {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
