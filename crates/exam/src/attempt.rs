//! Puts one prompt to one model. The conversation lasts up to the first call of a tool, which is
//! judged. After an error the model may try once more.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{ModelClient, ModelEndpointError};
use crate::dialect::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, Stop, ToolCall, Usage,
};
use crate::journal::{JudgedCall, LookingCall};
use crate::judge::{CallVerdict, ChoiceOutcome, brief, judge};
use crate::suite::{CallArguments, Prompt};
use crate::surface::{Carried, ExamSurface, ReachedCall, ShownSurface};
use crate::tools::{Called, ExamTools};

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

/// The result of a call, and the entry that is recorded about it.
struct AnsweredCall {
    told: String,
    failed: bool,
    entry: RecordedCall,
}

enum RecordedCall {
    Looked(LookingCall),
    Made { made: JudgedCall, also: usize },
}

impl<S: AsyncFn(ExamSurface, String, CallArguments) -> Carried> Attempt<'_, S> {
    pub(crate) async fn make(&self) -> Result<AttemptResult, ModelEndpointError> {
        let (tools, parameters) = (self.definitions, self.parameters);
        let mut conversation = Conversation {
            tools,
            parameters,
            prompt: &self.prompt.prompt,
            exchanges: Vec::new(),
        };
        let mut done = AttemptResult::default();
        loop {
            let (answer, took) = match self.client.ask(&conversation).await {
                // The call is already made and judged. Its verdict stays, although the endpoint
                // refused to take its error.
                Err(error) if !done.calls.is_empty() && error.is_about_the_request() => {
                    done.untold = Some(error.to_string());
                    return Ok(done);
                }
                asked => asked?,
            };
            done.take(&answer, took);
            let Some(exchange) = self.exchange(&mut done, answer).await else {
                return Ok(done);
            };
            if done.turns >= self.shown.max_turns {
                done.stop = Some(Stop::Turns);
                return Ok(done);
            }
            conversation.exchanges.push(exchange);
        }
    }

    /// Makes the calls of an answer, up to one that is judged. Returns the results for the model,
    /// or `None` if the model is asked nothing more.
    async fn exchange(&self, done: &mut AttemptResult, answer: ModelAnswer) -> Option<Exchange> {
        let is_first = done.calls.is_empty();
        let mut goes_on = !answer.calls.is_empty();
        let mut results = Vec::with_capacity(answer.calls.len());
        for (number, call) in answer.calls.iter().enumerate() {
            let AnsweredCall {
                told,
                failed,
                entry,
            } = self.carry_out(call).await;
            results.push(CallResult {
                id: call.id.clone(),
                text: told,
                failed,
            });
            match entry {
                RecordedCall::Looked(looked) => done.looked.push(looked),
                RecordedCall::Made { made, also } => {
                    if is_first {
                        done.also = also + answer.calls.len() - number - 1;
                    }
                    done.calls.push(made);
                    goes_on = failed && is_first;
                    break;
                }
            }
        }
        // Every call needs a result, even a call that was not made.
        let others = &answer.calls[results.len()..];
        results.extend(others.iter().map(CallResult::not_made));
        goes_on.then_some(Exchange {
            said: answer.said,
            results,
        })
    }

    async fn carry_out(&self, call: &ToolCall) -> AnsweredCall {
        let carried = self.carried(call).await;
        let said = json!({ "name": call.name, "arguments": call.arguments.as_sent() }).to_string();
        let tokens = (self.count)(&said) + (self.count)(&carried.told);
        let Carried {
            told,
            failed,
            reached,
        } = carried;
        let entry = match reached {
            Some(reached) => self.judged(reached, &call.arguments, tokens),
            None => {
                let (tool, given) = (call.name.clone(), call.arguments.clone());
                RecordedCall::Looked(LookingCall {
                    tool,
                    given,
                    failed,
                    tokens,
                })
            }
        };
        AnsweredCall {
            told,
            failed,
            entry,
        }
    }

    async fn carried(&self, call: &ToolCall) -> Carried {
        let ToolCall {
            name, arguments, ..
        } = call;
        match (arguments, self.shown.surface) {
            (_, ExamSurface::All) if !self.tools.has(name) => {
                straight(call, Called::failure(self.tools.unknown(name)))
            }
            (GivenArguments::Malformed(text), ExamSurface::All) => {
                straight(call, Called::failure(malformed(text)))
            }
            // The name of the intended tool is inside the arguments, and those cannot be read.
            (GivenArguments::Malformed(text), ExamSurface::Search) => {
                Carried::unreadable(malformed(text))
            }
            (GivenArguments::Arguments(arguments), surface) => {
                (self.server)(surface, name.clone(), arguments.clone()).await
            }
        }
    }

    fn judged(&self, reached: ReachedCall, given: &GivenArguments, tokens: usize) -> RecordedCall {
        let ReachedCall {
            tool,
            arguments,
            called,
            also,
        } = reached;
        let given = match given {
            GivenArguments::Malformed(text) => GivenArguments::Malformed(text.clone()),
            GivenArguments::Arguments(_) => GivenArguments::Arguments(arguments),
        };
        let CallVerdict { outcome, why } =
            match self.tools.has(&tool) || self.shown.tools.has(&tool) {
                true => judge(self.prompt, &tool, &given, &called),
                false => CallVerdict {
                    outcome: ChoiceOutcome::UnknownTool,
                    why: None,
                },
            };
        RecordedCall::Made {
            made: JudgedCall {
                tool,
                given,
                outcome,
                why,
                tokens,
            },
            also,
        }
    }
}

fn straight(call: &ToolCall, called: Called) -> Carried {
    let arguments = match &call.arguments {
        GivenArguments::Arguments(arguments) => arguments.clone(),
        GivenArguments::Malformed(_) => CallArguments::new(),
    };
    Carried::straight(call.name.clone(), arguments, called)
}

fn malformed(text: &str) -> String {
    format!("The arguments are no JSON object: {text}")
}

impl AttemptResult {
    /// The words, and the reason for an early end, are kept only until there is a call to judge.
    fn take(&mut self, answer: &ModelAnswer, took: Duration) {
        self.usage = match self.turns {
            0 => answer.usage,
            _ => self
                .usage
                .zip(answer.usage)
                .map(|(before, now)| before.and(now)),
        };
        self.turns += 1;
        self.took += took;
        self.sent_again += self.looked.iter().map(|it| it.tokens).sum::<usize>();
        self.sent_again += self.calls.iter().map(|it| it.tokens).sum::<usize>();
        if self.calls.is_empty() {
            let silent = answer.calls.is_empty() && !answer.words.trim().is_empty();
            self.words = silent.then(|| brief(answer.words.trim()));
            self.stop = answer.stop;
        }
    }
}

impl CallResult {
    fn not_made(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            text: "Not called, because an earlier call failed.".to_owned(),
            failed: true,
        }
    }
}

impl GivenArguments {
    fn as_sent(&self) -> Value {
        match self {
            Self::Arguments(arguments) => Value::Object(arguments.clone()),
            Self::Malformed(text) => Value::String(text.clone()),
        }
    }
}
