//! One attempt of a model at a task: it is shown what the surface lists before each of its turns,
//! all its calls are made, and the end is judged when it makes no more.

use std::time::Duration;

use serde_json::Value;

use crate::called::Called;
use crate::client::ModelClient;
use crate::dialect::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, Stop, ToolCall, Usage,
};
use crate::end_state;
use crate::endpoint_error::ModelEndpointError;
use crate::judge::brief;
use crate::record::{LookingCall, TaskOutcome};
use crate::suite::{CallArguments, ExamTask};
use crate::workplace::Workplace;

pub(crate) struct TaskAttempt<'a, W> {
    pub(crate) client: &'a ModelClient,
    pub(crate) parameters: &'a CallArguments,
    /// The task, in the folder of the place.
    pub(crate) task: &'a ExamTask,
    pub(crate) place: &'a W,
    pub(crate) max_turns: u32,
    pub(crate) count: fn(&str) -> usize,
}

/// The reason why an attempt came to no verdict.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoVerdict {
    #[error(transparent)]
    Endpoint(#[from] ModelEndpointError),
    #[error("the task could not be set up: {why}")]
    Unprepared { why: String },
}

/// The conversation so far, and what it took.
#[derive(Default)]
pub(crate) struct TaskResult {
    pub(crate) turns: u32,
    pub(crate) words: String,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Option<Usage>,
    pub(crate) took: Duration,
    pub(crate) outcome: TaskOutcome,
    /// The tokens of the request, the calls and the results so far.
    context: usize,
    exchanges: Vec<Exchange>,
}

impl<W: Workplace> TaskAttempt<'_, W> {
    pub(crate) async fn make(&self) -> Result<TaskResult, NoVerdict> {
        end_state::prepare(self.task, self.place)
            .await
            .map_err(|why| NoVerdict::Unprepared { why })?;
        let mut result = TaskResult {
            context: (self.count)(&self.task.request),
            ..TaskResult::default()
        };
        while self.turn(&mut result).await? {
            if result.turns >= self.max_turns {
                result.stop = Some(Stop::Turns);
                break;
            }
        }
        result.outcome.faults = end_state::faults(self.task, self.place, &result.words).await;
        result.outcome.done = result.outcome.faults.is_empty();
        Ok(result)
    }

    /// Asks the model once and makes its calls. False if the model is done.
    async fn turn(&self, result: &mut TaskResult) -> Result<bool, NoVerdict> {
        let definitions = self.definitions(&mut result.outcome).await?;
        let conversation = Conversation {
            tools: &definitions,
            parameters: self.parameters,
            prompt: &self.task.request,
            exchanges: result.exchanges.clone(),
        };
        let (answer, took) = self.client.ask(&conversation).await?;
        result.take(&answer, took, self.count);
        let mut results = Vec::with_capacity(answer.calls.len());
        for call in &answer.calls {
            results.push(self.carry_out(call, result).await);
        }
        let goes_on = !results.is_empty();
        let said = answer.said;
        result.exchanges.push(Exchange { said, results });
        Ok(goes_on)
    }

    /// Returns the tools as the surface lists them now, as many as the endpoint takes.
    async fn definitions(&self, outcome: &mut TaskOutcome) -> Result<Vec<Value>, NoVerdict> {
        let listed = self.place.listed().await;
        let listed = listed.map_err(|why| NoVerdict::Unprepared { why })?;
        let definitions = self.client.endpoint().definitions(&listed);
        let text = serde_json::to_string(&definitions).expect("definitions are JSON");
        outcome.counted.input += (self.count)(&text) as u64;
        outcome.most_listed = outcome.most_listed.max(listed.len());
        Ok(definitions)
    }

    async fn carry_out(&self, call: &ToolCall, result: &mut TaskResult) -> CallResult {
        let called = match &call.arguments {
            GivenArguments::Malformed(text) => Called::malformed(text),
            GivenArguments::Arguments(arguments) => {
                self.place.call(call.name.clone(), arguments.clone()).await
            }
        };
        let written = (self.count)(&call.as_written());
        let tokens = written + (self.count)(&called.text);
        result.context += tokens;
        result.outcome.counted.output += written as u64;
        result.outcome.steps.push(LookingCall {
            tool: call.name.clone(),
            given: call.arguments.clone(),
            failed: called.failed,
            tokens,
        });
        call.result(called.text, called.failed)
    }
}

impl TaskResult {
    fn take(&mut self, answer: &ModelAnswer, took: Duration, count: fn(&str) -> usize) {
        self.usage = answer.usage_with(self.turns, self.usage);
        self.turns += 1;
        self.took += took;
        self.stop = answer.stop;
        let words = count(&answer.words);
        self.outcome.counted.input += self.context as u64;
        self.outcome.counted.output += words as u64;
        self.context += words;
        self.words = answer.words.trim().to_owned();
    }

    /// Returns the last words, as much of them as a record keeps.
    pub(crate) fn last_words(&self) -> Option<String> {
        (!self.words.is_empty()).then(|| brief(&self.words))
    }
}
