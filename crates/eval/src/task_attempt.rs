//! One attempt of a model at a task: before each turn, the model gets the current tools of the
//! surface. All its calls are made, and the end is judged when it makes no more.

use std::time::Duration;

use serde_json::Value;

use crate::client::ModelClient;
use crate::dialect::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, StopReason, ToolCall, Usage,
};
use crate::end_state;
use crate::endpoint_error::ModelEndpointError;
use crate::environment::TaskEnvironment;
use crate::judge::truncate_text;
use crate::record::{TaskOutcome, UnjudgedCall};
use crate::suite::{CallArguments, SuiteTask};
use crate::tool_result::ToolResult;

pub(crate) struct TaskAttempt<'a, W> {
    pub(crate) client: &'a ModelClient,
    pub(crate) parameters: &'a CallArguments,
    /// The task, with the directory of the environment.
    pub(crate) task: &'a SuiteTask,
    pub(crate) environment: &'a W,
    pub(crate) max_turns: u32,
    pub(crate) count: fn(&str) -> usize,
}

/// The reason why an attempt has no verdict.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoVerdict {
    #[error(transparent)]
    Endpoint(#[from] ModelEndpointError),
    #[error("the task could not be set up: {why}")]
    Unprepared { why: String },
}

/// The conversation so far, and its cost.
#[derive(Default)]
pub(crate) struct TaskResult {
    pub(crate) turns: u32,
    pub(crate) text: String,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
    pub(crate) took: Duration,
    pub(crate) outcome: TaskOutcome,
    /// The tokens of the request, the calls and the results so far.
    context: usize,
    exchanges: Vec<Exchange>,
}

impl<W: TaskEnvironment> TaskAttempt<'_, W> {
    pub(crate) async fn run(&self) -> Result<TaskResult, NoVerdict> {
        end_state::prepare_servers(self.task, self.environment)
            .await
            .map_err(|why| NoVerdict::Unprepared { why })?;
        let mut result = TaskResult {
            context: (self.count)(&self.task.request),
            ..TaskResult::default()
        };
        while self.take_turn(&mut result).await? {
            if result.turns >= self.max_turns {
                result.stop = Some(StopReason::Turns);
                break;
            }
        }
        result.outcome.faults =
            end_state::find_faults(self.task, self.environment, &result.text).await;
        result.outcome.done = result.outcome.faults.is_empty();
        Ok(result)
    }

    /// Queries the model once and makes its calls. Returns false if the model is done.
    async fn take_turn(&self, result: &mut TaskResult) -> Result<bool, NoVerdict> {
        let definitions = self.list_definitions(&mut result.outcome).await?;
        let conversation = Conversation {
            tools: &definitions,
            parameters: self.parameters,
            prompt: &self.task.request,
            exchanges: result.exchanges.clone(),
        };
        let (answer, took) = self.client.ask_model(&conversation).await?;
        result.add_answer(&answer, took, self.count);
        let mut results = Vec::with_capacity(answer.calls.len());
        for call in &answer.calls {
            results.push(self.make_call(call, result).await);
        }
        let goes_on = !results.is_empty();
        let said = answer.message;
        result.exchanges.push(Exchange {
            message: said,
            results,
        });
        Ok(goes_on)
    }

    /// Returns the tools that the surface lists now, as many as the endpoint accepts.
    async fn list_definitions(&self, outcome: &mut TaskOutcome) -> Result<Vec<Value>, NoVerdict> {
        let listed = self.environment.list_tools().await;
        let listed = listed.map_err(|why| NoVerdict::Unprepared { why })?;
        let definitions = self.client.endpoint().tool_definitions(&listed);
        let text = serde_json::to_string(&definitions).expect("definitions are JSON");
        outcome.counted.input += (self.count)(&text) as u64;
        outcome.most_listed = outcome.most_listed.max(listed.len());
        Ok(definitions)
    }

    async fn make_call(&self, call: &ToolCall, result: &mut TaskResult) -> CallResult {
        let called = match &call.arguments {
            GivenArguments::Malformed(text) => ToolResult::for_malformed_arguments(text),
            GivenArguments::Arguments(arguments) => {
                self.environment
                    .call_tool(call.name.clone(), arguments.clone())
                    .await
            }
        };
        let written = (self.count)(&call.as_written());
        let tokens = written + (self.count)(&called.text);
        result.context += tokens;
        result.outcome.counted.output += written as u64;
        result.outcome.steps.push(UnjudgedCall {
            tool: call.name.clone(),
            given: call.arguments.clone(),
            failed: called.failed,
            tokens,
        });
        call.to_result(called.text, called.failed)
    }
}

impl TaskResult {
    fn add_answer(&mut self, answer: &ModelAnswer, took: Duration, count: fn(&str) -> usize) {
        self.usage = answer.total_usage(self.turns, self.usage);
        self.turns += 1;
        self.took += took;
        self.stop = answer.stop;
        let words = count(&answer.text);
        self.outcome.counted.input += self.context as u64;
        self.outcome.counted.output += words as u64;
        self.context += words;
        self.text = answer.text.trim().to_owned();
    }

    /// Returns the last text, as much of it as a record stores.
    pub(crate) fn last_text(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| truncate_text(&self.text))
    }
}
