//! The data of all agents, read from the files and checked as a whole.

use std::collections::BTreeMap;
use std::path::Path;

use crate::check::collect_terms;
use crate::error::{DataError, DataProblem};
use crate::files::{AliasText, DataTexts, parse_agent, parse_aliases};
use crate::name_index::{NameIndex, NamedThing};
use crate::record::{AgentFile, Category};
use crate::words::key;

/// The data of all agents, and their alternative names.
#[derive(Debug)]
pub struct Library {
    /// The first-class agents first, then by id.
    pub agents: Vec<AgentFile>,
    /// The capabilities of all agents, in the order of the files.
    pub capabilities: Vec<Term>,
    /// Aliases of capabilities, as written in the file.
    pub aliases: BTreeMap<String, String>,
    pub(crate) agent_names: NameIndex,
    pub(crate) capability_names: NameIndex,
    pub(crate) category_names: NameIndex,
}

/// One capability, independent of any agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub name: String,
    pub category: Category,
}

/// Words for any agent, which do not distinguish agents.
const WORDS_FOR_ANY: [&str; 8] = [
    "agent",
    "ai",
    "app",
    "assistant",
    "bot",
    "coding",
    "editor",
    "tool",
];

impl Library {
    /// The built-in data.
    pub fn built_in() -> Self {
        Self::assemble(&DataTexts::built_in())
            .expect("the data in the binary is the data that was tested")
    }

    /// Opens the data in a directory with the layout of this repository: `agents/` and
    /// `framework/data/`. A directory without aliases gets the applicable built-in ones.
    pub fn open(directory: &Path) -> Result<Self, DataError> {
        Self::assemble(&DataTexts::read(directory)?)
    }

    pub fn agent(&self, id: &str) -> Option<&AgentFile> {
        self.agents.iter().find(|agent| agent.agent.id == id)
    }

    /// Returns the texts whose vectors are needed to find capabilities by meaning. They only change
    /// with the data, so their vectors can be computed in advance.
    pub fn embedded_texts(&self) -> Vec<String> {
        self.capability_names.texts()
    }

    /// True if a text names one of the agents, by its name or an alias.
    pub fn mentions_an_agent(&self, text: &str) -> bool {
        let text = format!(" {} ", key(text));
        let mut wordings = self.agent_names.wordings().iter();
        wordings.any(|wording| {
            !wording.meant.is_empty() && text.contains(&format!(" {} ", wording.key))
        })
    }

    fn assemble(texts: &DataTexts) -> Result<Self, DataError> {
        let (agents, capabilities) = parse_agents(texts)?;
        let aliases = parse_aliases(&texts.aliases)?;
        Ok(Self {
            capability_names: capability_names(&agents, &capabilities, &aliases, &texts.aliases)?,
            agent_names: agent_names(&agents, &texts.agent_aliases)?,
            category_names: category_names(&capabilities, &aliases),
            agents,
            capabilities,
            aliases,
        })
    }
}

fn parse_agents(texts: &DataTexts) -> Result<(Vec<AgentFile>, Vec<Term>), DataError> {
    let mut agents = Vec::new();
    for text in &texts.agents {
        agents.push((text.file.as_str(), parse_agent(text)?));
    }
    let capabilities = collect_terms(&agents)?;
    let mut agents: Vec<AgentFile> = agents.into_iter().map(|(_, agent)| agent).collect();
    agents.sort_by_cached_key(|agent| (!agent.agent.first_class, agent.agent.id.clone()));
    Ok((agents, capabilities))
}

fn agent_names(agents: &[AgentFile], from: &AliasText) -> Result<NameIndex, DataError> {
    let aliases: BTreeMap<String, Vec<String>> = parse_aliases(from)?;
    let named = agents.iter().map(|agent| NamedThing {
        name: agent.agent.id.clone(),
        text: format!("{} {}", agent.agent.name, agent.agent.vendor),
    });
    let own = agents.iter().enumerate();
    let mut wordings: Vec<(String, Vec<usize>)> = own
        .map(|(at, agent)| (agent.agent.name.clone(), vec![at]))
        .collect();
    for (alias, ids) in aliases {
        // An alias without an agent names a product that must not be confused with one of these.
        let is_stranger = ids.is_empty();
        let meant = positions(agents, &alias, ids, from)?;
        if is_stranger || !meant.is_empty() {
            wordings.push((alias, meant));
        }
    }
    Ok(NameIndex::new(named.collect(), wordings, &WORDS_FOR_ANY))
}

