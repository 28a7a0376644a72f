//! OpenAI's Chat Completions API: calls in a field of the model's message, and results in messages
//! with their own role.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Utterance, join_texts, user_utterance};
use crate::trim::request::RequestOutline;

pub(super) fn parse_messages<'a>(outline: &RequestOutline<'a>) -> Option<Vec<Utterance<'a>>> {
    let messages: Vec<ChatMessage<'a>> = serde_json::from_str(outline.messages?.get()).ok()?;
    let mut said = Vec::new();
    for message in &messages {
        message.push_utterances(&mut said);
    }
    Some(said)
}

#[derive(Deserialize)]
struct ChatMessage<'a> {
    role: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    tool_calls: Option<Vec<ChatCall>>,
}

#[derive(Deserialize)]
struct ChatCall {
    #[serde(alias = "custom", default)]
    function: Option<CalledFunction>,
}

#[derive(Deserialize)]
struct CalledFunction {
    name: String,
}

impl<'a> ChatMessage<'a> {
    fn push_utterances(&self, said: &mut Vec<Utterance<'a>>) {
        match self.role.as_str() {
            "system" | "developer" => {
                said.push(Utterance::System(join_texts(self.content, &["text"])));
            }
            "user" => said.extend(user_utterance(&join_texts(self.content, &["text"]))),
            "tool" | "function" => {
                said.extend(self.content.map(|it| Utterance::Result(it.get())));
            }
            _ => self.read_answer(said),
        }
    }

    fn read_answer(&self, said: &mut Vec<Utterance<'a>>) {
        said.extend(self.content.map(|it| Utterance::Assistant(it.get())));
        let calls = self.tool_calls.iter().flatten();
        let names = calls.filter_map(|call| Some(call.function.as_ref()?.name.clone()));
        said.extend(names.map(Utterance::Call));
    }
}
