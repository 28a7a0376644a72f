//! The requests that `call_api` takes: a tool, a request to an HTTP provider, or the rest of a long
//! result.

use http::Method;
use kitbag_apis::ProviderCall;
use kitbag_budget::notice;
use kitbag_wire::{Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answer::{fitted, metered, read_on, text};
use super::call::{inside, one};
use super::tools::AlwaysOn;
use crate::call::{ApiCall, Call};
use crate::failure::Failure;
use crate::pipeline;
use crate::turn::Turn;

/// The arguments as they come.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallApiArguments {
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

pub(super) enum ApiRequest {
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

impl ApiRequest {
    pub(super) fn read(asked: CallApiArguments) -> Result<Self, Failure> {
        let one_of = "give one of: tool (with arguments), provider (with method and path), result (with offset)";
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
                let path = path.ok_or_else(|| {
                    Failure::params(
                        "`path` is missing: where below the provider's address the request goes",
                    )
                })?;
                let method = method.unwrap_or_else(|| "GET".to_owned()).to_uppercase();
                let method = Method::from_bytes(method.as_bytes())
                    .map_err(|_| Failure::params(format!("`{method}` is not an HTTP method")))?;
                let query = query
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, value)| (key, plain(value)));
                let call = ProviderCall {
                    method,
                    path,
                    query: query.collect(),
                    body,
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
            _ => Err(Failure::params(one_of)),
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
                let whole = turn
                    .gateway
                    .services
                    .kept
                    .find(&turn.client.caller, &result);
                let whole = whole.ok_or(Failure::UnknownResult {
                    result: result.clone(),
                })?;
                let page = whole.page(offset, tokens);
                let notice = notice::page(&page, |offset| read_on(&result, offset));
                metered(turn, OWN, Ok(text(&format!("{}\n{notice}", page.text))))
            }
        }
    }
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
