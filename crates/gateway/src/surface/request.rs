//! The requests of `call_api`: a tool call, a request to an HTTP provider, or a page of a
//! remainder.

use http::{HeaderMap, Method};
use kitbag_apis::ProviderCall;
use kitbag_budget::notice;
use kitbag_wire::{Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::call::call_truncated;
use super::dispatch::call_nested;
use super::tool_answer::{continuation_call, record_tokens, text_result, truncate_to_budget};
use super::tools::AlwaysOnTool;
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{ApiCall, Call};
use crate::turn::Turn;

/// The unparsed arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallApiArguments {
    tool: Option<String>,
    arguments: Option<Raw>,
    provider: Option<String>,
    method: Option<String>,
    path: Option<String>,
    query: Option<Map<String, Value>>,
    body: Option<Raw>,
    result: Option<String>,
    offset: Option<usize>,
}

pub(crate) enum ApiRequest {
    Tool {
        name: String,
        arguments: Raw,
    },
    Provider {
        provider: String,
        call: ProviderCall,
    },
    Remainder {
        result: String,
        offset: usize,
    },
}

const ONE_OF: &str =
    "give one of: tool (with arguments), provider (with method and path), result (with offset)";
const NO_PATH: &str = "`path` is missing: the path of the request below the provider's address";

impl ApiRequest {
    pub(crate) fn from_arguments(arguments: CallApiArguments) -> Result<Self, Failure> {
        match arguments {
            CallApiArguments {
                tool: Some(name),
                provider: None,
                result: None,
                arguments,
                ..
            } => Ok(Self::Tool {
                name,
                arguments: arguments.unwrap_or_else(|| raw(&RawObject::new())),
            }),
            CallApiArguments {
                tool: None,
                provider: Some(provider),
                result: None,
                method,
                path,
                query,
                body,
                ..
            } => {
                let call = ProviderCall {
                    path: path.ok_or_else(|| Failure::bad_params(NO_PATH))?,
                    method: parse_http_method(method)?,
                    query: flatten_query(query.unwrap_or_default()),
                    body,
                    trace: HeaderMap::new(),
                };
                Ok(Self::Provider { provider, call })
            }
            CallApiArguments {
                tool: None,
                provider: None,
                result: Some(result),
                offset,
                ..
            } => Ok(Self::Remainder {
                result,
                offset: offset.unwrap_or(0),
            }),
            _ => Err(Failure::bad_params(ONE_OF)),
        }
    }

    /// Returns the subject of the request for logs and headings.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Tool { name, .. } => name.clone(),
            Self::Provider { provider, call } => {
                format!("{provider} {} {}", call.method, call.path)
            }
            Self::Remainder { result, .. } => format!("result {result}"),
        }
    }

    /// Executes the request. `params` belongs to the enclosing call: its other members, such as
    /// the progress token or the user's answers, apply to the inner call.
    pub(super) async fn run_request(
        self,
        turn: &Turn,
        mut params: RawObject,
        tokens: usize,
    ) -> Result<Raw, Failure> {
        match self {
            Self::Tool { name, arguments } => {
                params.put("name", &name);
                params.set("arguments", arguments);
                match AlwaysOnTool::from_name(&name).filter(|_| turn.catalog.tool(&name).is_none())
                {
                    Some(own) => call_nested(turn, own, &params).await,
                    None => call_truncated(turn, name, params, tokens).await,
                }
            }
            Self::Provider { provider, call } => {
                let call = ApiCall {
                    provider,
                    request: call,
                };
                let answer = pipeline::run(turn, Call::Api(call)).await;
                record_tokens(
                    turn,
                    METER_NAME,
                    answer.map(|answer| truncate_to_budget(turn, answer, tokens)),
                )
            }
            Self::Remainder { result, offset } => {
                let rest = remainder_page(turn, result, offset, tokens)?;
                record_tokens(turn, METER_NAME, Ok(text_result(&rest)))
            }
        }
    }
}

/// Returns a page of a remainder, with a notice of how to continue.
pub(super) fn remainder_page(
    turn: &Turn,
    result: String,
    offset: usize,
    tokens: usize,
) -> Result<String, Failure> {
    let Some(whole) = turn
        .gateway
        .services
        .remainders
        .find(turn.caller(), &result)
    else {
        return Err(Failure::UnknownResult { result });
    };
    let page = whole.page(offset, tokens);
    let notice = notice::page(&page, |offset| continuation_call(&result, offset));
    Ok(format!("{}\n{notice}", page.text))
}

fn parse_http_method(name: Option<String>) -> Result<Method, Failure> {
    let name = name.unwrap_or_else(|| "GET".to_owned()).to_uppercase();
    Method::from_bytes(name.as_bytes())
        .map_err(|_| Failure::bad_params(format!("unknown HTTP method `{name}`")))
}

fn flatten_query(query: Map<String, Value>) -> Vec<(String, String)> {
    let query = query.into_iter();
    query.map(|(key, value)| (key, value_text(value))).collect()
}

/// The name under which results without a tool are counted.
const METER_NAME: &str = AlwaysOnTool::Call.name();

/// Models sometimes write the arguments as a JSON string. If it does not contain an object, it is
/// left unchanged for the error message.
pub(super) fn unwrap_arguments(arguments: &RawValue) -> Raw {
    let text: Option<String> = serde_json::from_str(arguments.get()).ok();
    let object = text.and_then(|text| match text.trim() {
        "" => Some(RawObject::new()),
        text => serde_json::from_str::<RawObject>(text).ok(),
    });
    object.map_or_else(|| arguments.to_owned(), |object| object.to_raw())
}

fn value_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
