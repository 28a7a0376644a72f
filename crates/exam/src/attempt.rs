//! One prompt to one model: its first call is made, and after an error it may try once more.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, EndpointError};
use crate::dialect::{Answer, Conversation, Given, Retry, Stop, ToolCall, Usage};
use crate::journal::Made;
use crate::judge::{Outcome, Verdict, brief, judge};
use crate::suite::{Arguments, Prompt};
use crate::tools::{Called, Tools};

pub(crate) struct Attempt<'a, S> {
    pub(crate) client: &'a Client,
    pub(crate) definitions: &'a [Value],
    pub(crate) parameters: &'a Arguments,
    pub(crate) tools: &'a Tools,
    pub(crate) prompt: &'a Prompt,
    pub(crate) server: &'a S,
    pub(crate) count: fn(&str) -> usize,
}

/// What the model did, and what that took.
pub(crate) struct Done {
    pub(crate) calls: Vec<Made>,
    pub(crate) also: usize,
    pub(crate) words: Option<String>,
    pub(crate) stop: Option<Stop>,
    pub(crate) untold: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) took: Duration,
}

impl<S: AsyncFn(String, Arguments) -> Called> Attempt<'_, S> {
    pub(crate) async fn make(&self) -> Result<Done, EndpointError> {
        let (tools, parameters) = (self.definitions, self.parameters);
        let conversation = Conversation {
            tools,
            parameters,
            prompt: &self.prompt.prompt,
            retry: None,
        };
        let (first, took) = self.client.ask(&conversation).await?;
        let mut done = Done::new(&first, took);
        let Some(call) = first.calls.first() else {
            return Ok(done);
        };
        let (made, called) = self.call(call).await;
        done.calls.push(made);
        if called.failed {
            let retry = Some(retry(&first, called.text));
            match self
                .client
                .ask(&Conversation {
                    retry,
                    ..conversation
                })
                .await
            {
                Ok((second, took)) => self.once_more(&mut done, &second, took).await,
                // The first call has been made and judged; that its error was not taken changes nothing.
                Err(error) if error.is_about_the_request() => done.untold = Some(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    async fn once_more(&self, done: &mut Done, second: &Answer, took: Duration) {
        done.usage = done
            .usage
            .zip(second.usage)
            .map(|(first, second)| first.and(second));
        done.took += took;
        if let Some(call) = second.calls.first() {
            done.calls.push(self.call(call).await.0);
        }
    }

    async fn call(&self, call: &ToolCall) -> (Made, Called) {
        let ToolCall {
            name, arguments, ..
        } = call;
        let called = match arguments {
            _ if !self.tools.has(name) => Called::failure(self.tools.unknown(name)),
            Given::Malformed(text) => {
                Called::failure(format!("The arguments are no JSON object: {text}"))
            }
            Given::Arguments(arguments) => (self.server)(name.clone(), arguments.clone()).await,
        };
        let Verdict { outcome, why } = match self.tools.has(name) {
            true => judge(self.prompt, name, arguments, &called),
            false => Verdict {
                outcome: Outcome::UnknownTool,
                why: None,
            },
        };
        let said = json!({ "name": name, "arguments": arguments.as_sent() }).to_string();
        let tokens = (self.count)(&said) + (self.count)(&called.text);
        (
            Made {
                tool: name.clone(),
                given: arguments.clone(),
                outcome,
                why,
                tokens,
            },
            called,
        )
    }
}

impl Done {
    fn new(first: &Answer, took: Duration) -> Self {
        let silent = first.calls.is_empty() && !first.words.trim().is_empty();
        Self {
            calls: Vec::new(),
            also: first.calls.len().saturating_sub(1),
            words: silent.then(|| brief(first.words.trim())),
            stop: first.stop,
            untold: None,
            usage: first.usage,
            took,
        }
    }
}

/// Every call wants an answer, though only the first was made.
fn retry(answer: &Answer, error: String) -> Retry {
    let others = "Not called, because the first call failed.";
    let errors = std::iter::once(error).chain(std::iter::repeat(others.to_owned()));
    Retry {
        said: answer.said.clone(),
        errors: answer
            .calls
            .iter()
            .map(|it| it.id.clone())
            .zip(errors)
            .collect(),
    }
}

impl Given {
    fn as_sent(&self) -> Value {
        match self {
            Self::Arguments(arguments) => Value::Object(arguments.clone()),
            Self::Malformed(text) => Value::String(text.clone()),
        }
    }
}
