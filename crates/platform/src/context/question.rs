//! `context-query`: the facts that answer a question, with their sources.

use std::collections::{HashMap, HashSet};

use kitbag_store::{ContextVector, FactFilter, FactHolders, NewFact, StoredFact};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fact::fact_to_json;
use super::ranking::{AskedQuestion, RankedFact, rank_by_authority, rank_by_relevance};
use super::{check_enabled, comparison_key, has_ended};
use crate::embedding::{EmbeddedTexts, TextsToEmbed};
use crate::{PlatformCaller, PlatformError, PlatformServices};

/// A model reads ten facts with ease.
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    question: Option<String>,
    subject: Option<String>,
    predicate: Option<String>,
    lowest_tier: Option<i64>,
    limit: Option<usize>,
}

pub(crate) async fn query_facts(
    services: &PlatformServices,
    arguments: QueryArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    check_enabled(services)?;
    let facts = services.store.facts(&arguments.to_filter(caller)?).await?;
    let known = facts.len();
    let valid = valid_facts(services, &arguments, facts);
    let (ranked, note) = match &arguments.question {
        Some(question) => rank_by_question(services, question, &valid).await,
        None => (rank_by_authority(&valid), None),
    };
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let objects = objects_by_claim(&valid);
    let answered: Vec<Value> = ranked
        .iter()
        .take(limit)
        .map(|ranked| ranked_fact_to_json(ranked, &objects))
        .collect();
    let note = note.or_else(|| explain_no_results(&arguments, known, ranked.len()));
    let mut answer = json!({ "facts": answered, "more": ranked.len().saturating_sub(limit) });
    if let Some(note) = note {
        answer["note"] = json!(note);
    }
    Ok(answer)
}

impl QueryArguments {
    fn to_filter(&self, caller: &PlatformCaller) -> Result<FactFilter, PlatformError> {
        if self.question.is_none() && self.subject.is_none() && self.predicate.is_none() {
            let reason = "give a `question`, a `subject` or a `predicate`".to_owned();
            return Err(PlatformError::Arguments { reason });
        }
        Ok(FactFilter {
            holders: FactHolders::ReadBy(caller.tenant.clone()),
            subject_key: self.subject.as_deref().map(query_key),
            predicate_key: self.predicate.as_deref().map(query_key),
            ..FactFilter::default()
        })
    }
}

/// PostgreSQL takes no zero bytes; no name has one.
pub(super) fn query_key(text: &str) -> String {
    comparison_key(&text.replace('\0', " "))
}

fn valid_facts(
    services: &PlatformServices,
    arguments: &QueryArguments,
    facts: Vec<StoredFact>,
) -> Vec<NewFact> {
    let now = (services.now)();
    let lowest = arguments.lowest_tier.unwrap_or(i64::MAX);
    let facts = facts.into_iter().map(|stored| stored.fact);
    facts
        .filter(|fact| fact.authority <= lowest && !has_ended(fact, now))
        .collect()
}

/// Ranks facts, best first. Returns a note if only words could be compared.
async fn rank_by_question<'a>(
    services: &PlatformServices,
    question: &str,
    facts: &'a [NewFact],
) -> (Vec<RankedFact<'a>>, Option<String>) {
    let texts = TextsToEmbed::Questions(vec![question.to_owned()]);
    let (meaning, note) = match (services.embed)(texts).await {
        Ok(embedded) => (first_vector(embedded), None),
        Err(failed) => (
            None,
            Some(format!("{failed}; facts were compared by words only")),
        ),
    };
    let asked = AskedQuestion {
        words: question,
        meaning,
    };
    (rank_by_relevance(&asked, facts), note)
}

fn first_vector(embedded: EmbeddedTexts) -> Option<ContextVector> {
    let model = embedded.model;
    let vector = embedded.vectors.into_iter().next()?;
    Some(ContextVector { model, vector })
}

/// The normalized objects of each subject and predicate.
type ClaimObjects<'a> = HashMap<(&'a str, &'a str), HashSet<String>>;

fn objects_by_claim(facts: &[NewFact]) -> ClaimObjects<'_> {
    let mut objects = ClaimObjects::new();
    for fact in facts {
        let claim = (fact.subject_key.as_str(), fact.predicate_key.as_str());
        objects
            .entry(claim)
            .or_default()
            .insert(comparison_key(&fact.object));
    }
    objects
}

fn ranked_fact_to_json(ranked: &RankedFact<'_>, objects: &ClaimObjects<'_>) -> Value {
    let fact = ranked.fact;
    let mut answer = fact_to_json(fact);
    let claim = (fact.subject_key.as_str(), fact.predicate_key.as_str());
    if objects.get(&claim).is_some_and(|said| said.len() > 1) {
        answer["contradicted"] = json!("other sources say otherwise: see context_explain");
    }
    if let Some(relevance) = ranked.relevance {
        answer["relevance"] = json!((f64::from(relevance) * 100.0).round() / 100.0);
    }
    answer
}

fn explain_no_results(arguments: &QueryArguments, known: usize, found: usize) -> Option<String> {
    let note = match (known, found) {
        (_, 1..) => return None,
        (0, _) if arguments.subject.is_some() || arguments.predicate.is_some() => {
            "no fact has this subject or predicate; ask a question without them to find the right names"
        }
        (0, _) => {
            "there are no facts yet; the operator imports them with `kitbag context import FILE`"
        }
        _ => "no valid fact is relevant to this",
    };
    Some(note.to_owned())
}
