//! One prompt to one model: its first call is made, and after an error it may try once more.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, EndpointError};
use crate::dialect::{Answer, Conversation, Given, Retry, ToolCall, Usage};
use crate::journal::Made;
use crate::judge::judge;
use crate::suite::{Arguments, Prompt};
use crate::tools::{Called, Tools};

pub(crate) struct Attempt<'a, S> {
    pub(crate) client: &'a Client,
    pub(crate) definitions: &'a [Value],
    pub(crate) tools: &'a Tools,
    pub(crate) prompt: &'a Prompt,
    pub(crate) server: &'a S,
    pub(crate) count: fn(&str) -> usize,
}

/// What the model did, and what that took.
pub(crate) struct Done {
    pub(crate) calls: Vec<Made>,
    pub(crate) usage: Option<Usage>,
    pub(crate) took: Duration,
}

impl<S: AsyncFn(String, Arguments) -> Called> Attempt<'_, S> {
    pub(crate) async fn make(&self) -> Result<Done, EndpointError> {
        let mut conversation = Conversation { prompt: self.prompt.prompt.clone(), retry: None };
        let (first, took) = self.client.ask(self.definitions, &conversation).await?;
        let mut done = Done { calls: Vec::new(), usage: first.usage, took };
        let Some(call) = first.calls.first() else { return Ok(done) };
        let (made, called) = self.call(call).await;
        done.calls.push(made);
        if called.failed {
            conversation.retry = Some(retry(&first, called.text));
            let (second, took) = self.client.ask(self.definitions, &conversation).await?;
            done.usage = done.usage.zip(second.usage).map(|(first, second)| first.and(second));
            done.took += took;
            if let Some(call) = second.calls.first() {
                done.calls.push(self.call(call).await.0);
            }
        }
        Ok(done)
    }

    async fn call(&self, call: &ToolCall) -> (Made, Called) {
        let ToolCall { name, arguments, .. } = call;
        let called = match arguments {
            _ if !self.tools.has(name) => Called::failure(format!("There is no tool `{name}`.")),
            Given::Malformed(_) => {
                Called::failure("The arguments could not be read: they are not a JSON object.".to_owned())
            }
            Given::Arguments(arguments) => (self.server)(name.clone(), arguments.clone()).await,
        };
        let said = json!({ "name": name, "arguments": arguments.as_sent() }).to_string();
        let made = Made {
            tool: name.clone(),
            given: arguments.clone(),
            outcome: judge(self.prompt, name, arguments, &called),
            tokens: (self.count)(&said) + (self.count)(&called.text),
        };
        (made, called)
    }
}

/// Every call wants an answer, though only the first was made.
fn retry(answer: &Answer, error: String) -> Retry {
    let others = "Not called, because the first call failed.";
    let errors = std::iter::once(error).chain(std::iter::repeat(others.to_owned()));
    Retry {
        said: answer.said.clone(),
        errors: answer.calls.iter().map(|it| it.id.clone()).zip(errors).collect(),
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
