//! The answers to the four questions, in as few words as possible.

use serde_json::{Value, json};

use crate::library::{Library, Term};
use crate::meaning::{Embed, Meaning};
use crate::question::{Candidates, FoundAgent, FoundAgents, FoundCapability, Miss};
use crate::record::{AgentCapability, AgentFile, Availability};
use crate::rows::{
    brief_row, candidate_rows, comparison_row, every_source, full_row, list_row, outline,
    round_confidence, sources, unavailable_row,
};

/// Answers questions from the library. A name that is not found by its words is found by vectors,
/// if a model is available.
#[derive(Debug)]
pub struct AgentAnswers {
    pub library: Library,
    pub(crate) meaning: Option<Meaning>,
}

impl AgentAnswers {
    pub fn new(library: Library, embed: Option<Embed>) -> Self {
        Self {
            library,
            meaning: embed.map(Meaning::new),
        }
    }

    /// Answers whether an agent has a capability, and how.
    pub async fn lookup(&self, agent: &str, capability: &str) -> Result<Value, Miss> {
        let FoundAgent { agent, also } = self.agent(agent).await?;
        let mut answer = json!({ "agent": agent.agent.id });
        match self.capability(capability).await {
            FoundCapability::One { term, confidence } => {
                answer["capability"] = full_row(agent, term);
                mention_doubt(&mut answer, confidence);
            }
            FoundCapability::Several(candidates) => {
                answer["matches"] = brief_rows(agent, &candidates.terms);
                mention_note(&mut answer, &candidates);
            }
        }
        mention_others(&mut answer, &also);
        Ok(answer)
    }

    /// Answers how agents differ in a capability. A name shared by several agents selects all of
    /// them.
    pub async fn compare(&self, capability: &str, agents: &[String]) -> Result<Value, Miss> {
        let FoundAgents { known, unknown } = self.agents(agents).await?;
        let (term, confidence) = match self.capability(capability).await {
            FoundCapability::One { term, confidence } => (term, confidence),
            FoundCapability::Several(candidates) => return Ok(candidates_answer(&candidates)),
        };
        let rows = known.iter().map(|agent| comparison_row(agent, term));
        let absent = unknown.iter().map(|name| unavailable_row(name));
        let rows: Value = rows.chain(absent).collect();
        let mut answer = json!({ "capability": term.name, "comparison": rows });
        let mut silent = known;
        silent.retain(|agent| agent.availability(&term.name) == Availability::Unknown);
        let silent: Vec<&str> = silent.iter().map(|agent| agent.agent.id.as_str()).collect();
        mention_some(&mut answer, "undocumented", &silent);
        mention_some(&mut answer, "unknownAgents", &unknown);
        mention_doubt(&mut answer, confidence);
        Ok(answer)
    }

    /// Lists the capabilities of an agent, of a category, or both.
    pub async fn list(&self, agent: Option<&str>, category: Option<&str>) -> Result<Value, Miss> {
        let category = match category {
            Some(name) => Some(self.category(name).await?),
            None => None,
        };
        match (agent, &category) {
            (Some(agent), _) => Ok(list_agent(&self.agent(agent).await?, category.as_deref())),
            (None, Some(category)) => Ok(list_category(&self.library, category)),
            (None, None) => Err(Miss::NoFilter),
        }
    }

    /// Lists the documents about an agent, about a capability, or both.
    pub async fn sources(
        &self,
        agent: Option<&str>,
        capability: Option<&str>,
    ) -> Result<Value, Miss> {
        let found = self.agent_if_named(agent).await?;
        let term = match capability {
            Some(capability) => match self.capability(capability).await {
                FoundCapability::One { term, .. } => Some(term),
                FoundCapability::Several(candidates) => return Ok(candidates_answer(&candidates)),
            },
            None => None,
        };
        let agent = found.as_ref().map(|found| found.agent);
        let mut answer = sources_of(&self.library, agent, term);
        mention_others(&mut answer, found.as_ref().map_or(&[], |found| &found.also));
        Ok(answer)
    }