/// The built-in aliases may name agents that a directory does not have.
fn positions(
    agents: &[AgentFile],
    alias: &str,
    ids: Vec<String>,
    from: &AliasText,
) -> Result<Vec<usize>, DataError> {
    let mut positions = Vec::new();
    for id in ids {
        match agents.iter().position(|agent| agent.agent.id == id) {
            Some(at) => positions.push(at),
            None if from.must_fit => {
                return Err(from.alias_error(alias, DataProblem::NoSuchAgent { id }));
            }
            None => {}
        }
    }
    Ok(positions)
}

fn capability_names(
    agents: &[AgentFile],
    capabilities: &[Term],
    aliases: &BTreeMap<String, String>,
    from: &AliasText,
) -> Result<NameIndex, DataError> {
    let mut wordings: Vec<(&str, usize)> = Vec::new();
    for (alias, name) in aliases {
        match capability_of(alias, name, capabilities) {
            Ok(at) => wordings.push((alias, at)),
            Err(problem) if from.must_fit => return Err(from.alias_error(alias, problem)),
            Err(_) => {}
        }
    }
    let terms = capabilities.iter().enumerate();
    let named = terms.map(|(at, term)| {
        let words = wordings.iter().filter(|(_, meant)| *meant == at);
        let words: Vec<&str> = words.map(|(alias, _)| *alias).collect();
        NamedThing {
            name: term.name.clone(),
            text: describe(term, &words, agents),
        }
    });
    let named = named.collect();
    let wordings = wordings.into_iter();
    let wordings = wordings.map(|(alias, at)| (alias.to_owned(), vec![at]));
    Ok(NameIndex::new(named, wordings, &[]))
}

/// Finds the capability of an alias. An alias must not be the name of another capability.
fn capability_of(alias: &str, name: &str, capabilities: &[Term]) -> Result<usize, DataProblem> {
    let mut terms = capabilities.iter();
    let position = terms.position(|term| term.name == name);
    let mut terms = capabilities.iter();
    let other = terms.find(|term| key(&term.name) == key(alias) && term.name != name);
    match (position, other) {
        (_, Some(other)) => Err(DataProblem::NameOfAnother {
            name: other.name.clone(),
        }),
        (Some(at), None) => Ok(at),
        (None, None) => Err(DataProblem::NoSuchCapability {
            name: name.to_owned(),
        }),
    }
}

/// The name, the aliases, and the descriptions of two agents: more would be redundant.
fn describe(term: &Term, words: &[&str], agents: &[AgentFile]) -> String {
    let descriptions = agents
        .iter()
        .filter_map(|agent| agent.capability(&term.name)?.description.as_deref());
    let descriptions: Vec<&str> = descriptions.take(2).collect();
    let (words, descriptions) = (words.join(", "), descriptions.join(" "));
    format!("{}: {words}. {descriptions}", term.name)
}

/// The names of categories. A category is also found by its capabilities.
fn category_names(capabilities: &[Term], aliases: &BTreeMap<String, String>) -> NameIndex {
    let categories = categories(capabilities);
    let mut wordings = Vec::new();
    for term in capabilities {
        let position = categories.iter().position(|other| *other == term.category);
        let words = words_for(term, aliases);
        wordings.extend(words.map(|word| (word.clone(), position.into_iter().collect())));
    }
    let named = categories.iter().map(|category| NamedThing {
        name: category.name(),
        text: category.name(),
    });
    NameIndex::new(named.collect(), wordings, &[])
}

fn categories(capabilities: &[Term]) -> Vec<Category> {
    let mut categories: Vec<Category> = capabilities.iter().map(|term| term.category).collect();
    categories.sort();
    categories.dedup();
    categories
}

/// The name of a capability, and its aliases.
fn words_for<'a>(
    term: &'a Term,
    aliases: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = &'a String> {
    let aliases = aliases.iter().filter(|(_, name)| **name == term.name);
    [&term.name]
        .into_iter()
        .chain(aliases.map(|(alias, _)| alias))
}
