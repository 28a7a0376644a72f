//! `kitbag secret test`: makes a harmless call with a credential.

use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use kitbag_apis::{ActionAnswer, ActionError, AnswerPart};
use kitbag_config::Config;
use kitbag_domain::{Remedy as _, Tenant};
use kitbag_gateway::secrets::credential_trial::{CredentialTrial, try_credential};
use kitbag_store::Vault;
use kitbag_tool_files::ToolFile;
use kitbag_tool_spec::CredentialName;
use serde_json::json;

use super::needed_fields::KnownTools;
use crate::cli::Invocation;
use crate::cli::failure::Advise as _;
use crate::cli::output::{format_duration, strip_controls, to_one_line};

/// Tests the credential, and returns true if the API accepted it.
pub(super) async fn test_credential(
    name: &CredentialName,
    tenant: &Tenant,
    vault: Vault,
    config: &Config,
    invocation: &Invocation,
) -> anyhow::Result<bool> {
    let tools = KnownTools::load(config);
    let tool = choose_tool(&tools, name)?;
    let began = Instant::now();
    let trial = try_credential(tool, &config.catalog, vault, tenant);
    let trial = invocation
        .output
        .with_progress("Testing the credential", trial)
        .await?;
    let (works, outcome) = describe_trial(&trial, tool, name)?;
    let row = json!({
        "name": name.as_str(),
        "tenant": tenant.as_str(),
        "tool": tool.name.as_str(),
        "works": works,
        "outcome": outcome,
        "took_ms": began.elapsed().as_millis(),
    });
    invocation.show(&row, |_| {
        let took = format_duration(began.elapsed());
        let text = format!("{name} of {tenant}: {} {outcome} ({took})", tool.name);
        to_one_line(&strip_controls(&text))
    })?;
    Ok(works)
}

/// Returns the first tool with a harmless call, or else the first.
fn choose_tool<'t>(
    tools: &'t KnownTools,
    name: &CredentialName,
) -> anyhow::Result<&'t Arc<ToolFile>> {
    let using = tools.tools_using(name);
    let harmless = using.iter().find(|tool| tool.test_call().is_some());
    let Some(tool) = harmless.or(using.first()) else {
        return Err(anyhow!("no tool uses the credential `{name}`"))
            .advise(|| suggest_credential(name.as_str(), tools));
    };
    Ok(tool)
}

/// Returns advice that names the credential with the most similar name.
pub(super) fn suggest_credential(name: &str, tools: &KnownTools) -> String {
    let known = tools.credential_names();
    match kitbag_domain::near_names(name, known.iter().copied()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => "a tool file names its credential under [api]".to_owned(),
    }
}

/// Returns true if the credential works, and a description of the outcome without any of its values.
fn describe_trial(
    trial: &CredentialTrial,
    tool: &ToolFile,
    name: &CredentialName,
) -> anyhow::Result<(bool, String)> {
    Ok(match trial {
        CredentialTrial::Called { action, outcome } => match outcome {
            Ok(answer) => (!answer.is_error, describe_answer(action, answer)),
            Err(error) => (false, describe_error(error)),
        },
        CredentialTrial::TokenFetched(Ok(())) => {
            (true, "got a token; no API call was made".to_owned())
        }
        CredentialTrial::TokenFetched(Err(error)) => (false, describe_error(error)),
        CredentialTrial::NothingHarmless => {
            return Err(anyhow!(
                "no tool that uses `{name}` has an action that is safe and free to call"
            ))
            .advise(|| {
                format!(
                    "call one yourself: kitbag call {}; or write test = \"ACTION\" under [api] in your own tool file",
                    tool.name
                )
            });
        }
    })
}

fn describe_answer(action: &str, answer: &ActionAnswer) -> String {
    let status = answer.status;
    if !answer.is_error {
        return format!("answered `{action}` with HTTP {status}");
    }
    let words = answer.content.iter().find_map(|part| match part {
        AnswerPart::Text(text) => Some(text.as_str()),
        AnswerPart::Json(json) => Some(json.get()),
        AnswerPart::Image { .. } => None,
    });
    let words: String = words.unwrap_or_default().chars().take(200).collect();
    format!("rejected `{action}` with HTTP {status}: {words}")
}

fn describe_error(error: &ActionError) -> String {
    match error.remedy() {
        Some(remedy) => format!("{}: {error}; {remedy}", error.code()),
        None => format!("{}: {error}", error.code()),
    }
}
