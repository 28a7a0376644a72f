//! Anthropic's Messages API: content in blocks, and tool results in user messages.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ContentPart, Utterance, join_texts, user_utterance};
use crate::trim::request::RequestOutline;

/// Claude Code sends its billing data as a block of the system prompt, different in each request.
/// The block says nothing about the conversation.
const BILLING: &str = "x-anthropic-billing-header";

pub(super) fn parse_messages<'a>(outline: &RequestOutline<'a>) -> Option<Vec<Utterance<'a>>> {
    let messages: Vec<AnthropicMessage<'a>> = serde_json::from_str(outline.messages?.get()).ok()?;
    let mut said: Vec<Utterance<'a>> = system_texts(outline.system)
        .map(Utterance::System)
        .collect();
    for message in &messages {
        message.push_utterances(&mut said);
    }
    Some(said)
}

fn system_texts(system: Option<&RawValue>) -> impl Iterator<Item = String> {
    let blocks: Vec<ContentPart<'_>> = system
        .and_then(|system| serde_json::from_str(system.get()).ok())
        .unwrap_or_default();
    let texts = if blocks.is_empty() {
        vec![join_texts(system, &[])]
    } else {
        blocks.iter().map(ContentPart::text_content).collect()
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
    fn push_utterances(&self, said: &mut Vec<Utterance<'a>>) {
        let Some(content) = self.content else { return };
        let blocks: Vec<ContentPart<'a>> = serde_json::from_str(content.get()).unwrap_or_default();
        for block in &blocks {
            said.extend(block.tool_utterance());
        }
        match self.role.as_str() {
            "user" => said.extend(user_utterance(&join_texts(self.content, &["text"]))),
            "system" => said.push(Utterance::System(join_texts(self.content, &["text"]))),
            _ if blocks.is_empty() => said.push(Utterance::Assistant(content.get())),
            _ => said.extend(blocks.iter().filter_map(ContentPart::assistant_utterance)),
        }
    }
}

impl<'a> ContentPart<'a> {
    fn tool_utterance(&self) -> Option<Utterance<'a>> {
        match self.kind.as_str() {
            "tool_use" => self.name.clone().map(Utterance::Call),
            "tool_result" => self.content.map(|it| Utterance::Result(it.get())),
            _ => None,
        }
    }

    fn assistant_utterance(&self) -> Option<Utterance<'a>> {
        let text = self.text.filter(|_| self.kind == "text");
        text.map(|text| Utterance::Assistant(text.get()))
    }
}
