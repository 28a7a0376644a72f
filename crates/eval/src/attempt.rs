//! Puts one prompt to one model. The conversation lasts up to the first call of a tool, which is
//! judged. After an error the model may try once more.

use std::time::Duration;

use serde_json::Value;

use crate::called::Called;
use crate::client::ModelClient;
use crate::dialect::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, Stop, ToolCall, Usage,
};
use crate::endpoint_error::ModelEndpointError;
use crate::judge::{CallVerdict, ChoiceOutcome, brief, judge};
use crate::record::{JudgedCall, LookingCall};
use crate::suite::{CallArguments, Prompt};
use crate::surface::{Carried, ExamSurface, ReachedCall, ShownSurface};
use crate::tools::ExamTools;

pub(crate) struct Attempt<'a, S> {
    pub(crate) client: &'a ModelClient,
    pub(crate) shown: ShownSurface<'a>,
    pub(crate) definitions: &'a [Value],
    pub(crate) parameters: &'a CallArguments,
    /// The tools that the suite is about.
    pub(crate) tools: &'a ExamTools,
    pub(crate) prompt: &'a Prompt,
    pub(crate) server: &'a S,
    pub(crate) count: fn(&str) -> usize,
}

/// The actions of the model, and the tokens and the time that they took.
#[derive(Default)]
pub(crate) struct AttemptResult {
    /// The number of the model's answers.
    pub(crate) turns: u32,
    /// The calls by which the model looked around, before and after it called a tool.
    pub(crate) looked: Vec<LookingCall>,
    pub(crate) calls: Vec<JudgedCall>,
    pub(crate) also: usize,
    pub(crate) words: Option<String>,
    pub(crate) stop: Option<Stop>,
    pub(crate) untold: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) sent_again: usize,
    pub(crate) took: Duration,
}

/// The result of a call that the model is told, and the entry that is recorded about it.
struct AnsweredCall {
    told: CallResult,
    entry: RecordedCall,
}

enum RecordedCall {
    Looked(LookingCall),
    Made { made: JudgedCall, also: usize },
}

impl<S: AsyncFn(ExamSurface, String, CallArguments) -> Carried> Attempt<'_, S> {
    pub(crate) async fn make(&self) -> Result<AttemptResult, ModelEndpointError> {
        let mut conversation = self.conversation();
        let mut result = AttemptResult::default();
        loop {
            let (answer, took) = match self.client.ask(&conversation).await {
                // The call is already made and judged. Its verdict stays, although the endpoint
                // refused to take its error.
                Err(error) if !result.calls.is_empty() && error.is_about_the_request() => {
                    result.untold = Some(error.to_string());
                    return Ok(result);
                }
                asked => asked?,
            };
            result.take(&answer, took);
            let Some(exchange) = self.exchange(&mut result, answer).await else {
                return Ok(result);
            };
            if result.turns >= self.shown.max_turns {
                result.stop = Some(Stop::Turns);
                return Ok(result);
            }
            conversation.exchanges.push(exchange);
        }
    }

    fn conversation(&self) -> Conversation<'_> {
        Conversation {
            tools: self.definitions,
            parameters: self.parameters,
            prompt: &self.prompt.prompt,
            exchanges: Vec::new(),
        }
    }

    /// Makes the calls of an answer, up to one that is judged. Returns the results for the model,
    /// or `None` if the model is asked nothing more.
    async fn exchange(&self, result: &mut AttemptResult, answer: ModelAnswer) -> Option<Exchange> {
        let is_first = result.calls.is_empty();
        let mut goes_on = !answer.calls.is_empty();
        let mut results = Vec::with_capacity(answer.calls.len());
        for call in &answer.calls {
            let AnsweredCall { told, entry } = self.carry_out(call).await;
            let failed = told.failed;
            results.push(told);
            match entry {
                RecordedCall::Looked(looked) => result.looked.push(looked),
                RecordedCall::Made { made, also } => {
                    if is_first {
                        result.also = also + answer.calls.len() - results.len();
                    }
                    result.calls.push(made);
                    goes_on = failed && is_first;
                    break;
                }
            }
        }
        // Every call needs a result, even a call that was not made.
        let others = &answer.calls[results.len()..];
        results.extend(others.iter().map(CallResult::not_made));
        let said = answer.said;
        goes_on.then_some(Exchange { said, results })
    }

    async fn carry_out(&self, call: &ToolCall) -> AnsweredCall {
        let carried = self.carried(call).await;
        let tokens = (self.count)(&call.as_written()) + (self.count)(&carried.told);
        let entry = match carried.reached {
            Some(reached) => self.judged(reached, &call.arguments, tokens),
            None => RecordedCall::Looked(LookingCall {
                tool: call.name.clone(),
                given: call.arguments.clone(),
                failed: carried.failed,
                tokens,
            }),
        };
        let told = call.result(carried.told, carried.failed);
        AnsweredCall { told, entry }
    }

    async fn carried(&self, call: &ToolCall) -> Carried {
        let name = &call.name;
        match (&call.arguments, self.shown.surface) {
            (_, ExamSurface::All) if !self.tools.has(name) => {
                straight(call, Called::failure(self.tools.unknown(name)))
            }
            (GivenArguments::Malformed(text), ExamSurface::All) => {
                straight(call, Called::malformed(text))
            }
            // The name of the intended tool is inside the arguments, and those cannot be read.
            (GivenArguments::Malformed(text), _) => {
                Carried::unreadable(Called::malformed(text).text)
            }
            (GivenArguments::Arguments(arguments), surface) => {
                (self.server)(surface, name.clone(), arguments.clone()).await
            }
        }
    }

    fn judged(&self, reached: ReachedCall, given: &GivenArguments, tokens: usize) -> RecordedCall {
        let (tool, also) = (reached.tool, reached.also);
        let given = match given {
            GivenArguments::Malformed(text) => GivenArguments::Malformed(text.clone()),
            GivenArguments::Arguments(_) => GivenArguments::Arguments(reached.arguments),
        };
        let CallVerdict { outcome, why } = if self.tools.has(&tool) || self.shown.tools.has(&tool) {
            judge(self.prompt, &tool, &given, &reached.called)
        } else {
            CallVerdict::without_reason(ChoiceOutcome::UnknownTool)
        };
        let made = JudgedCall {
            tool,
            given,
            outcome,
            why,
            tokens,
        };
        RecordedCall::Made { made, also }
    }
}

fn straight(call: &ToolCall, called: Called) -> Carried {
    let arguments = match &call.arguments {
        GivenArguments::Arguments(arguments) => arguments.clone(),
        GivenArguments::Malformed(_) => CallArguments::new(),
    };
    Carried::straight(call.name.clone(), arguments, called)
}

impl AttemptResult {
    /// Adds an answer. The words, and the reason for an early end, are kept only until there is a
    /// call to judge.
    fn take(&mut self, answer: &ModelAnswer, took: Duration) {
        self.usage = answer.usage_with(self.turns, self.usage);
        self.turns += 1;
        self.took += took;
        self.sent_again += self.looked.iter().map(|it| it.tokens).sum::<usize>();
        self.sent_again += self.calls.iter().map(|it| it.tokens).sum::<usize>();
        if self.calls.is_empty() {
            let words = answer.words.trim();
            let only_words = answer.calls.is_empty() && !words.is_empty();
            self.words = only_words.then(|| brief(words));
            self.stop = answer.stop;
        }
    }
}

impl CallResult {
    fn not_made(call: &ToolCall) -> Self {
        let why = "Not called, because an earlier call failed.";
        call.result(why.to_owned(), true)
    }
}
