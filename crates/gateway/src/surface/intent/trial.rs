//! Tries a template that nobody has approved yet: checks its program, and runs it once against the
//! real server if it only reads.

use std::collections::BTreeMap;

use kitbag_domain::ServerName;
use kitbag_intents::IntentTemplate;
use kitbag_sandbox::{Program, ToolPath};
use kitbag_wire::raw;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer_text;
use super::template::{ServerOffers, check_params, resolve_param_zones};
use crate::surface::code;
use crate::turn::Turn;

/// The outcome of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateTrial {
    /// The program ran; this is the text of its answer.
    Ran { answer: String },
    /// The program may write, so it was only checked.
    OnlyChecked,
    /// The template does not work.
    Failed { reason: String },
}

/// Tries a template with these parameters. The program may call only the tools that the template
/// declares, and may not change anything, whatever the rules permit.
pub(crate) async fn try_template(
    turn: &Turn,
    template: &IntentTemplate,
    mut params: Map<String, Value>,
) -> TemplateTrial {
    match check_template(turn, template, &mut params).await {
        Err(reason) => TemplateTrial::Failed { reason },
        Ok(_) if !template.read_only() => TemplateTrial::OnlyChecked,
        Ok(aliases) => run_template(turn, template, &params, aliases).await,
    }
}

/// Returns the servers of the template, or the reason why it cannot run.
async fn check_template(
    turn: &Turn,
    template: &IntentTemplate,
    params: &mut Map<String, Value>,
) -> Result<BTreeMap<ServerName, ServerName>, String> {
    let offers = ServerOffers::new(turn);
    let aliases = offers.bind_servers(template);
    let aliases = aliases.ok_or("no server offers all tools that the template uses")?;
    let shape = turn.gateway.sandbox.check(template.code()).await;
    let shape = shape.map_err(|failure| format!("the program: {failure}"))?;
    let is_declared = |path: &ToolPath| {
        let entry = code::find_entry(turn, path);
        entry.is_some_and(|entry| {
            let capability = &entry.capability;
            let mut uses = template.uses().iter();
            uses.any(|it| {
                aliases.get(&it.alias) == Some(&capability.server) && it.tool == capability.name
            })
        })
    };
    if let Some(other) = shape.tools.iter().find(|path| !is_declared(path)) {
        let name = path_text(other);
        return Err(format!("the program calls `{name}`, which is not its tool"));
    }
    if shape.tools.is_empty() {
        return Err("the program never calls its tool by name".to_owned());
    }
    resolve_param_zones(template, params)?;
    match check_params(turn, template, params) {
        Some(misfit) => Err(misfit),
        None => Ok(aliases),
    }
}

async fn run_template(
    turn: &Turn,
    template: &IntentTemplate,
    params: &Map<String, Value>,
    aliases: BTreeMap<ServerName, ServerName>,
) -> TemplateTrial {
    let program = Program {
        source: template.code().to_owned(),
        params: Some(raw(params)),
        wants_shape: false,
    };
    let ran = code::run_trial(turn.clone(), program, aliases).await;
    let (text, calls) = (answer_text(&ran.answer), ran.run.calls().len());
    match () {
        () if ran.has_failed() => TemplateTrial::Failed { reason: text },
        () if calls == 0 => TemplateTrial::Failed {
            reason: "the program made no call".to_owned(),
        },
        () if text.starts_with("null\n") || text.starts_with("undefined\n") => {
            TemplateTrial::Failed {
                reason: "the program returned nothing".to_owned(),
            }
        }
        () => TemplateTrial::Ran { answer: text },
    }
}

fn path_text(path: &ToolPath) -> String {
    match path {
        ToolPath::Exposed(name) => name.clone(),
        ToolPath::Member { server, tool } => format!("{server}.{tool}"),
    }
}
