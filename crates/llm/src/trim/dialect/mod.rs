//! Parses the messages of each API into utterances, in order.

mod anthropic;
mod chat;
mod responses;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::trim::ModelApi;
use crate::trim::request::RequestOutline;

/// One utterance in a conversation. Texts that are only searched stay JSON.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Utterance<'a> {
    /// From the operator or the author of the client.
    System(String),
    /// From the user.
    User(String),
    /// From the model.
    Assistant(&'a str),
    /// The model called the tool with this name.
    Call(String),
    /// The answer of a tool.
    Result(&'a str),
}

/// Returns all utterances; `None` if the messages do not have the form of the API.
pub(crate) fn parse_utterances<'a>(
    api: ModelApi,
    outline: &RequestOutline<'a>,
) -> Option<Vec<Utterance<'a>>> {
    match api {
        ModelApi::Messages => anthropic::parse_messages(outline),
        ModelApi::ChatCompletions => chat::parse_messages(outline),
        ModelApi::Responses => responses::parse_items(outline),
    }
}

/// Parses content that is one text or a list of parts, and returns the texts of the parts with one
/// of these types.
fn join_texts(content: Option<&RawValue>, types: &[&str]) -> String {
    let Some(content) = content else {
        return String::new();
    };
    if let Ok(text) = serde_json::from_str(content.get()) {
        return text;
    }
    let parts: Vec<ContentPart<'_>> = serde_json::from_str(content.get()).unwrap_or_default();
    let texts = parts
        .iter()
        .filter(|part| types.contains(&part.kind.as_str()))
        .map(ContentPart::text_content);
    texts.collect::<Vec<String>>().join("\n")
}

/// A part of a message.
#[derive(Deserialize)]
struct ContentPart<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

impl ContentPart<'_> {
    fn text_content(&self) -> String {
        self.text
            .and_then(|text| serde_json::from_str(text.get()).ok())
            .unwrap_or_default()
    }
}

/// Clients insert hints of their own into the user's messages, between these.
const HINT: (&str, &str) = ("<system-reminder>", "</system-reminder>");

/// Returns the user's text without the hints of a client; `None` if no text is left.
fn user_utterance(text: &str) -> Option<Utterance<'static>> {
    let mut said = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(HINT.0) {
        said.push_str(before);
        rest = after.split_once(HINT.1).map_or("", |(_, after)| after);
    }
    said.push_str(rest);
    let said = said.trim();
    (!said.is_empty()).then(|| Utterance::User(said.to_owned()))
}
