//! Finds the agent, the capability and the category that a question is about.

use crate::answers::AgentAnswers;
use crate::library::Term;
use crate::name_index::{Match, NameIndex, ResolvedName};
use crate::record::AgentFile;

/// The reasons for which there is no answer, with what the model can ask instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Miss {
    #[error("No agent `{said}`. Agents: {all}.")]
    Agent { said: String, all: String },
    #[error("`{said}` may be {near}. Say which.")]
    OneOfAgents { said: String, near: String },
    #[error(
        "No capability like `{said}`. Nearest: {near}. list_capabilities shows an agent's or a category's."
    )]
    Capability { said: String, near: String },
    #[error("No category `{said}`. Categories: {all}.")]
    Category { said: String, all: String },
    #[error("Give `agent`, `category` or both.")]
    NoFilter,
}

/// One capability and the confidence that it was meant, or the likeliest few.
pub(crate) enum AskedCapability<'a> {
    One { term: &'a Term, confidence: f32 },
    Several(Vec<(&'a Term, f32)>),
}

/// One agent, and the ids of other agents that the same word stands for.
pub(crate) struct AskedAgent<'a> {
    pub(crate) agent: &'a AgentFile,
    pub(crate) also: Vec<&'a str>,
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

    /// Returns all agents if none is named.
    pub(crate) async fn agents(&self, said: &[String]) -> Result<Vec<&AgentFile>, Miss> {
        let agents = &self.library.agents;
        if said.is_empty() {
            return Ok(agents.iter().collect());
        }
        let mut found: Vec<usize> = Vec::new();
        for said in said {
            let ResolvedName { at, others, .. } = self.meant_agent(said).await?;
            for at in [at].into_iter().chain(others) {
                if !found.contains(&at) {
                    found.push(at);
                }
            }
        }
        Ok(found.into_iter().map(|at| &agents[at]).collect())
    }

    pub(crate) async fn capability(&self, said: &str) -> Result<AskedCapability<'_>, Miss> {
        let (names, terms) = (&self.library.capability_names, &self.library.capabilities);
        match self.meant_capability(said).await {
            Match::One(ResolvedName { at, confidence, .. }) => Ok(AskedCapability::One {
                term: &terms[at],
                confidence,
            }),
            Match::Several(likely) => {
                let likely = likely.into_iter();
                let likely = likely.map(|(at, confidence)| (&terms[at], confidence));
                Ok(AskedCapability::Several(likely.collect()))
            }
            Match::Nothing { near } => Err(Miss::Capability {
                said: said.to_owned(),
                near: joined(names, near),
            }),
        }
    }

    pub(crate) async fn category(&self, said: &str) -> Result<String, Miss> {
        let names = &self.library.category_names;
        match names.resolve(said, None).await {
            Match::One(ResolvedName { at, .. }) => Ok(names.name(at).to_owned()),
            Match::Several(_) | Match::Nothing { .. } => Err(Miss::Category {
                said: said.to_owned(),
                all: joined(names, 0..names.all().len()),
            }),
        }
    }

    /// Resolves the whole text first, since some capabilities are named after an agent. If that does
    /// not give a certain match, it is tried without the names of agents.
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
                let near = joined(names, likely.into_iter().map(|(at, _)| at));
                Err(Miss::OneOfAgents {
                    said: said.to_owned(),
                    near,
                })
            }
            Match::Nothing { .. } => Err(Miss::Agent {
                said: said.to_owned(),
                all: joined(names, 0..names.all().len()),
            }),
        }
    }
}

fn joined(names: &NameIndex, positions: impl IntoIterator<Item = usize>) -> String {
    let names = positions.into_iter().map(|at| names.name(at));
    names.collect::<Vec<_>>().join(", ")
}
