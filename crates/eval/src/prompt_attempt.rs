//! Sends one prompt to one model. The conversation ends with the first tool call, which is judged.
//! After an error the model may try once more.

use std::time::Duration;

use serde_json::Value;

use crate::client::ModelClient;
use crate::dialect::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, StopReason, ToolCall, Usage,
};
use crate::endpoint_error::ModelEndpointError;
use crate::judge::{CallVerdict, ChoiceOutcome, judge, truncate_text};
use crate::record::{JudgedCall, UnjudgedCall};
use crate::suite::{CallArguments, Prompt};
use crate::surface::{EvalSurface, ReachedCall, ShownSurface, SurfaceResult};
use crate::tool_result::ToolResult;
use crate::tools::EvalTools;

pub(crate) struct PromptAttempt<'a, S> {
    pub(crate) client: &'a ModelClient,
    pub(crate) shown: ShownSurface<'a>,
    pub(crate) definitions: &'a [Value],
    pub(crate) parameters: &'a CallArguments,
    /// The tools of the suite.
    pub(crate) tools: &'a EvalTools,
    pub(crate) prompt: &'a Prompt,
    pub(crate) server: &'a S,
    pub(crate) count: fn(&str) -> usize,
}

/// The model's actions, their tokens and their time.
#[derive(Default)]
pub(crate) struct AttemptResult {
    /// The number of the model's answers.
    pub(crate) turns: u32,
    /// The model's search calls, before and after it called a tool.
    pub(crate) discovery_calls: Vec<UnjudgedCall>,
    pub(crate) calls: Vec<JudgedCall>,
    pub(crate) extra_calls: usize,
    pub(crate) text: Option<String>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) unsent_error: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) sent_again: usize,
    pub(crate) took: Duration,
}

/// The result of a call that the model gets, and the recorded entry.
struct CallOutcome {
    result: CallResult,
    entry: RecordedCall,
}

enum RecordedCall {
    Discovery(UnjudgedCall),
    Judged {
        call: JudgedCall,
        extra_calls: usize,
    },
}

impl<S: AsyncFn(EvalSurface, String, CallArguments) -> SurfaceResult> PromptAttempt<'_, S> {
    pub(crate) async fn run(&self) -> Result<AttemptResult, ModelEndpointError> {
        let mut conversation = self.start_conversation();
        let mut result = AttemptResult::default();
        loop {
            let (answer, took) = match self.client.ask_model(&conversation).await {
                // The call is already made and judged. Its verdict stays, although the endpoint
                // rejected its error message.
                Err(error) if !result.calls.is_empty() && error.is_about_the_request() => {
                    result.unsent_error = Some(error.to_string());
                    return Ok(result);
                }
                asked => asked?,
            };
            result.add_answer(&answer, took);
            let Some(exchange) = self.carry_out_calls(&mut result, answer).await else {
                return Ok(result);
            };
            if result.turns >= self.shown.max_turns {
                result.stop = Some(StopReason::Turns);
                return Ok(result);
            }
            conversation.exchanges.push(exchange);
        }
    }

    fn start_conversation(&self) -> Conversation<'_> {
        Conversation {
            tools: self.definitions,
            parameters: self.parameters,
            prompt: &self.prompt.prompt,
            exchanges: Vec::new(),
        }
    }

    /// Makes the calls of an answer, up to one that is judged. Returns the results for the model,
    /// or `None` if the conversation is over.
    async fn carry_out_calls(
        &self,
        result: &mut AttemptResult,
        answer: ModelAnswer,
    ) -> Option<Exchange> {
        let is_first = result.calls.is_empty();
        let mut goes_on = !answer.calls.is_empty();
        let mut results = Vec::with_capacity(answer.calls.len());
        for call in &answer.calls {
            let CallOutcome {
                result: call_result,
                entry,
            } = self.record_call(call).await;
            let failed = call_result.failed;
            results.push(call_result);
            match entry {
                RecordedCall::Discovery(looked) => result.discovery_calls.push(looked),
                RecordedCall::Judged {
                    call: made,
                    extra_calls: also,
                } => {
                    if is_first {
                        result.extra_calls = also + answer.calls.len() - results.len();
                    }
                    result.calls.push(made);
                    goes_on = failed && is_first;
                    break;
                }
            }
        }
        // Every call needs a result, even one that was not made.
        let others = &answer.calls[results.len()..];
        results.extend(others.iter().map(CallResult::for_skipped_call));
        let said = answer.message;
        goes_on.then_some(Exchange {
            message: said,
            results,
        })
    }

    async fn record_call(&self, call: &ToolCall) -> CallOutcome {
        let carried = self.make_call(call).await;
        let tokens = (self.count)(&call.as_written()) + (self.count)(&carried.text);
        let entry = match carried.reached {
            Some(reached) => self.judge_call(reached, &call.arguments, tokens),
            None => RecordedCall::Discovery(UnjudgedCall {
                tool: call.name.clone(),
                given: call.arguments.clone(),
                failed: carried.failed,
                tokens,
            }),
        };
        let call_result = call.to_result(carried.text, carried.failed);
        CallOutcome {
            result: call_result,
            entry,
        }
    }

    async fn make_call(&self, call: &ToolCall) -> SurfaceResult {
        let name = &call.name;
        match (&call.arguments, self.shown.surface) {
            (_, EvalSurface::All) if !self.tools.has(name) => direct_result(
                call,
                ToolResult::from_error(self.tools.unknown_tool_message(name)),
            ),
            (GivenArguments::Malformed(text), EvalSurface::All) => {
                direct_result(call, ToolResult::for_malformed_arguments(text))
            }
            // The name of the intended tool is inside the arguments, which cannot be parsed.
            (GivenArguments::Malformed(text), _) => SurfaceResult::for_unreadable_arguments(
                ToolResult::for_malformed_arguments(text).text,
            ),
            (GivenArguments::Arguments(arguments), surface) => {
                (self.server)(surface, name.clone(), arguments.clone()).await
            }
        }
    }

    fn judge_call(
        &self,
        reached: ReachedCall,
        given: &GivenArguments,
        tokens: usize,
    ) -> RecordedCall {
        let (tool, also) = (reached.tool, reached.extra_calls);
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
        RecordedCall::Judged {
            call: made,
            extra_calls: also,
        }
    }
}

fn direct_result(call: &ToolCall, called: ToolResult) -> SurfaceResult {
    let arguments = match &call.arguments {
        GivenArguments::Arguments(arguments) => arguments.clone(),
        GivenArguments::Malformed(_) => CallArguments::new(),
    };
    SurfaceResult::from_direct_call(call.name.clone(), arguments, called)
}

impl AttemptResult {
    /// Adds an answer. The text, and the reason for an early end, are kept only until there is a
    /// call to judge.
    fn add_answer(&mut self, answer: &ModelAnswer, took: Duration) {
        self.usage = answer.total_usage(self.turns, self.usage);
        self.turns += 1;
        self.took += took;
        self.sent_again += self
            .discovery_calls
            .iter()
            .map(|it| it.tokens)
            .sum::<usize>();
        self.sent_again += self.calls.iter().map(|it| it.tokens).sum::<usize>();
        if self.calls.is_empty() {
            let words = answer.text.trim();
            let only_words = answer.calls.is_empty() && !words.is_empty();
            self.text = only_words.then(|| truncate_text(words));
            self.stop = answer.stop;
        }
    }
}

impl CallResult {
    fn for_skipped_call(call: &ToolCall) -> Self {
        let why = "Not called because an earlier call failed.";
        call.to_result(why.to_owned(), true)
    }
}
