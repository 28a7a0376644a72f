//! `context-explain`: where a claim comes from, and what speaks against it.

use kitbag_store::{FactFilter, FactHolders, NewFact};
use serde::Deserialize;
use serde_json::{Value, json};

use super::claim::WeighedClaim;
use super::question::asked_name;
use super::switched_on;
use crate::{PlatformCaller, PlatformError, PlatformServices};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainArguments {
    subject: String,
    predicate: String,
}

pub(crate) async fn explain(
    services: &PlatformServices,
    arguments: ExplainArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    switched_on(services)?;
    let filter = FactFilter {
        holders: FactHolders::ReadBy(caller.tenant.clone()),
        subject_key: Some(asked_name(&arguments.subject)),
        predicate_key: Some(asked_name(&arguments.predicate)),
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
    let weighed = WeighedClaim::weigh(&facts, (services.now)()).answer();
    if let (Value::Object(answer), Value::Object(weighed)) = (&mut answer, weighed) {
        answer.extend(weighed);
    }
    Ok(answer)
}
