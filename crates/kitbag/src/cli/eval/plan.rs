//! `kitbag eval agents --dry-run`: shows what would be sent, and checks the suite against the server.

use std::process::ExitCode;

use kitbag_budget::count;
use kitbag_eval::rehearsal::{Rehearsal, rehearse_suite};
use kitbag_eval::{EvalSurface, ModelEndpoint, ShownSurface, Suite};
use serde::Serialize;
use serde_json::Value;

use super::agents::TOKENIZER;
use super::environments::GatewayEnvironments;
use super::figures;
use super::server::EvalGateway;
use crate::cli::output::Output;
use crate::cli::to_exit_code;

/// Planned requests, and how the suite matches the server.
#[derive(Debug, Serialize)]
pub(super) struct EvalPlan {
    pub(super) suite: String,
    pub(super) prompts: usize,
    pub(super) tasks: usize,
    pub(super) runs: u32,
    pub(super) tools: usize,
    pub(super) counted_with: &'static str,
    pub(super) models: Vec<PlannedRequests>,
    pub(super) rehearsal: Rehearsal,
}

#[derive(Debug, Serialize)]
pub(super) struct PlannedRequests {
    pub(super) model: String,
    pub(super) surface: EvalSurface,
    /// Number of requests if every prompt is answered in one turn. On the surface `all`, this means that
    /// no call fails.
    pub(super) requests: usize,
    /// True if the model decides how many turns it takes.
    #[serde(skip)]
    pub(super) several_turns: bool,
    /// Number of requests if every prompt takes all its turns.
    pub(super) most_requests: usize,
    pub(super) definition_tokens: usize,
    /// Tokens of definitions and prompts in the fewest requests.
    pub(super) input_tokens: usize,
}

/// Plans an eval without running it.
pub(super) struct EvalPlanner<'a> {
    pub(super) suite: &'a Suite,
    pub(super) gateway: &'a EvalGateway,
    pub(super) environments: &'a GatewayEnvironments<'a>,
    pub(super) surfaces: &'a [ShownSurface<'a>],
    pub(super) endpoints: &'a [ModelEndpoint],
    /// Number of runs of each prompt.
    pub(super) runs: u32,
}

impl EvalPlanner<'_> {
    pub(super) async fn rehearse(&self, output: Output) -> anyhow::Result<ExitCode> {
        let server = self.gateway.tool_caller();
        let rehearsing = async {
            let mut rehearsal = rehearse_suite(self.suite, &server).await;
            Box::pin(rehearsal.try_solutions(self.suite, self.environments)).await;
            rehearsal
        };
        let plan = EvalPlan {
            suite: self.suite.name.clone(),
            prompts: self.suite.prompts.len(),
            tasks: self.suite.tasks.len(),
            runs: self.runs,
            tools: self.gateway.tools.len(),
            counted_with: TOKENIZER,
            models: self.planned_models(),
            rehearsal: output
                .with_progress("Checking the suite against the server", rehearsing)
                .await,
        };
        output.show(&plan, figures::format_plan)?;
        let Rehearsal {
            expected,
            scenarios,
            tasks,
            ..
        } = &plan.rehearsal;
        let flawless = expected.right == expected.total
            && tasks.right == tasks.total
            && scenarios.iter().all(|it| it.problem.is_none());
        Ok(to_exit_code(flawless))
    }

    fn planned_models(&self) -> Vec<PlannedRequests> {
        let mut models = Vec::new();
        for endpoint in self.endpoints {
            models.extend(
                self.surfaces
                    .iter()
                    .map(|it| self.plan_requests(endpoint, it)),
            );
        }
        models
    }

    fn plan_requests(&self, endpoint: &ModelEndpoint, shown: &ShownSurface<'_>) -> PlannedRequests {
        let runs = self.runs as usize;
        let prompts = match shown.surface.judges_first_calls() {
            true => self.suite.prompts.as_slice(),
            false => &[],
        };
        let tasks = &self.suite.tasks;
        let texts = prompts.iter().map(|it| it.prompt.as_str());
        let texts = texts.chain(tasks.iter().map(|it| it.request.as_str()));
        let prompt_tokens: usize = texts.map(count).sum();
        let definition_tokens =
            count(&Value::from(endpoint.tool_definitions(shown.tools)).to_string());
        let requests = (prompts.len() + tasks.len()) * runs;
        let most_turns =
            prompts.len() * shown.max_turns as usize + tasks.len() * shown.task_turns as usize;
        PlannedRequests {
            model: endpoint.to_string(),
            surface: shown.surface,
            requests,
            most_requests: most_turns * runs,
            several_turns: shown.surface != EvalSurface::All || !tasks.is_empty(),
            definition_tokens,
            input_tokens: requests * definition_tokens + runs * prompt_tokens,
        }
    }
}
