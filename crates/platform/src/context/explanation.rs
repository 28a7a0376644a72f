//! `context-explain`: the sources of a claim and its contradictions.

use kitbag_store::{FactFilter, FactHolders, NewFact};
use serde::Deserialize;
use serde_json::{Value, json};

use super::check_enabled;
use super::claim::WeighedClaim;
use super::question::query_key;
use crate::{PlatformCaller, PlatformError, PlatformServices};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainArguments {
    subject: String,
    predicate: String,
}

pub(crate) async fn explain_claim(
    services: &PlatformServices,
    arguments: ExplainArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    check_enabled(services)?;
    let filter = FactFilter {
        holders: FactHolders::ReadBy(caller.tenant.clone()),
        subject_key: Some(query_key(&arguments.subject)),
        predicate_key: Some(query_key(&arguments.predicate)),
        ..FactFilter::default()
    };
    let facts = services.store.facts(&filter).await?;
    let facts: Vec<NewFact> = facts.into_iter().map(|stored| stored.fact).collect();
    let Some(first) = facts.first() else {
        return Err(PlatformError::NoFact {
            subject: arguments.subject,
            predicate: arguments.predicate,
        });
    };
    let mut answer = json!({ "subject": first.subject, "predicate": first.predicate });
    let weighed = WeighedClaim::weigh(&facts, (services.now)()).to_json();
    if let (Value::Object(answer), Value::Object(weighed)) = (&mut answer, weighed) {
        answer.extend(weighed);
    }
    Ok(answer)
}
