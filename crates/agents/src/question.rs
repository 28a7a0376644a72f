//! Finds the agent, the capability and the category that a question is about.

use crate::answers::AgentAnswers;
use crate::library::Term;
use crate::name_index::{Match, NameIndex, ResolvedName};
use crate::record::AgentFile;

/// The reasons for a missing answer, with the question to ask instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    #[error("No agent `{said}`. Agents: {all}.")]
    Agent { said: String, all: String },
    #[error("`{said}` may be {near}. Say which.")]
    OneOfAgents { said: String, near: String },
    #[error("No category `{said}`. Categories: {all}.")]
    Category { said: String, all: String },
    #[error("Give `agent`, `category` or both.")]
    NoFilter,
}

/// One capability and the confidence that it was meant, or the candidates.
pub(crate) enum AskedCapability<'a> {
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
pub(crate) struct AskedAgent<'a> {
    pub(crate) agent: &'a AgentFile,
    pub(crate) also: Vec<&'a str>,
}

/// The agents of a comparison, and the names without an agent.
pub(crate) struct AskedAgents<'a> {
    pub(crate) known: Vec<&'a AgentFile>,
    pub(crate) strangers: Vec<String>,
}

impl AgentAnswers {
    pub(crate) async fn agent(&self, said: &str) -> Result<AskedAgent<'_>, Miss> {
        let ResolvedName { at, others, .. } = self.meant_agent(said).await?;
        let agents = &self.library.agents;
        let others = others.into_iter();
        Ok(AskedAgent {
            agent: &agents[at],
            also: others.map(|at| agents[at].agent.id.as_str()).collect(),
        })
    }

    /// Returns all agents if none is named. Fails only if none of the names is known.
    pub(crate) async fn agents(&self, said: &[String]) -> Result<AskedAgents<'_>, Miss> {
        let agents = &self.library.agents;
        if said.is_empty() {
            return Ok(AskedAgents {
                known: agents.iter().collect(),
                strangers: Vec::new(),
            });
        }
        let mut found: Vec<usize> = Vec::new();
        let mut strangers: Vec<(&str, Miss)> = Vec::new();
        for said in said {
            match self.meant_agent(said).await {
                Ok(ResolvedName { at, others, .. }) => {
                    for at in [at].into_iter().chain(others) {
                        if !found.contains(&at) {
                            found.push(at);
                        }
                    }
                }
                Err(miss @ Miss::Agent { .. }) => strangers.push((said, miss)),
                Err(ambiguous) => return Err(ambiguous),
            }
        }
        if found.is_empty() && !strangers.is_empty() {
            return Err(strangers.swap_remove(0).1);
        }
        Ok(AskedAgents {
            known: found.into_iter().map(|at| &agents[at]).collect(),
            strangers: strangers
                .into_iter()
                .map(|(said, _)| said.to_owned())
                .collect(),
        })
    }

    pub(crate) async fn capability(&self, said: &str) -> AskedCapability<'_> {
        let terms = &self.library.capabilities;
        let with_terms = |likely: Vec<(usize, f32)>| {
            let likely = likely.into_iter();
            likely
                .map(|(at, confidence)| (&terms[at], confidence))
                .collect()
        };
        match self.meant_capability(said).await {
            Match::One(ResolvedName { at, confidence, .. }) => AskedCapability::One {
                term: &terms[at],
                confidence,
            },
            Match::Several(likely) => AskedCapability::Several(Candidates {
                terms: with_terms(likely),
                note: None,
            }),
            Match::Nothing { near } => AskedCapability::Several(Candidates {
                terms: with_terms(near),
                note: Some(format!(
                    "No capability like `{said}`; these are the nearest. list_capabilities shows an agent's or a category's."
                )),
            }),
        }
    }

    pub(crate) async fn category(&self, said: &str) -> Result<String, Miss> {
        let names = &self.library.category_names;
        match names.resolve(said, None).await {
            Match::One(ResolvedName { at, .. }) => Ok(names.name(at).to_owned()),
            Match::Several(_) | Match::Nothing { .. } => Err(Miss::Category {
                said: said.to_owned(),
                all: join_names(names, 0..names.all().len()),
            }),
        }
    }

    /// Resolves the whole text first, since some capabilities are named after an agent. If that
    /// gives no certain match, tries without the names of agents.
    async fn meant_capability(&self, said: &str) -> Match {
        let (names, meaning) = (&self.library.capability_names, self.meaning.as_ref());
        let whole = names.resolve(said, meaning).await;
        if whole.is_certain() {
            return whole;
        }
        let Some(rest) = self.library.agent_names.cut_from(said) else {
            return whole;
        };
        let rest = names.resolve(&rest, meaning).await;
        let is_better = rest.is_certain() || (rest.is_one() && !whole.is_one());
        if is_better { rest } else { whole }
    }

    async fn meant_agent(&self, said: &str) -> Result<ResolvedName, Miss> {
        let names = &self.library.agent_names;
        match names.resolve(said, None).await {
            Match::One(meant) => Ok(meant),
            Match::Several(likely) => {
                let near = join_names(names, likely.into_iter().map(|(at, _)| at));
                Err(Miss::OneOfAgents {
                    said: said.to_owned(),
                    near,
                })
            }
            Match::Nothing { .. } => Err(Miss::Agent {
                said: said.to_owned(),
                all: join_names(names, 0..names.all().len()),
            }),
        }
    }
}

fn join_names(names: &NameIndex, positions: impl IntoIterator<Item = usize>) -> String {
    let names = positions.into_iter().map(|at| names.name(at));
    names.collect::<Vec<_>>().join(", ")
}
