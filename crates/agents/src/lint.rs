//! The age of the sources: facts about software are soon outdated.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use crate::library::Library;
use crate::record::{AgentCapability, AgentFile, Granularity};

/// The days after which a source should be checked again, and after which it must be.
pub const WARN_AFTER: i32 = 30;
pub const FAIL_AFTER: i32 = 90;

/// The sources of one agent that were checked on the same day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceAge {
    pub agent: String,
    pub verified: Date,
    pub days: i32,
    pub sources: usize,
    pub age: Age,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Age {
    Fresh,
    Old,
    TooOld,
}

/// Returns the ages of the sources of all agents on a day.
pub fn ages(library: &Library, today: Date) -> Vec<SourceAge> {
    let agents = library.agents.iter();
    agents.flat_map(|agent| ages_of(agent, today)).collect()
}

/// Returns for each agent how many capabilities have only general sources.
pub fn vague_capabilities(library: &Library) -> Vec<(&str, usize)> {
    let agents = library.agents.iter();
    let counted = agents.map(|agent| (agent.agent.id.as_str(), count_vague(agent)));
    counted.filter(|(_, count)| *count > 0).collect()
}

fn count_vague(agent: &AgentFile) -> usize {
    let capabilities = agent.capabilities.iter();
    let vague = capabilities.filter(|capability| is_vague(capability));
    vague.count()
}

fn is_vague(capability: &AgentCapability) -> bool {
    let near = [Granularity::Dedicated, Granularity::Section];
    let mut sources = capability.sources.iter();
    !capability.sources.is_empty() && !sources.any(|source| near.contains(&source.granularity))
}

impl Age {
    fn from_days(days: i32) -> Self {
        if days > FAIL_AFTER {
            Self::TooOld
        } else if days > WARN_AFTER {
            Self::Old
        } else {
            Self::Fresh
        }
    }
}

fn ages_of(agent: &AgentFile, today: Date) -> Vec<SourceAge> {
    let by_day = sources_by_day(agent).into_iter();
    let ages = by_day.map(|(verified, sources)| {
        let since = today.since(verified);
        let days = since.map_or(i32::MAX, |span| span.get_days());
        SourceAge {
            agent: agent.agent.id.clone(),
            verified,
            days,
            sources,
            age: Age::from_days(days),
        }
    });
    ages.collect()
}

fn sources_by_day(agent: &AgentFile) -> BTreeMap<Date, usize> {
    let mut by_day = BTreeMap::new();
    let capabilities = agent.capabilities.iter();
    for source in capabilities.flat_map(|capability| &capability.sources) {
        *by_day.entry(source.verified_date).or_default() += 1;
    }
    by_day
}
