//! Turns successful programs into templates, and demotes templates that fail.

use kitbag_domain::ServerName;
use kitbag_intents::{IntentTemplate, LearnedTemplate, LearnedUse, ProgramRun, StateChange};
use kitbag_sandbox::{ProgramShape, ToolPath};
use kitbag_telemetry::operations::OperationEvent;
use serde_json::{Map, Value};

use crate::catalog::CatalogEntry;
use crate::learning::learned_templates;
use crate::state::clock::now;
use crate::surface::code::{self, ProgramResult};
use crate::turn::Turn;

/// Returns the learned templates of the caller's tenant that may answer requests. A template whose
/// tool has changed since it was learned is excluded.
pub(super) async fn active_templates(turn: &Turn) -> Vec<LearnedTemplate> {
    let services = &turn.gateway.services;
    let tenant = &turn.caller().tenant;
    let learned = services
        .intents
        .learned_templates(&services.store, tenant)
        .await;
    let mut active = Vec::new();
    for template in learned.iter().filter(|it| it.is_active()) {
        match find_changed_use(turn, template) {
            None => active.push(template.clone()),
            Some(used) => demote_template(turn, template, &used).await,
        }
    }
    active
}

/// Returns a tool of the template that has changed since the template was learned.
fn find_changed_use(turn: &Turn, template: &LearnedTemplate) -> Option<LearnedUse> {
    let mut uses = template.uses().iter();
    uses.find_map(|used| {
        let entry = find_tool(turn, &used.server, &used.tool)?;
        let known = used.definition.as_ref()?;
        let current = to_learned_use(entry);
        (current.definition.as_ref() != Some(known)).then_some(current)
    })
}

async fn demote_template(turn: &Turn, template: &LearnedTemplate, used: &LearnedUse) {
    change_template(turn, template.id(), |known| {
        known.map(|known| known.after_change(used))
    })
    .await;
}

/// Learns from a program of the model.
pub(in crate::surface) async fn learn_from_program(turn: &Turn, ran: &ProgramResult) {
    let Some(shape) = &ran.shape else { return };
    let used = shape
        .tools
        .iter()
        .filter_map(|path| code::find_entry(turn, path));
    let used: Vec<&str> = used.map(|entry| entry.exposed.as_str()).collect();
    let intents = &turn.gateway.services.intents;
    let purpose = intents.intent_behind(&turn.client.id, &used);
    let purpose = purpose.or_else(|| shape.purpose.clone());
    let literals = shape
        .literals
        .iter()
        .map(|it| (it.name.clone(), it.value.clone()));
    let literals: Vec<(String, Value)> = literals.collect();
    let uses = find_uses(turn, shape);
    if uses.is_empty() {
        return;
    }
    let run = ProgramRun {
        words: purpose.as_deref(),
        code: &shape.code,
        literals: &literals,
        uses: &uses,
        read_only: ran.run.calls().iter().all(|call| !call.writes),
        succeeded: !ran.has_failed(),
        at: now(),
    };
    record_run(turn, &run).await;
}

/// Learns from a tool that answered a request, as from the equivalent program.
pub(super) async fn learn_from_call(
    turn: &Turn,
    entry: &CatalogEntry,
    intent: &str,
    arguments: &Map<String, Value>,
) {
    if !turn.gateway.code.route.enable_template_learning {
        return;
    }
    let capability = &entry.capability;
    let call = kitbag_schema::member_call(capability.server.as_str(), &capability.name);
    let literals: Vec<(String, Value)> = arguments.clone().into_iter().collect();
    let run = ProgramRun {
        words: Some(intent),
        code: &format!("return await {call}(params);"),
        literals: &literals,
        uses: &[to_learned_use(entry)],
        read_only: turn.gateway.write_class(entry) == kitbag_domain::WriteClass::Read,
        succeeded: true,
        at: now(),
    };
    record_run(turn, &run).await;
}

/// Records the run of a learned template.
pub(super) async fn record_template_run(
    turn: &Turn,
    template: &IntentTemplate,
    learned: &[LearnedTemplate],
    params: &Map<String, Value>,
    ran: &ProgramResult,
) {
    let mut learned = learned.iter();
    let Some(known) = learned.find(|it| it.template().name() == template.name()) else {
        return;
    };
    let literals: Vec<(String, Value)> = params.clone().into_iter().collect();
    let run = ProgramRun {
        words: None,
        code: template.code(),
        literals: &literals,
        uses: known.uses(),
        read_only: template.read_only(),
        succeeded: !ran.has_failed(),
        at: now(),
    };
    change_template(turn, known.id(), |known| {
        known.map(|known| known.after_run(&run, true))
    })
    .await;
}

async fn record_run(turn: &Turn, run: &ProgramRun<'_>) {
    let id = LearnedTemplate::id_for_code(run.code);
    change_template(turn, &id, |known| match known {
        Some(known) => Some(known.after_run(run, true)),
        None => LearnedTemplate::from_first_run(run).map(|template| (template, None)),
    })
    .await;
}

type ChangedTemplate = Option<(LearnedTemplate, Option<StateChange>)>;

/// Changes one learned template in the store, and counts the change.
async fn change_template(
    turn: &Turn,
    id: &str,
    change: impl Fn(Option<LearnedTemplate>) -> ChangedTemplate,
) {
    let services = &turn.gateway.services;
    let tenant = &turn.caller().tenant;
    let mut changed = None;
    let stored = learned_templates::change_template(&services.store, tenant, id, now(), |known| {
        let is_new = known.is_none();
        let (template, state) = change(known)?;
        changed = Some((is_new, state));
        Some(template)
    });
    match stored.await {
        Ok(None) => return,
        Ok(Some(_)) => services.intents.forget_learned(tenant),
        Err(error) => {
            tracing::warn!(%error, "failed to store a learned template");
            return;
        }
    }
    if let Some(event) = changed.and_then(|(is_new, state)| change_event(is_new, state)) {
        tracing::info!(template = id, event = event.as_str(), "learned");
        services.meter.record_event(&turn.client, event);
    }
}

fn change_event(is_new: bool, state: Option<StateChange>) -> Option<OperationEvent> {
    match state {
        Some(StateChange::Promoted) => Some(OperationEvent::TemplatePromoted),
        Some(StateChange::DemotedByFailures | StateChange::DemotedByChangedTool) => {
            Some(OperationEvent::TemplateDemoted)
        }
        Some(StateChange::Approved | StateChange::Rejected) => None,
        None => is_new.then_some(OperationEvent::TemplateCandidate),
    }
}

/// Returns the current tools that a program names. A program with a missing tool cannot be a
/// template.
fn find_uses(turn: &Turn, shape: &ProgramShape) -> Vec<LearnedUse> {
    let entries: Option<Vec<&CatalogEntry>> = shape
        .tools
        .iter()
        .map(|path| code::find_entry(turn, path))
        .collect();
    entries
        .unwrap_or_default()
        .into_iter()
        .map(to_learned_use)
        .collect()
}

fn find_tool<'a>(turn: &'a Turn, server: &ServerName, tool: &str) -> Option<&'a CatalogEntry> {
    let path = ToolPath::Member {
        server: server.to_string(),
        tool: tool.to_owned(),
    };
    code::find_entry(turn, &path)
}

fn to_learned_use(entry: &CatalogEntry) -> LearnedUse {
    LearnedUse {
        server: entry.capability.server.clone(),
        tool: entry.capability.name.clone(),
        definition: Some(
            blake3::hash(entry.definition.get().as_bytes())
                .to_hex()
                .to_string(),
        ),
    }
}
