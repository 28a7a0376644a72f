//! One tool of a request, as far as trimming needs it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::trim::ModelApi;

#[derive(Debug, Clone)]
pub struct ListedTool<'a> {
    /// The whole definition, as the client wrote it.
    pub text: &'a str,
    /// The name of a function that the client runs; `None` for a tool of the vendor, such as
    /// its web search.
    pub function: Option<String>,
    /// The description that the model reads.
    pub description: String,
    /// True if the model gets the tool only through the vendor's tool search.
    pub is_deferred: bool,
    /// The mark that ends the part of a request to be cached by the vendor.
    pub(crate) cache_mark: Option<&'a RawValue>,
}

impl<'a> ListedTool<'a> {
    pub(crate) fn parse(api: ModelApi, definition: &'a RawValue) -> Self {
        let text = definition.get();
        let outline: DefinitionOutline<'a> = serde_json::from_str(text).unwrap_or_default();
        let is_function = match api {
            ModelApi::Messages => matches!(outline.kind.as_deref(), None | Some("custom")),
            ModelApi::ChatCompletions | ModelApi::Responses => {
                outline.kind.as_deref() == Some("function")
            }
        };
        let function = match api {
            ModelApi::ChatCompletions => outline.function.unwrap_or_default(),
            ModelApi::Messages | ModelApi::Responses => FunctionOutline {
                name: outline.name,
                description: outline.description,
            },
        };
        Self {
            text,
            function: function.name.filter(|_| is_function),
            description: function.description.unwrap_or_default(),
            is_deferred: outline.defer_loading.unwrap_or_default(),
            cache_mark: outline.cache_control,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DefinitionOutline<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    description: Option<String>,
    function: Option<FunctionOutline>,
    defer_loading: Option<bool>,
    #[serde(borrow)]
    cache_control: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionOutline {
    name: Option<String>,
    description: Option<String>,
}
