//! What a question is about, once its words are understood; and what is said when they are not.

use crate::answers::Answers;
use crate::library::Term;
use crate::names::{Match, Meant, Names};
use crate::record::AgentFile;

/// Why there is no answer, said so that the next question finds one.
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

/// One capability, and how sure it is that it was meant; or the likeliest few.
pub(crate) enum Asked<'a> {
    One { term: &'a Term, confidence: f32 },
    Several(Vec<(&'a Term, f32)>),
}

/// One agent, and the ids of others the same word stands for.
pub(crate) struct Who<'a> {
    pub(crate) agent: &'a AgentFile,
    pub(crate) also: Vec<&'a str>,
}

impl Answers {
    pub(crate) async fn agent(&self, said: &str) -> Result<Who<'_>, Miss> {
        let Meant { at, others, .. } = self.meant_agent(said).await?;
        let agents = &self.library.agents;
        let also = others
            .into_iter()
            .map(|at| agents[at].agent.id.as_str())
            .collect();
        Ok(Who {
            agent: &agents[at],
            also,
        })
    }

    /// All of them if none is named.
    pub(crate) async fn agents(&self, said: &[String]) -> Result<Vec<&AgentFile>, Miss> {
        let agents = &self.library.agents;
        if said.is_empty() {
            return Ok(agents.iter().collect());
        }
        let mut places = Vec::new();
        for said in said {
            let Meant { at, others, .. } = self.meant_agent(said).await?;
            let new = [at]
                .into_iter()
                .chain(others)
                .filter(|at| !places.contains(at));
            let new: Vec<usize> = new.collect();
            places.extend(new);
        }
        Ok(places.into_iter().map(|at| &agents[at]).collect())
    }

    pub(crate) async fn capability(&self, said: &str) -> Result<Asked<'_>, Miss> {
        let (names, terms) = (&self.library.capability_names, &self.library.capabilities);
        match self.meant_capability(said).await {
            Match::One(Meant { at, confidence, .. }) => Ok(Asked::One {
                term: &terms[at],
                confidence,
            }),
            Match::Several(likely) => Ok(Asked::Several(
                likely
                    .into_iter()
                    .map(|(at, confidence)| (&terms[at], confidence))
                    .collect(),
            )),
            Match::Nothing { near } => Err(Miss::Capability {
                said: said.to_owned(),
                near: joined(names, near),
            }),
        }
    }

    pub(crate) async fn category(&self, said: &str) -> Result<String, Miss> {
        let names = &self.library.category_names;
        match names.resolve(said, None).await {
            Match::One(Meant { at, .. }) => Ok(names.name(at).to_owned()),
            Match::Several(_) | Match::Nothing { .. } => Err(Miss::Category {
                said: said.to_owned(),
                all: joined(names, 0..names.all().len()),
            }),
        }
    }

    /// Where the agent is named here as well, that says nothing about the capability; but some
    /// things are called after an agent, so the whole is tried first.
    async fn meant_capability(&self, said: &str) -> Match {
        let (names, meaning) = (&self.library.capability_names, self.meaning.as_ref());
        let whole = names.resolve(said, meaning).await;
        let rest = self
            .library
            .agent_names
            .cut_from(said)
            .filter(|_| !whole.is_certain());
        let Some(rest) = rest else { return whole };
        let rest = names.resolve(&rest, meaning).await;
        let better = rest.is_certain()
            || matches!(
                (&whole, &rest),
                (Match::Several(_) | Match::Nothing { .. }, Match::One(_))
            );
        if better { rest } else { whole }
    }

    async fn meant_agent(&self, said: &str) -> Result<Meant, Miss> {
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

fn joined(names: &Names, places: impl IntoIterator<Item = usize>) -> String {
    places
        .into_iter()
        .map(|at| names.name(at))
        .collect::<Vec<_>>()
        .join(", ")
}
