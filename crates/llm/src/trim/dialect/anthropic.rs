//! Anthropic's Messages API: content in blocks, and results of tools in messages of the person.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ContentPart, Utterance, person_said, texts};
use crate::trim::request::RequestOutline;

/// Claude Code sends its billing data as a block of the system prompt, other data each time. The
/// block says nothing about the conversation.
const BILLING: &str = "x-anthropic-billing-header";

pub(super) fn read<'a>(outline: &RequestOutline<'a>) -> Option<Vec<Utterance<'a>>> {
    let messages: Vec<AnthropicMessage<'a>> = serde_json::from_str(outline.messages?.get()).ok()?;
    let mut said: Vec<Utterance<'a>> = system(outline.system).map(Utterance::System).collect();
    for message in &messages {
        message.read(&mut said);
    }
    Some(said)
}

fn system(system: Option<&RawValue>) -> impl Iterator<Item = String> {
    let blocks: Vec<ContentPart<'_>> = system
        .and_then(|system| serde_json::from_str(system.get()).ok())
        .unwrap_or_default();
    let texts = if blocks.is_empty() {
        vec![texts(system, &[])]
    } else {
        blocks.iter().map(ContentPart::text).collect()
    };
    texts.into_iter().filter(|text| !text.starts_with(BILLING))
}

#[derive(Deserialize)]
struct AnthropicMessage<'a> {
    role: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

impl<'a> AnthropicMessage<'a> {
    fn read(&self, said: &mut Vec<Utterance<'a>>) {
        let Some(content) = self.content else { return };
        let blocks: Vec<ContentPart<'a>> = serde_json::from_str(content.get()).unwrap_or_default();
        for block in &blocks {
            said.extend(block.heard());
        }
        match self.role.as_str() {
            "user" => said.extend(person_said(&texts(self.content, &["text"]))),
            "system" => said.push(Utterance::System(texts(self.content, &["text"]))),
            _ if blocks.is_empty() => said.push(Utterance::Assistant(content.get())),
            _ => said.extend(blocks.iter().filter_map(ContentPart::assistant)),
        }
    }
}

impl<'a> ContentPart<'a> {
    fn heard(&self) -> Option<Utterance<'a>> {
        match self.kind.as_str() {
            "tool_use" => self.name.clone().map(Utterance::Call),
            "tool_result" => self.content.map(|it| Utterance::Result(it.get())),
            _ => None,
        }
    }

    fn assistant(&self) -> Option<Utterance<'a>> {
        let text = self.text.filter(|_| self.kind == "text");
        text.map(|text| Utterance::Assistant(text.get()))
    }
}
