//! `icp-scorer`: scores companies against the ideal customer profile of the operator.
//!
//! - [`profile`]: the operator's file of profiles
//! - [`scoring`]: a company against a profile

pub mod profile;
pub mod scoring;

use serde::Deserialize;
use serde_json::{Value, json};

use self::profile::IcpProfiles;
use self::scoring::{ScoredCompany, ScoringCompany};
use crate::{PlatformError, PlatformServices, moment};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScoreArguments {
    companies: Vec<ScoringCompany>,
    profile: Option<String>,
}

pub(crate) async fn score(
    services: &PlatformServices,
    arguments: ScoreArguments,
) -> Result<Value, PlatformError> {
    let profiles = read(services).await?;
    let today = moment::day((services.now)());
    let (name, profile) = profiles.in_force(arguments.profile.as_deref(), today)?;
    let companies = arguments.companies.iter();
    let mut scored: Vec<ScoredCompany> = companies.map(|it| profile.score(it)).collect();
    scored.sort_by_key(|company| std::cmp::Reverse(company.score));
    Ok(json!({ "profile": name, "companies": scored }))
}

/// The file is read for each call, so that a change holds at once.
async fn read(services: &PlatformServices) -> Result<IcpProfiles, PlatformError> {
    let path = services.icp_profiles.as_ref();
    let path = path.ok_or(PlatformError::NoIcpProfile)?;
    let text = tokio::fs::read_to_string(path).await.map_err(|error| {
        tracing::warn!(path = %path.display(), %error, "the ideal customer profiles cannot be read");
        PlatformError::IcpProfiles {
            reason: "it cannot be read".to_owned(),
        }
    })?;
    IcpProfiles::read(&text).map_err(|reason| {
        tracing::warn!(path = %path.display(), %reason, "the ideal customer profiles have a mistake");
        PlatformError::IcpProfiles { reason }
    })
}
