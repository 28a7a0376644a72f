//! A request to a model: the position of its tools, and its messages.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::trim::dialect::parse_utterances;
use crate::trim::dialogue::VendorMemory;
use crate::trim::splice::with_tools;
use crate::trim::{Dialogue, ListedTool, ModelApi};

#[derive(Debug)]
pub struct ModelRequest<'a> {
    pub api: ModelApi,
    body: &'a str,
    /// The array of tools, as a part of the body.
    array: &'a str,
    pub tools: Vec<ListedTool<'a>>,
    /// The functions that the request says the model must or may call.
    pub demanded: Vec<String>,
    /// True if the request is valid without tools: no other field refers to them.
    pub may_lose_all_tools: bool,
    pub dialogue: Dialogue<'a>,
}

impl<'a> ModelRequest<'a> {
    /// Parses a request that offers tools. `None` if it offers none, or does not have the form of
    /// the API: then the vendor reports the error.
    pub fn parse(api: ModelApi, body: &'a str) -> Option<Self> {
        // A duplicate field is an error here, so such a request is not changed.
        let outline: RequestOutline<'a> = serde_json::from_str(body).ok()?;
        let array = outline.tools?.get();
        let definitions: Vec<&'a RawValue> = serde_json::from_str(array).ok()?;
        let said = parse_utterances(api, &outline)?;
        let dialogue = Dialogue::from_utterances(said, &outline.vendor_memory());
        let speaks_of_tools =
            outline.tool_choice.is_some() || outline.parallel_tool_calls.is_some();
        Some(Self {
            api,
            body,
            array,
            tools: definitions
                .into_iter()
                .map(|it| ListedTool::parse(api, it))
                .collect(),
            demanded: outline.demanded_names(),
            may_lose_all_tools: !speaks_of_tools && dialogue.calls.is_empty(),
            dialogue,
        })
    }

    /// Returns the array of tools, as the client wrote it.
    pub fn tools_text(&self) -> &'a str {
        self.array
    }

    /// Returns the body with only the tools marked in `is_kept`.
    pub fn with_tools(&self, is_kept: &[bool]) -> String {
        with_tools(self.body, self.array, &self.tools, is_kept)
    }
}

/// The fields of all three APIs about tools and messages.
#[derive(Deserialize)]
pub(crate) struct RequestOutline<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_choice: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parallel_tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) instructions: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    conversation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    previous_response_id: Option<&'a RawValue>,
}

impl RequestOutline<'_> {
    /// The vendors put one name at different depths, or use a list.
    fn demanded_names(&self) -> Vec<String> {
        let choice = self.tool_choice.map(RawValue::get).unwrap_or("null");
        let mut names = Vec::new();
        collect_names(
            &serde_json::from_str(choice).unwrap_or_default(),
            &mut names,
        );
        names
    }

    fn vendor_memory(&self) -> VendorMemory {
        let conversation: Value = read_or_null(self.conversation);
        let named = conversation.as_str().or(conversation["id"].as_str());
        match named {
            Some(name) => VendorMemory::Named(name.to_owned()),
            None if self.previous_response_id.is_some() => VendorMemory::Unnamed,
            None => VendorMemory::None,
        }
    }
}

fn read_or_null(json: Option<&RawValue>) -> Value {
    json.and_then(|json| serde_json::from_str(json.get()).ok())
        .unwrap_or_default()
}

fn collect_names(choice: &Value, names: &mut Vec<String>) {
    match choice {
        Value::Object(fields) => {
            let name = fields.get("name").and_then(Value::as_str);
            names.extend(name.map(str::to_owned));
            fields.values().for_each(|it| collect_names(it, names));
        }
        Value::Array(items) => items.iter().for_each(|it| collect_names(it, names)),
        _ => {}
    }
}
