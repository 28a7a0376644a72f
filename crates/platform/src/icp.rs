//! `icp-scorer`: scores companies by the operator's ideal customer profile.

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

/// The known facts about a company.
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

pub(crate) async fn score_companies(
    services: &PlatformServices,
    arguments: ScoreArguments,
) -> Result<Value, PlatformError> {
    let data = data_files::read_dated_data(services).await?;
    let today = moment::utc_day((services.now)());
    let profile = choose_profile(&data.at(today).profiles(), arguments.profile)?;
    let companies: Vec<Value> = arguments.companies.iter().map(|it| json!(it)).collect();
    let scores: Vec<Value> = profile.rank(&companies).iter().map(score_to_json).collect();
    Ok(json!({ "profile": profile.name, "companies": scores }))
}

/// Returns the profile with that name, or the only valid one.
fn choose_profile<'a>(
    profiles: &[&'a IcpProfile],
    name: Option<String>,
) -> Result<&'a IcpProfile, PlatformError> {
    match (name, profiles) {
        (_, []) => Err(PlatformError::NoIcpProfile),
        (None, [only]) => Ok(only),
        (None, several) => Err(PlatformError::WhichIcpProfile {
            known: profile_names(several),
        }),
        (Some(wanted), some) => {
            let found = some.iter().find(|profile| profile.name == wanted);
            found.copied().ok_or(PlatformError::UnknownIcpProfile {
                wanted,
                known: profile_names(some),
            })
        }
    }
}

fn profile_names(profiles: &[&IcpProfile]) -> Vec<String> {
    profiles.iter().map(|it| it.name.clone()).collect()
}

fn score_to_json(score: &IcpScore) -> Value {
    json!({
        "name": score.company,
        "score": score.score,
        "known_percent": score.known,
        "reasons": score.reasons,
    })
}
