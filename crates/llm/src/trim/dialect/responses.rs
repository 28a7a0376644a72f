//! OpenAI's Responses API: messages, calls and their results are items of one list.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Utterance, join_texts, user_utterance};
use crate::trim::request::RequestOutline;

pub(super) fn parse_items<'a>(outline: &RequestOutline<'a>) -> Option<Vec<Utterance<'a>>> {
    let instructions = join_texts(outline.instructions, &[]);
    let mut said = vec![Utterance::System(instructions)];
    let input = outline.input?.get();
    if let Ok(text) = serde_json::from_str::<String>(input) {
        said.extend(user_utterance(&text));
        return Some(said);
    }
    let items: Vec<InputItem<'a>> = serde_json::from_str(input).ok()?;
    said.extend(items.iter().filter_map(InputItem::to_utterance));
    Some(said)
}

#[derive(Deserialize)]
struct InputItem<'a> {
    /// Absent in a message in short form.
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    role: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
}

impl<'a> InputItem<'a> {
    fn to_utterance(&self) -> Option<Utterance<'a>> {
        match self.kind.as_deref().unwrap_or("message") {
            "message" => self.read_message(),
            "function_call" | "custom_tool_call" => self.name.clone().map(Utterance::Call),
            "function_call_output" | "custom_tool_call_output" => {
                self.output.map(|it| Utterance::Result(it.get()))
            }
            _ => None,
        }
    }

    fn read_message(&self) -> Option<Utterance<'a>> {
        match self.role.as_deref()? {
            "user" => user_utterance(&join_texts(self.content, &["input_text", "text"])),
            "system" | "developer" => Some(Utterance::System(join_texts(
                self.content,
                &["input_text", "text"],
            ))),
            _ => self.content.map(|it| Utterance::Assistant(it.get())),
        }
    }
}
