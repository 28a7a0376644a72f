//! The answers to the four questions, in as few words as they can be given.

use serde_json::{Value, json};

use crate::asked::{Asked, Miss, Who};
use crate::library::Library;
use crate::meaning::{Embed, Meaning};
use crate::record::{Availability, Capability};
use crate::rows::{
    brief, compared, every_source, likely, listed, outline, rounded, sources, whole,
};

/// Whoever answers: what is known, and perhaps somebody who can tell what words mean.
#[derive(Debug)]
pub struct Answers {
    pub library: Library,
    pub(crate) meaning: Option<Meaning>,
}

impl Answers {
    /// Without `embed`, what names and words do not tell stays open.
    pub fn new(library: Library, embed: Option<Embed>) -> Self {
        Self {
            library,
            meaning: embed.map(Meaning::new),
        }
    }

    /// What can this agent do about that?
    pub async fn lookup(&self, agent: &str, capability: &str) -> Result<Value, Miss> {
        let Who { agent, also } = self.agent(agent).await?;
        let mut answer = json!({ "agent": agent.agent.id });
        match self.capability(capability).await? {
            Asked::One { term, confidence } => {
                answer["capability"] = whole(agent, term);
                mention_doubt(&mut answer, confidence);
            }
            Asked::Several(terms) => {
                let matches = terms
                    .into_iter()
                    .map(|(term, confidence)| brief(agent, term, confidence));
                answer["matches"] = matches.collect();
            }
        }
        mention_others(&mut answer, &also);
        Ok(answer)
    }

    /// How do agents differ in that? A word for several agents stands for all of them here.
    pub async fn compare(&self, capability: &str, agents: &[String]) -> Result<Value, Miss> {
        let agents = self.agents(agents).await?;
        Ok(match self.capability(capability).await? {
            Asked::One { term, confidence } => {
                let rows: Value = agents
                    .into_iter()
                    .map(|agent| compared(agent, term))
                    .collect();
                let mut answer = json!({ "capability": term.name, "comparison": rows });
                mention_doubt(&mut answer, confidence);
                answer
            }
            Asked::Several(terms) => json!({ "matches": likely(&terms) }),
        })
    }

    /// What does an agent have, or what is in a category?
    pub async fn list(&self, agent: Option<&str>, category: Option<&str>) -> Result<Value, Miss> {
        let category = match category {
            Some(said) => Some(self.category(said).await?),
            None => None,
        };
        match (agent, &category) {
            (Some(agent), _) => {
                let who = self.agent(agent).await?;
                Ok(list_agent(&who, category.as_deref()))
            }
            (None, Some(category)) => {
                let rows = self.library.agents.iter().flat_map(|agent| {
                    let inside = agent
                        .capabilities
                        .iter()
                        .filter(|it| it.category.name() == *category);
                    inside.filter_map(|it| listed(Some(&agent.agent.id), it))
                });
                Ok(json!({ "category": category, "capabilities": rows.collect::<Value>() }))
            }
            (None, None) => Err(Miss::NoFilter),
        }
    }

    /// Where is that written?
    pub async fn sources(
        &self,
        agent: Option<&str>,
        capability: Option<&str>,
    ) -> Result<Value, Miss> {
        let who = match agent {
            Some(agent) => Some(self.agent(agent).await?),
            None => None,
        };
        let term = match capability {
            Some(capability) => match self.capability(capability).await? {
                Asked::One { term, .. } => Some(term),
                Asked::Several(terms) => return Ok(json!({ "matches": likely(&terms) })),
            },
            None => None,
        };
        let agents = &self.library.agents;
        let mut answer = match (&who, term) {
            (Some(Who { agent, .. }), Some(term)) => {
                let cited: Vec<Value> = agent
                    .capability(&term.name)
                    .into_iter()
                    .flat_map(|it| sources(None, it))
                    .collect();
                let mut answer =
                    json!({ "agent": agent.agent.id, "capability": term.name, "sources": cited });
                if cited.is_empty() {
                    answer["documentation"] = json!(agent.documentation.official_docs);
                }
                answer
            }
            (Some(Who { agent, .. }), None) => {
                json!({ "agent": agent.agent.id, "sources": every_source(agent) })
            }
            (None, Some(term)) => {
                let having = agents
                    .iter()
                    .filter_map(|it| Some((&it.agent.id, it.capability(&term.name)?)));
                let cited: Value = having.flat_map(|(id, it)| sources(Some(id), it)).collect();
                json!({ "capability": term.name, "sources": cited })
            }
            (None, None) => json!({ "sources": agents.iter().map(outline).collect::<Value>() }),
        };
        mention_others(&mut answer, who.as_ref().map_or(&[], |who| &who.also));
        Ok(answer)
    }
}

fn list_agent(who: &Who<'_>, category: Option<&str>) -> Value {
    let inside = |it: &&Capability| category.is_none_or(|category| it.category.name() == category);
    let inside: Vec<&Capability> = who.agent.capabilities.iter().filter(inside).collect();
    let rows: Value = inside.iter().filter_map(|it| listed(None, it)).collect();
    let unknown = inside
        .iter()
        .filter(|it| it.available == Availability::Unknown);
    let unknown: Vec<&str> = unknown.map(|it| it.name.as_str()).collect();
    let mut answer = json!({ "agent": who.agent.agent.id, "capabilities": rows });
    if !unknown.is_empty() {
        answer["undocumented"] = json!(unknown);
    }
    mention_others(&mut answer, &who.also);
    answer
}

fn mention_doubt(answer: &mut Value, confidence: f32) {
    if confidence < 1.0 {
        answer["matchConfidence"] = rounded(confidence);
    }
}

/// The word also stands for others, who may have been meant.
fn mention_others(answer: &mut Value, also: &[&str]) {
    if !also.is_empty() {
        answer["seeAlso"] = json!(also);
    }
}
