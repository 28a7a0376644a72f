//! Runs an action of a tool file, with the credential of the caller's tenant.
//!
//! A failure is a result for the model, with a code for programs and advice: the tool was called,
//! and this is the outcome.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_apis::{ActionAnswer, AnswerUsage, DeclaredApi};
use kitbag_domain::NanoUsd;
use kitbag_domain::text::strip_invisible;
use kitbag_platform::{PlatformAnswer, PlatformCaller};
use kitbag_tool_files::DeclaredCost;
use kitbag_wire::{Raw, raw};
use serde_json::{Value, json};

use super::ask_models::ask_models;
use super::failure::ToolFileFailure;
use super::target::{ChosenAction, ToolFileTarget};
use crate::call::failure::Failure;
use crate::catalog::tool_files::FileToolExecutor;
use crate::turn::Turn;

pub(crate) async fn run_action(
    turn: &Turn,
    target: &ToolFileTarget,
) -> Result<ActionOutcome, Failure> {
    let chosen = target.choose_action()?;
    let done = match &target.tool.executor {
        FileToolExecutor::Api(api) => {
            let answer = call_api(turn, target, api, &chosen).await;
            answer.map(|answer| ActionOutcome {
                result: answer.tool_result(),
                price: call_price(target.tool.file.cost, answer.usage),
            })
        }
        FileToolExecutor::Kitbag => {
            let answer = call_platform(turn, target, chosen).await;
            answer.map(ActionOutcome::without_price)
        }
        FileToolExecutor::Models(tool, providers) => {
            ask_models(turn, *tool, providers, chosen.arguments, &target.trace).await
        }
    };
    Ok(done.unwrap_or_else(|failure| ActionOutcome::without_price(failure.to_tool_result())))
}

/// The result of a call.
pub(crate) struct ActionOutcome {
    pub(crate) result: Raw,
    /// The price of the call, if the answer reported one.
    pub(crate) price: Option<NanoUsd>,
}

impl ActionOutcome {
    fn without_price(result: Raw) -> Self {
        Self {
            result,
            price: None,
        }
    }
}

async fn call_api(
    turn: &Turn,
    target: &ToolFileTarget,
    api: &DeclaredApi,
    chosen: &ChosenAction<'_>,
) -> Result<ActionAnswer, ToolFileFailure> {
    let declaration = target.tool.file.api.as_ref();
    let name = declaration.and_then(|api| api.credential.as_ref());
    let credentials = &turn.gateway.services.credentials;
    let credential = credentials
        .find_credential(&turn.caller().tenant, name)
        .await;
    let credential = credential.map_err(|error| ToolFileFailure::from_store_error(&error))?;
    let request = chosen.action.request.as_ref();
    let request = request.expect("every action of a tool with an API is a request");
    let answer = api.call(
        request,
        &chosen.arguments,
        &credential,
        &credentials.tokens,
        &target.trace,
    );
    Ok(answer.await?)
}

/// Returns the price that the answer reports, or else the price of its tokens.
fn call_price(cost: DeclaredCost, usage: AnswerUsage) -> Option<NanoUsd> {
    if let Some(usd) = usage.cost_usd {
        return Some(NanoUsd::from_usd(usd));
    }
    let part = |tokens: Option<u64>, per_million: Option<NanoUsd>| {
        Some(tokens? as f64 * per_million?.to_usd() / 1e6)
    };
    let input = part(usage.input_tokens, cost.per_million_input_tokens)?;
    let output = part(usage.output_tokens, cost.per_million_output_tokens)?;
    Some(NanoUsd::from_usd(input + output))
}

async fn call_platform(
    turn: &Turn,
    target: &ToolFileTarget,
    chosen: ChosenAction<'_>,
) -> Result<Raw, ToolFileFailure> {
    let caller = PlatformCaller {
        tenant: turn.caller().tenant.clone(),
        key: turn.caller().key.clone(),
        client: turn.client.name.clone(),
    };
    let ChosenAction { action, arguments } = chosen;
    let (platform, id) = (&turn.gateway.platform, &target.tool.file.id);
    let answer = platform
        .run_action(id, &action.name, arguments, &caller)
        .await?;
    Ok(platform_result(answer))
}

fn platform_result(answer: PlatformAnswer) -> Raw {
    let content = match answer {
        PlatformAnswer::Json(value) => vec![text_content(&value.to_string())],
        PlatformAnswer::Text(text) => vec![text_content(&text)],
        PlatformAnswer::Image {
            bytes,
            media_type,
            about,
        } => {
            let data = STANDARD.encode(bytes);
            let image = json!({ "type": "image", "data": data, "mimeType": media_type });
            vec![image, text_content(&about.to_string())]
        }
    };
    raw(&json!({ "content": content, "isError": false }))
}

pub(super) fn text_content(text: &str) -> Value {
    json!({ "type": "text", "text": strip_invisible(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_reported_or_computed_from_tokens() {
        let cost = DeclaredCost {
            per_call: None,
            per_million_input_tokens: Some(NanoUsd::from_usd(2.0)),
            per_million_output_tokens: Some(NanoUsd::from_usd(10.0)),
        };
        let usage = |cost_usd, input_tokens, output_tokens| AnswerUsage {
            cost_usd,
            input_tokens,
            output_tokens,
        };
        let check = |usage, expected: Option<f64>| {
            assert_eq!(
                call_price(cost, usage),
                expected.map(NanoUsd::from_usd),
                "{usage:?}"
            );
        };
        check(usage(Some(0.25), Some(1), Some(1)), Some(0.25));
        check(usage(None, Some(1_000), Some(100)), Some(0.003));
        check(usage(None, Some(1_000), None), None);
        check(usage(None, None, None), None);
    }
}
