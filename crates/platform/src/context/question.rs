//! `context-query`: the facts that answer a question, with their sources.

use std::collections::{HashMap, HashSet};

use kitbag_store::{ContextVector, FactFilter, FactHolders, NewFact, StoredFact};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fact::shown;
use super::ranking::{AskedQuestion, RankedFact, by_authority, by_relevance};
use super::{compared, has_ended, switched_on};
use crate::embedding::{EmbeddedTexts, TextsToEmbed};
use crate::{PlatformCaller, PlatformError, PlatformServices};

/// The facts of an answer unless the caller says otherwise: a model reads ten with ease.
const USUAL: usize = 10;
const MOST: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    question: Option<String>,
    subject: Option<String>,
    predicate: Option<String>,
    lowest_tier: Option<i64>,
    limit: Option<usize>,
}

pub(crate) async fn query(
    services: &PlatformServices,
    arguments: QueryArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    switched_on(services)?;
    let facts = services.store.facts(&arguments.filter(caller)?).await?;
    let known = facts.len();
    let valid = in_force(services, &arguments, facts);
    let (ranked, note) = match &arguments.question {
        Some(question) => by_question(services, question, &valid).await,
        None => (by_authority(&valid), None),
    };
    let limit = arguments.limit.unwrap_or(USUAL).clamp(1, MOST);
    let objects = objects(&valid);
    let answered: Vec<Value> = ranked
        .iter()
        .take(limit)
        .map(|ranked| answered(ranked, &objects))
        .collect();
    let note = note.or_else(|| nothing_found(&arguments, known, ranked.len()));
    let mut answer = json!({ "facts": answered, "more": ranked.len().saturating_sub(limit) });
    if let Some(note) = note {
        answer["note"] = json!(note);
    }
    Ok(answer)
}

impl QueryArguments {
    fn filter(&self, caller: &PlatformCaller) -> Result<FactFilter, PlatformError> {
        if self.question.is_none() && self.subject.is_none() && self.predicate.is_none() {
            let reason = "give a `question`, a `subject` or a `predicate`".to_owned();
            return Err(PlatformError::Arguments { reason });
        }
        Ok(FactFilter {
            holders: FactHolders::ReadBy(caller.tenant.clone()),
            subject_key: self.subject.as_deref().map(asked_name),
            predicate_key: self.predicate.as_deref().map(asked_name),
            ..FactFilter::default()
        })
    }
}

/// Returns the name as it is compared. No name has a zero byte, and one of the engines takes none.
pub(super) fn asked_name(text: &str) -> String {
    compared(&text.replace('\0', " "))
}

fn in_force(
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

/// Returns the best first, and a note if they could be compared by words alone.
async fn by_question<'a>(
    services: &PlatformServices,
    question: &str,
    facts: &'a [NewFact],
) -> (Vec<RankedFact<'a>>, Option<String>) {
    let texts = TextsToEmbed::Questions(vec![question.to_owned()]);
    let (meaning, note) = match (services.embed)(texts).await {
        Ok(embedded) => (first(embedded), None),
        Err(failed) => (
            None,
            Some(format!("{failed}; facts were compared by words alone")),
        ),
    };
    let asked = AskedQuestion {
        words: question,
        meaning,
    };
    (by_relevance(&asked, facts), note)
}

fn first(embedded: EmbeddedTexts) -> Option<ContextVector> {
    let model = embedded.model;
    let vector = embedded.vectors.into_iter().next()?;
    Some(ContextVector { model, vector })
}

/// The objects that are said of a subject and a predicate, as they are compared.
type ClaimObjects<'a> = HashMap<(&'a str, &'a str), HashSet<String>>;

fn objects(facts: &[NewFact]) -> ClaimObjects<'_> {
    let mut objects = ClaimObjects::new();
    for fact in facts {
        let claim = (fact.subject_key.as_str(), fact.predicate_key.as_str());
        objects
            .entry(claim)
            .or_default()
            .insert(compared(&fact.object));
    }
    objects
}

fn answered(ranked: &RankedFact<'_>, objects: &ClaimObjects<'_>) -> Value {
    let fact = ranked.fact;
    let mut answer = shown(fact);
    let claim = (fact.subject_key.as_str(), fact.predicate_key.as_str());
    if objects.get(&claim).is_some_and(|said| said.len() > 1) {
        answer["contradicted"] = json!("other sources say otherwise: see context_explain");
    }
    if let Some(relevance) = ranked.relevance {
        answer["relevance"] = json!((f64::from(relevance) * 100.0).round() / 100.0);
    }
    answer
}

fn nothing_found(arguments: &QueryArguments, known: usize, found: usize) -> Option<String> {
    let note = match (known, found) {
        (_, 1..) => return None,
        (0, _) if arguments.subject.is_some() || arguments.predicate.is_some() => {
            "no fact has this subject or predicate; ask a question without them to see how they are called"
        }
        (0, _) => {
            "there are no facts yet; the operator imports them with `kitbag context import FILE`"
        }
        _ => "no fact that is in force has to do with this",
    };
    Some(note.to_owned())
}
