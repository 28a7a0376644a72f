//! Carries out an action of a declared tool, with the credential of the caller's tenant.
//!
//! A failure is a result that the model can read, with a word for programs and advice: the tool was
//! called, and this is how that ended.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_apis::{ActionError, DeclaredApi};
use kitbag_domain::Remedy as _;
use kitbag_domain::text::visible;
use kitbag_platform::{PlatformAnswer, PlatformCaller, PlatformError};
use kitbag_wire::{Raw, raw};
use serde_json::{Value, json};

use super::target::{ChosenAction, DeclaredTarget};
use crate::failure::Failure;
use crate::turn::Turn;

pub(crate) async fn carry_out(turn: &Turn, target: &DeclaredTarget) -> Result<Raw, Failure> {
    let chosen = target.chosen()?;
    let done = match &target.tool.api {
        Some(api) => ask_api(turn, target, api, &chosen).await,
        None => ask_platform(turn, target, chosen).await,
    };
    Ok(done.unwrap_or_else(|refusal| refusal.tool_result()))
}

/// The reason why there is no answer.
struct Refusal {
    code: &'static str,
    message: String,
    advice: Option<String>,
}

async fn ask_api(
    turn: &Turn,
    target: &DeclaredTarget,
    api: &DeclaredApi,
    chosen: &ChosenAction<'_>,
) -> Result<Raw, Refusal> {
    let declaration = target.tool.file.api.as_ref();
    let name = declaration.and_then(|api| api.credential.as_ref());
    let credentials = &turn.gateway.services.credentials;
    let credential = credentials.of(&turn.caller().tenant, name).await;
    let credential = credential.map_err(|error| Refusal::of_store(&error))?;
    let request = chosen.action.request.as_ref();
    let request = request.expect("every action of a tool with an API is a request");
    let answer = api.call(request, &chosen.arguments, &credential, &credentials.tokens);
    let answer = answer.await.map_err(|error| Refusal::of_action(&error))?;
    Ok(answer.tool_result())
}

async fn ask_platform(
    turn: &Turn,
    target: &DeclaredTarget,
    chosen: ChosenAction<'_>,
) -> Result<Raw, Refusal> {
    let caller = PlatformCaller {
        tenant: turn.caller().tenant.clone(),
        key: turn.caller().key.clone(),
        client: turn.client.name.clone(),
    };
    let ChosenAction { action, arguments } = chosen;
    let (platform, id) = (&turn.gateway.platform, &target.tool.file.id);
    let answer = platform
        .carry_out(id, &action.name, arguments, &caller)
        .await;
    answer
        .map(own_answer)
        .map_err(|error| Refusal::of_platform(&error))
}

impl Refusal {
    fn of_action(error: &ActionError) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            advice: error.remedy(),
        }
    }

    fn of_platform(error: &PlatformError) -> Self {
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

    fn tool_result(&self) -> Raw {
        let mut words = format!("{}: {}", self.code, self.message);
        if let Some(advice) = &self.advice {
            words.push_str(&format!("\n{advice}"));
        }
        raw(&json!({ "content": [text(&words)], "isError": true }))
    }
}

fn own_answer(answer: PlatformAnswer) -> Raw {
    let content = match answer {
        PlatformAnswer::Json(value) => vec![text(&value.to_string())],
        PlatformAnswer::Text(words) => vec![text(&words)],
        PlatformAnswer::Image {
            bytes,
            media_type,
            about,
        } => {
            let data = STANDARD.encode(bytes);
            let image = json!({ "type": "image", "data": data, "mimeType": media_type });
            vec![image, text(&about.to_string())]
        }
    };
    raw(&json!({ "content": content, "isError": false }))
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": visible(words) })
}
