//! Carries out an action of a declared tool, with the credential of the caller's tenant.
//!
//! A failure is a result that the model can read, with a word for programs and advice: the tool was
//! called, and this is how that ended.

use kitbag_apis::{ActionAnswer, ActionError, DeclaredApi};
use kitbag_domain::Remedy as _;
use kitbag_domain::text::visible;
use kitbag_wire::{Raw, raw};
use serde_json::json;

use super::target::{ChosenAction, DeclaredTarget};
use crate::failure::Failure;
use crate::turn::Turn;

pub(crate) async fn carry_out(turn: &Turn, target: &DeclaredTarget) -> Result<Raw, Failure> {
    let chosen = target.chosen()?;
    let Some(api) = &target.tool.api else {
        unreachable!("only tools with an API are offered");
    };
    Ok(match ask(turn, target, api, &chosen).await {
        Ok(answer) => answer.tool_result(),
        Err(refusal) => refused(&refusal),
    })
}

/// The reason why there is no answer.
struct Refusal {
    code: &'static str,
    message: String,
    advice: Option<String>,
}

async fn ask(
    turn: &Turn,
    target: &DeclaredTarget,
    api: &DeclaredApi,
    chosen: &ChosenAction<'_>,
) -> Result<ActionAnswer, Refusal> {
    let declaration = target.tool.file.api.as_ref();
    let name = declaration.and_then(|api| api.credential.as_ref());
    let credentials = &turn.gateway.services.credentials;
    let credential = credentials.of(&turn.caller().tenant, name).await;
    let credential = credential.map_err(|error| Refusal::of_store(&error))?;
    let request = chosen.action.request.as_ref();
    let request = request.expect("every action of a tool with an API is a request");
    let answer = api.call(request, &chosen.arguments, &credential, &credentials.tokens);
    answer.await.map_err(|error| Refusal::of_action(&error))
}

impl Refusal {
    fn of_action(error: &ActionError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            advice: error.remedy(),
        }
    }

    /// The reason is for the operator, in the log; a caller could do nothing with it.
    fn of_store(error: &kitbag_store::Error) -> Self {
        tracing::error!(%error, "a credential could not be read");
        Self {
            code: "CREDENTIAL_UNREADABLE",
            message: "the credential for this tool could not be read".to_owned(),
            advice: Some("the operator finds the reason in the log of the gateway".to_owned()),
        }
    }
}

fn refused(refusal: &Refusal) -> Raw {
    let mut text = format!("{}: {}", refusal.code, refusal.message);
    if let Some(advice) = &refusal.advice {
        text.push_str(&format!("\n{advice}"));
    }
    raw(&json!({
        "content": [{ "type": "text", "text": visible(&text) }],
        "isError": true,
    }))
}
