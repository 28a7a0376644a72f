//! The requests that `call_api` takes: a tool, a request to an HTTP provider, or the rest of a long
//! result.

use http::{HeaderMap, Method};
use kitbag_apis::ProviderCall;
use kitbag_budget::notice;
use kitbag_wire::{Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer::{fitted, metered, read_on, text};
use super::call::one;
use super::looking::inside;
use super::tools::AlwaysOn;
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{ApiCall, Call};
use crate::turn::Turn;

/// The arguments as they come.
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
    Rest {
        result: String,
        offset: usize,
    },
}

const ONE_OF: &str =
    "give one of: tool (with arguments), provider (with method and path), result (with offset)";
const NO_PATH: &str = "`path` is missing: where below the provider's address the request goes";

impl ApiRequest {
    pub(crate) fn read(asked: CallApiArguments) -> Result<Self, Failure> {
        match asked {
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
                    path: path.ok_or_else(|| Failure::params(NO_PATH))?,
                    method: http_method(method)?,
                    query: plain_query(query.unwrap_or_default()),
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
            } => Ok(Self::Rest {
                result,
                offset: offset.unwrap_or(0),
            }),
            _ => Err(Failure::params(ONE_OF)),
        }
    }

    /// Returns the subject of the request, in a word or two.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::Tool { name, .. } => name.clone(),
            Self::Provider { provider, call } => {
                format!("{provider} {} {}", call.method, call.path)
            }
            Self::Rest { result, .. } => format!("result {result}"),
        }
    }

    /// Carries it out. `params` are those of the call around it: what else they say, such as
    /// where progress is to be reported or what the person answered, concerns the tool inside.
    pub(super) async fn run(
        self,
        turn: &Turn,
        mut params: RawObject,
        tokens: usize,
    ) -> Result<Raw, Failure> {
        match self {
            Self::Tool { name, arguments } => {
                params.put("name", &name);
                params.set("arguments", arguments);
                match AlwaysOn::named(&name).filter(|_| turn.catalog.tool(&name).is_none()) {
                    Some(own) => inside(turn, own, &params).await,
                    None => one(turn, name, params, tokens).await,
                }
            }
            Self::Provider { provider, call } => {
                let call = ApiCall {
                    provider,
                    request: call,
                };
                let answer = pipeline::run(turn, Call::Api(call)).await;
                metered(turn, OWN, answer.map(|answer| fitted(turn, answer, tokens)))
            }
            Self::Rest { result, offset } => {
                let rest = rest(turn, result, offset, tokens)?;
                metered(turn, OWN, Ok(text(&rest)))
            }
        }
    }
}

/// A page of a long result that is kept, with a notice of how to read on.
pub(super) fn rest(
    turn: &Turn,
    result: String,
    offset: usize,
    tokens: usize,
) -> Result<String, Failure> {
    let Some(whole) = turn.gateway.services.kept.find(turn.caller(), &result) else {
        return Err(Failure::UnknownResult { result });
    };
    let page = whole.page(offset, tokens);
    let notice = notice::page(&page, |offset| read_on(&result, offset));
    Ok(format!("{}\n{notice}", page.text))
}

fn http_method(name: Option<String>) -> Result<Method, Failure> {
    let name = name.unwrap_or_else(|| "GET".to_owned()).to_uppercase();
    Method::from_bytes(name.as_bytes())
        .map_err(|_| Failure::params(format!("`{name}` is not an HTTP method")))
}

fn plain_query(query: Map<String, Value>) -> Vec<(String, String)> {
    let query = query.into_iter();
    query.map(|(key, value)| (key, plain(value))).collect()
}

/// The name under which results are counted that come from no tool.
const OWN: &str = AlwaysOn::Call.name();

/// Models at times write the arguments as a string that contains them. What is no object even so
/// is left as it is, to be explained.
pub(super) fn unwrapped(arguments: &RawValue) -> Raw {
    let text: Option<String> = serde_json::from_str(arguments.get()).ok();
    let object = text.and_then(|text| match text.trim() {
        "" => Some(RawObject::new()),
        text => serde_json::from_str::<RawObject>(text).ok(),
    });
    object.map_or_else(|| arguments.to_owned(), |object| object.to_raw())
}

fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
