//! `icp-scorer`: scores companies against the ideal customer profile of the operator.

use kitbag_tool_files::dated::{IcpProfile, IcpScore};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use crate::{PlatformError, PlatformServices, data_files, moment};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoreArguments {
    companies: Vec<ScoredCompany>,
    profile: Option<String>,
}

/// The facts that are known of a company.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct ScoredCompany {
    name: String,
    industry: Option<String>,
    employees: Option<Number>,
    revenue_usd: Option<Number>,
    country: Option<String>,
    technologies: Option<Vec<String>>,
}

pub(crate) async fn score(
    services: &PlatformServices,
    arguments: ScoreArguments,
) -> Result<Value, PlatformError> {
    let data = data_files::read(services).await?;
    let today = moment::day((services.now)());
    let profile = chosen(&data.at(today).profiles(), arguments.profile)?;
    let companies: Vec<Value> = arguments.companies.iter().map(|it| json!(it)).collect();
    let scores: Vec<Value> = profile.rank(&companies).iter().map(told).collect();
    Ok(json!({ "profile": profile.name, "companies": scores }))
}

/// Returns the profile of that name, or the only one that is in force.
fn chosen<'a>(
    profiles: &[&'a IcpProfile],
    name: Option<String>,
) -> Result<&'a IcpProfile, PlatformError> {
    match (name, profiles) {
        (_, []) => Err(PlatformError::NoIcpProfile),
        (None, [only]) => Ok(only),
        (None, several) => Err(PlatformError::WhichIcpProfile {
            known: names(several),
        }),
        (Some(wanted), some) => {
            let found = some.iter().find(|profile| profile.name == wanted);
            found.copied().ok_or(PlatformError::UnknownIcpProfile {
                wanted,
                known: names(some),
            })
        }
    }
}

fn names(profiles: &[&IcpProfile]) -> Vec<String> {
    profiles.iter().map(|it| it.name.clone()).collect()
}

fn told(score: &IcpScore) -> Value {
    json!({
        "name": score.company,
        "score": score.score,
        "known_percent": score.known,
        "reasons": score.reasons,
    })
}
