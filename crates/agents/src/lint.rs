//! How old the sources are: facts about software are worth little a season later.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;

use crate::library::Library;
use crate::record::{AgentFile, Capability, Granularity};

/// Days after which a source should be read again, and after which it must be.
pub const WARN_AFTER: i32 = 30;
pub const FAIL_AFTER: i32 = 90;

/// The sources of one agent that were read on the same day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
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

/// What the sources of all agents look like on a day.
pub fn ages(library: &Library, today: Date) -> Vec<Finding> {
    library
        .agents
        .iter()
        .flat_map(|agent| ages_of(agent, today))
        .collect()
}

/// For each agent, how many capabilities have no source nearer than a page about much else.
pub fn vague(library: &Library) -> Vec<(&str, usize)> {
    let near = |it: &Capability| {
        let near = [Granularity::Dedicated, Granularity::Section];
        it.sources.is_empty()
            || it
                .sources
                .iter()
                .any(|source| near.contains(&source.granularity))
    };
    let count = |agent: &AgentFile| agent.capabilities.iter().filter(|it| !near(it)).count();
    let counted = library
        .agents
        .iter()
        .map(|agent| (agent.agent.id.as_str(), count(agent)));
    counted.filter(|(_, count)| *count > 0).collect()
}

impl Age {
    fn of(days: i32) -> Self {
        if days > FAIL_AFTER {
            Self::TooOld
        } else if days > WARN_AFTER {
            Self::Old
        } else {
            Self::Fresh
        }
    }
}

fn ages_of(agent: &AgentFile, today: Date) -> Vec<Finding> {
    let mut by_day: BTreeMap<Date, usize> = BTreeMap::new();
    for source in agent.capabilities.iter().flat_map(|it| &it.sources) {
        *by_day.entry(source.verified_date).or_default() += 1;
    }
    let finding = |(verified, sources): (Date, usize)| {
        let days = today
            .since(verified)
            .map_or(i32::MAX, |span| span.get_days());
        Finding {
            agent: agent.agent.id.clone(),
            verified,
            days,
            sources,
            age: Age::of(days),
        }
    };
    by_day.into_iter().map(finding).collect()
}
