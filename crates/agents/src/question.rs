//! Finds the agent, the capability and the category that a question is about.

use crate::answers::AgentAnswers;
use crate::library::Term;
use crate::name_index::{Match, NameIndex, ResolvedName};
use crate::record::AgentFile;

/// The reasons for a missing answer, with the question to ask instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    #[error("No agent `{query}`. Agents: {all}.")]
    Agent { query: String, all: String },
    #[error("`{query}` may be {near}. Say which.")]
    OneOfAgents { query: String, near: String },
    #[error("No category `{query}`. Categories: {all}.")]
    Category { query: String, all: String },
    #[error("Give `agent`, `category` or both.")]
    NoFilter,
}

/// One capability and the confidence that it was meant, or the candidates.
pub(crate) enum FoundCapability<'a> {
    One { term: &'a Term, confidence: f32 },
    Several(Candidates<'a>),
}

/// The capabilities that may have been meant, the likeliest first.
pub(crate) struct Candidates<'a> {
    pub(crate) terms: Vec<(&'a Term, f32)>,
    /// States that none of them is the requested one.
    pub(crate) note: Option<String>,
}

/// One agent, and the ids of other agents with the same name.
pub(crate) struct FoundAgent<'a> {
    pub(crate) agent: &'a AgentFile,
    pub(crate) also: Vec<&'a str>,
}

/// The agents of a comparison, and the names without an agent.
pub(crate) struct FoundAgents<'a> {
    pub(crate) known: Vec<&'a AgentFile>,
    pub(crate) unknown: Vec<String>,
}

impl AgentAnswers {
    pub(crate) async fn agent(&self, query: &str) -> Result<FoundAgent<'_>, Miss> {
        let ResolvedName { at, others, .. } = self.meant_agent(query).await?;
        let agents = &self.library.agents;
        let others = others.into_iter();
        Ok(FoundAgent {
            agent: &agents[at],
            also: others.map(|at| agents[at].agent.id.as_str()).collect(),
        })
    }

    /// Returns all agents if none is named. Fails only if none of the names is known.
    pub(crate) async fn agents(&self, names: &[String]) -> Result<FoundAgents<'_>, Miss> {
        let agents = &self.library.agents;
        if names.is_empty() {
            return Ok(FoundAgents {
                known: agents.iter().collect(),
                unknown: Vec::new(),
            });
        }
        let mut found: Vec<usize> = Vec::new();
        let mut unknown: Vec<(&str, Miss)> = Vec::new();
        for name in names {
            match self.meant_agent(name).await {
                Ok(ResolvedName { at, others, .. }) => {
                    for at in [at].into_iter().chain(others) {
                        if !found.contains(&at) {
                            found.push(at);
                        }
                    }
                }
                Err(miss @ Miss::Agent { .. }) => unknown.push((name, miss)),
                Err(ambiguous) => return Err(ambiguous),
            }
        }
        if found.is_empty() && !unknown.is_empty() {
            return Err(unknown.swap_remove(0).1);
        }
        Ok(FoundAgents {
            known: found.into_iter().map(|at| &agents[at]).collect(),
            unknown: unknown
                .into_iter()
                .map(|(name, _)| name.to_owned())
                .collect(),
        })
    }

    pub(crate) async fn capability(&self, query: &str) -> FoundCapability<'_> {
        let terms = &self.library.capabilities;
        let with_terms = |likely: Vec<(usize, f32)>| {
            let likely = likely.into_iter();
            likely
                .map(|(at, confidence)| (&terms[at], confidence))
                .collect()
        };
        match self.meant_capability(query).await {
            Match::One(ResolvedName { at, confidence, .. }) => FoundCapability::One {
                term: &terms[at],
                confidence,
            },
            Match::Several(likely) => FoundCapability::Several(Candidates {
                terms: with_terms(likely),
                note: None,
            }),
            Match::Nothing { near } => FoundCapability::Several(Candidates {
                terms: with_terms(near),
                note: Some(format!(
                    "No capability like `{query}`; these are the nearest. list_capabilities shows an agent's or a category's."
                )),
            }),
        }
    }

    pub(crate) async fn category(&self, query: &str) -> Result<String, Miss> {
        let names = &self.library.category_names;
        match names.resolve(query, None).await {
            Match::One(ResolvedName { at, .. }) => Ok(names.name(at).to_owned()),
            Match::Several(_) | Match::Nothing { .. } => Err(Miss::Category {
                query: query.to_owned(),
                all: join_names(names, 0..names.all().len()),
            }),
        }
    }

    /// Resolves the whole text first, since some capabilities are named after an agent. If that
    /// gives no certain match, tries without the names of agents.
    async fn meant_capability(&self, query: &str) -> Match {
        let (names, meaning) = (&self.library.capability_names, self.meaning.as_ref());
        let whole = names.resolve(query, meaning).await;
        if whole.is_certain() {
            return whole;
        }
        let Some(rest) = self.library.agent_names.remove_names_from(query) else {
            return whole;
        };
        let rest = names.resolve(&rest, meaning).await;
        let is_better = rest.is_certain() || (rest.is_one() && !whole.is_one());
        if is_better { rest } else { whole }
    }

    async fn meant_agent(&self, query: &str) -> Result<ResolvedName, Miss> {
        let names = &self.library.agent_names;
        match names.resolve(query, None).await {
            Match::One(meant) => Ok(meant),
            Match::Several(likely) => {
                let near = join_names(names, likely.into_iter().map(|(at, _)| at));
                Err(Miss::OneOfAgents {
                    query: query.to_owned(),
                    near,
                })
            }
            Match::Nothing { .. } => Err(Miss::Agent {
                query: query.to_owned(),
                all: join_names(names, 0..names.all().len()),
            }),
        }
    }
}

fn join_names(names: &NameIndex, positions: impl IntoIterator<Item = usize>) -> String {
    let names = positions.into_iter().map(|at| names.name(at));
    names.collect::<Vec<_>>().join(", ")
}
