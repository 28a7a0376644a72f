//! `kitbag eval agents --dry-run`: what would be sent, and whether the suite and the server agree.

use std::process::ExitCode;

use kitbag_budget::count;
use kitbag_exam::rehearsal::{Rehearsal, rehearse};
use kitbag_exam::{Endpoint, Suite};
use serde::Serialize;
use serde_json::{Map, Value};

use super::agents::TOKENIZER;
use super::figures;
use super::server::Examined;
use crate::cli::Invocation;

/// What would be sent, and what the server makes of the suite.
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
    /// If no call fails.
    pub(super) requests: usize,
    pub(super) definition_tokens: usize,
    /// Definitions and prompts of all requests.
    pub(super) input_tokens: usize,
}

pub(super) async fn rehearsed(
    suite: &Suite,
    examined: &Examined,
    endpoints: &[Endpoint],
    times: u32,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let runs = times as usize;
    let prompts: usize = suite.prompts.iter().map(|it| count(&it.prompt)).sum();
    let planned = |endpoint: &Endpoint| {
        let definition_tokens =
            count(&Value::from(endpoint.definitions(&examined.tools)).to_string());
        let requests = suite.prompts.len() * runs;
        Planned {
            model: endpoint.to_string(),
            requests,
            definition_tokens,
            input_tokens: requests * definition_tokens + runs * prompts,
        }
    };
    let server = async |tool: String, given: Map<String, Value>| examined.call(&tool, given).await;
    let rehearsing = rehearse(suite, &server);
    let plan = Plan {
        suite: suite.name.clone(),
        prompts: suite.prompts.len(),
        runs: times,
        tools: examined.tools.len(),
        counted_with: TOKENIZER,
        models: endpoints.iter().map(planned).collect(),
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
