//! The order in which the models of a route are asked.
//!
//! The table's first choice is asked first as long as most of its calls succeed. The others follow
//! by the expected cost of an answer: the price of the prompt and of an average answer, divided by
//! the success rate, because a failed call is often charged as well.

use kitbag_domain::NanoUsd;

use crate::route::{ModelCandidate, ModelKnowledge, ModelPrompt, TokenUsage};

/// The recent record of a model, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ModelRecord {
    pub success_rate: Option<f64>,
    /// The average tokens of an answer.
    pub tokens_per_answer: Option<f64>,
}

/// The assumed rate of a model without a record; the same as for tools.
const USUAL_RATE: f64 = 0.9;
/// A model that fails more often than it succeeds is asked last.
const HEALTHY_RATE: f64 = 0.5;
/// A page of text, for a model whose answers were never counted.
const USUAL_ANSWER_TOKENS: f64 = 500.0;
/// A rate of zero would make a price infinite.
const LEAST_RATE: f64 = 0.01;

/// A model of a route to be ranked.
pub(crate) struct RouteCandidate {
    pub(crate) candidate: ModelCandidate,
    pub(crate) is_stand_in: bool,
}

/// The rank of a model: by class, and within a class by price.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ModelRank {
    class: RankClass,
    usd_per_answer: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RankClass {
    FirstChoice,
    StandIn,
    Failing,
}

/// Returns the models in the order to ask them, one per provider: a prompt is never sent to the
/// same provider twice.
pub(crate) fn rank_routes(
    routes: Vec<RouteCandidate>,
    prompt: &ModelPrompt,
    known: &ModelKnowledge<'_>,
) -> Vec<ModelCandidate> {
    let mut placed: Vec<(ModelRank, ModelCandidate)> = routes
        .into_iter()
        .map(|route| (rank_route(&route, prompt, known), route.candidate))
        .collect();
    placed.sort_by(|(a, _), (b, _)| {
        let by_class = a.class.cmp(&b.class);
        by_class.then(a.usd_per_answer.total_cmp(&b.usd_per_answer))
    });
    if let Some((place, first)) = placed.first_mut()
        && place.class == RankClass::StandIn
    {
        first
            .why
            .push_str("; the first choice fails more often than it succeeds");
    }
    let mut ranked: Vec<ModelCandidate> = Vec::new();
    for (_, candidate) in placed {
        if ranked.iter().all(|it| it.provider != candidate.provider) {
            ranked.push(candidate);
        }
    }
    ranked
}

fn rank_route(
    route: &RouteCandidate,
    prompt: &ModelPrompt,
    known: &ModelKnowledge<'_>,
) -> ModelRank {
    let candidate = &route.candidate;
    let record = (known.record)(&candidate.provider, &candidate.model);
    let rate = record.success_rate.unwrap_or(USUAL_RATE);
    let answer = record.tokens_per_answer.unwrap_or(USUAL_ANSWER_TOKENS) as u64;
    let usage = TokenUsage {
        input: known.prompt_tokens,
        output: prompt.max_tokens.map_or(answer, |most| answer.min(most)),
        estimated: true,
    };
    // A model without a price comes after the priced ones.
    let cost = candidate
        .answer_cost(usage)
        .map_or(f64::INFINITY, NanoUsd::to_usd);
    ModelRank {
        class: match route.is_stand_in {
            _ if rate < HEALTHY_RATE => RankClass::Failing,
            true => RankClass::StandIn,
            false => RankClass::FirstChoice,
        },
        usd_per_answer: cost / rate.max(LEAST_RATE),
    }
}