    async fn agent_if_named(&self, agent: Option<&str>) -> Result<Option<FoundAgent<'_>>, Miss> {
        match agent {
            Some(agent) => self.agent(agent).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Answers with the capabilities that may have been meant.
fn candidates_answer(candidates: &Candidates<'_>) -> Value {
    let mut answer = json!({ "matches": candidate_rows(&candidates.terms) });
    mention_note(&mut answer, candidates);
    answer
}

fn brief_rows(agent: &AgentFile, terms: &[(&Term, f32)]) -> Value {
    let terms = terms.iter();
    terms
        .map(|(term, confidence)| brief_row(agent, term, *confidence))
        .collect()
}

fn list_agent(found: &FoundAgent<'_>, category: Option<&str>) -> Value {
    let mut inside: Vec<&AgentCapability> = found.agent.capabilities.iter().collect();
    inside.retain(|capability| {
        category.is_none_or(|category| capability.category.name() == category)
    });
    let rows = inside.iter();
    let rows = rows.filter_map(|capability| list_row(None, capability));
    let mut answer =
        json!({ "agent": found.agent.agent.id, "capabilities": rows.collect::<Value>() });
    mention_undocumented(&mut answer, &inside);
    mention_others(&mut answer, &found.also);
    answer
}

fn mention_undocumented(answer: &mut Value, capabilities: &[&AgentCapability]) {
    let capabilities = capabilities.iter();
    let unknown = capabilities.filter(|capability| capability.available == Availability::Unknown);
    let names: Vec<&str> = unknown.map(|capability| capability.name.as_str()).collect();
    mention_some(answer, "undocumented", &names);
}

fn list_category(library: &Library, category: &str) -> Value {
    let mut rows = Vec::new();
    for agent in &library.agents {
        let capabilities = agent.capabilities.iter();
        let inside = capabilities.filter(|capability| capability.category.name() == category);
        rows.extend(inside.filter_map(|capability| list_row(Some(&agent.agent.id), capability)));
    }
    json!({ "category": category, "capabilities": rows })
}

fn sources_of(library: &Library, agent: Option<&AgentFile>, term: Option<&Term>) -> Value {
    match (agent, term) {
        (Some(agent), Some(term)) => sources_of_both(agent, term),
        (Some(agent), None) => {
            json!({ "agent": agent.agent.id, "sources": every_source(agent) })
        }
        (None, Some(term)) => sources_of_capability(library, term),
        (None, None) => {
            let agents = library.agents.iter();
            json!({ "sources": agents.map(outline).collect::<Value>() })
        }
    }
}

fn sources_of_both(agent: &AgentFile, term: &Term) -> Value {
    let capability = agent.capability(&term.name).into_iter();
    let cited: Vec<Value> = capability
        .flat_map(|capability| sources(None, capability))
        .collect();
    let mut answer = json!({ "agent": agent.agent.id, "capability": term.name, "sources": cited });
    if cited.is_empty() {
        answer["documentation"] = json!(agent.documentation.official_docs);
    }
    answer
}

fn sources_of_capability(library: &Library, term: &Term) -> Value {
    let mut cited = Vec::new();
    for agent in &library.agents {
        if let Some(capability) = agent.capability(&term.name) {
            cited.extend(sources(Some(&agent.agent.id), capability));
        }
    }
    json!({ "capability": term.name, "sources": cited })
}

fn mention_doubt(answer: &mut Value, confidence: f32) {
    if confidence < 1.0 {
        answer["matchConfidence"] = round_confidence(confidence);
    }
}

/// Names the other agents with the same name, since the caller may have meant one of them.
fn mention_others(answer: &mut Value, also: &[&str]) {
    mention_some(answer, "seeAlso", also);
}

fn mention_note(answer: &mut Value, candidates: &Candidates<'_>) {
    if let Some(note) = &candidates.note {
        answer["note"] = json!(note);
    }
}

fn mention_some<T: serde::Serialize>(answer: &mut Value, key: &str, names: &[T]) {
    if !names.is_empty() {
        answer[key] = json!(names);
    }
}
