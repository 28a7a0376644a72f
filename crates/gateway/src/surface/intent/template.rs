//! Answers a request with a template: a built-in, operator's or learned one, or a simple tool that
//! needs no program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::sync::lock;
use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{ExposedName, ServerName};
use kitbag_intents::arguments::zones;
use kitbag_intents::set::SimilarityBar;
use kitbag_intents::{
    DirectCall, IntentTemplate, LearnedTemplate, MissingParameter, ServerOffer, TemplateMatch,
    TemplateSet, bind,
};
use kitbag_relevance::dense::similarity;
use kitbag_sandbox::Program;
use kitbag_telemetry::operations::{CompletedOperation, OperationPath};
use kitbag_wire::raw;
use serde_json::{Map, Value, json};

use super::{Attempt, IntentRequest, direct, learn};
use crate::call::failure::Failure;
use crate::surface::code;
use crate::surface::groups;
use crate::turn::Turn;

pub(super) async fn try_template(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let learned = learn::active_templates(turn).await;
    let templates = learned.iter().map(|it| it.template().clone());
    let set = turn.gateway.templates.with_learned(templates);
    let offers = ServerOffers::new(turn);
    match find_template(request, &set, &offers).await {
        Some(TemplateMatch::Ready {
            template,
            mut params,
        }) => match resolve_param_zones(&template, &mut params) {
            Ok(()) => run_template(request, &offers, &template, params, &learned).await,
            Err(note) => Attempt::Incomplete { note },
        },
        Some(TemplateMatch::Incomplete { template, missing }) => Attempt::from_text(&format!(
            "Nothing was run. {}",
            missing_params_note(&template, &missing)
        )),
        None => direct::try_automatic_intent(request).await,
    }
}

async fn find_template(
    request: &IntentRequest,
    set: &TemplateSet,
    offers: &ServerOffers<'_>,
) -> Option<TemplateMatch> {
    let broken = lock(&request.turn.gateway.broken_templates).clone();
    let usable = |template: &IntentTemplate| {
        !broken.contains(template.name()) && offers.bind_servers(template).is_some()
    };
    let (intent, params) = (&request.intent, &request.params);
    if let Some(found) = set.find(intent, params, usable) {
        return Some(found);
    }
    let scores = score_templates(&request.turn, set, intent).await?;
    set.best(&scores, SimilarityBar::default(), intent, params, usable)
}

/// Returns the similarity of the request to each intent of the set, if there are vectors.
async fn score_templates(turn: &Turn, set: &TemplateSet, intent: &str) -> Option<Vec<f32>> {
    let index = &turn.gateway.services.index;
    let query_vector = index.embed_query(intent).await.vector()?;
    let mut scores = Vec::with_capacity(set.intents().len());
    for (_, sentence) in set.intents() {
        let known = index.embed_query(&sentence).await.vector()?;
        scores.push(similarity(&query_vector, &known));
    }
    Some(scores)
}

async fn run_template(
    request: &IntentRequest,
    offers: &ServerOffers<'_>,
    template: &Arc<IntentTemplate>,
    params: Map<String, Value>,
    learned: &[LearnedTemplate],
) -> Attempt {
    let turn = &request.turn;
    if let Some(misfit) = check_params(turn, template, &params) {
        return Attempt::from_text(&format!("Nothing was run. {misfit}"));
    }
    let program = Program {
        source: template.code().to_owned(),
        params: Some(raw(&params)),
        wants_shape: false,
    };
    let aliases = offers.bind_servers(template).unwrap_or_default();
    let started = Instant::now();
    let ran = code::run_program(turn.clone(), program, aliases, Some(&request.intent)).await;
    let ended = CompletedOperation {
        path: OperationPath::Template,
        outcome: ran.outcome(),
        latency: started.elapsed(),
        request_tokens: 0,
        answer_tokens: kitbag_budget::estimate_result_tokens(ran.answer.get()),
    };
    let meter = &turn.gateway.services.meter;
    meter.record_template_run(&turn.client, template.name().as_str(), &ended);
    learn::record_template_run(turn, template, learned, &params, &ran).await;
    let ttl = template.cache_for().unwrap_or(turn.gateway.code.cache);
    let ttl = template.read_only().then_some(ttl);
    let ended = Attempt::from_program(ran, ttl, offers.only_call(template, params));
    if let Attempt::Failed { answer, .. } = &ended {
        request.log_template_failure(template.name(), answer);
    }
    ended
}

/// Replaces locations by their time zones, or returns an error for unknown ones.
pub(super) fn resolve_param_zones(
    template: &IntentTemplate,
    params: &mut Map<String, Value>,
) -> Result<(), String> {
    let zones = direct::zone_names();
    if zones.is_empty() {
        return Ok(());
    }
    let resolved = zones::resolve_zones(&template.parameters().schema(), params, zones);
    resolved.map_err(|(name, text)| {
        format!(
            "`{}` does this, but `{}` is not a time zone for {name}; name one, such as Europe/Berlin.",
            template.name(),
            strip_to_one_line(&text)
        )
    })
}

/// Validates the parameters.
pub(super) fn check_params(
    turn: &Turn,
    template: &IntentTemplate,
    params: &Map<String, Value>,
) -> Option<String> {
    let schema = template.parameters().schema();
    let definition = raw(&json!({ "name": template.name().as_str(), "inputSchema": schema }));
    let checker = &turn.gateway.services.checker;
    let misfit = checker.check_arguments(&definition, &raw(params)).err()?;
    let failure = Failure::Arguments {
        tool: template.name().to_string(),
        misfit,
    };
    Some(failure.to_string())
}

/// Returns the answer to a request that lacks parameters: their names and schemas.
fn missing_params_note(template: &IntentTemplate, missing: &[MissingParameter]) -> String {
    let missing: Vec<String> = missing
        .iter()
        .map(|it| format!("{}: {}", it.name, it.schema))
        .collect();
    format!(
        "`{}` does this and needs params: {{ {} }}",
        template.name(),
        missing.join(", ")
    )
}

/// The servers that the caller may use, with the tools that it may use.
pub(super) struct ServerOffers<'a>(Vec<ServerOffer<'a>>);

impl<'a> ServerOffers<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        let mut offers: BTreeMap<&ServerName, BTreeSet<&str>> = BTreeMap::new();
        for entry in groups::visible_tools(turn) {
            let tools = offers.entry(&entry.capability.server).or_default();
            tools.insert(&entry.capability.name);
        }
        let offers = offers.into_iter();
        Self(
            offers
                .map(|(server, tools)| ServerOffer { server, tools })
                .collect(),
        )
    }

    /// Returns the only call of a template that uses one tool, with the template's parameters.
    fn only_call(
        &self,
        template: &IntentTemplate,
        params: Map<String, Value>,
    ) -> Option<DirectCall> {
        let [used] = template.uses() else { return None };
        let server = self.bind_servers(template)?.remove(&used.alias)?;
        Some(DirectCall {
            tool: ExposedName::new(&server, &used.tool),
            arguments: params,
        })
    }

    /// Returns the servers for the names in a template, if each name matches one.
    pub(super) fn bind_servers(
        &self,
        template: &IntentTemplate,
    ) -> Option<BTreeMap<ServerName, ServerName>> {
        bind(template.uses(), &self.0).ok()
    }
}
