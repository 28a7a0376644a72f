//! Everything that is known, put together from the files and checked as a whole.

use std::collections::BTreeMap;
use std::path::Path;

use crate::check::same_everywhere;
use crate::error::{DataError, Problem};
use crate::files::{AliasText, Texts, parse_agent, parse_aliases};
use crate::names::{Named, Names};
use crate::record::{AgentFile, Category};
use crate::words::key;

/// The data of all agents, and the words people have for it.
#[derive(Debug)]
pub struct Library {
    /// The first-class ones first, then by id.
    pub agents: Vec<AgentFile>,
    /// What can be asked about, in the order of the files.
    pub capabilities: Vec<Term>,
    /// Words for capabilities that are not their names, as they are written in the file.
    pub aliases: BTreeMap<String, String>,
    pub(crate) agent_names: Names,
    pub(crate) capability_names: Names,
    pub(crate) category_names: Names,
}

/// One capability, whoever has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    pub name: String,
    pub category: Category,
}

/// What every agent may be called besides its name.
const ALL_ARE: [&str; 8] = [
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
    /// What is in the binary.
    pub fn built_in() -> Self {
        Self::assemble(&Texts::built_in())
            .expect("the data in the binary is the data that was tested")
    }

    /// What is in a directory that is laid out like this repository: `agents/` and `framework/data/`.
    /// Without aliases of its own it takes those in the binary, as far as they fit.
    pub fn open(directory: &Path) -> Result<Self, DataError> {
        Self::assemble(&Texts::read(directory)?)
    }

    pub fn agent(&self, id: &str) -> Option<&AgentFile> {
        self.agents.iter().find(|it| it.agent.id == id)
    }

    /// The texts whose vectors tell what is meant by words that no name has. They change with the
    /// data only, so their vectors can be made beforehand.
    pub fn embedded_texts(&self) -> Vec<String> {
        self.capability_names.texts()
    }

    /// Whether somebody speaks of one of the agents, by its name or an alias.
    pub fn mentions_an_agent(&self, text: &str) -> bool {
        let said = format!(" {} ", key(text));
        let names = self
            .agent_names
            .ways()
            .iter()
            .filter(|way| !way.meant.is_empty());
        names
            .map(|way| format!(" {} ", way.key))
            .any(|name| said.contains(&name))
    }

    fn assemble(texts: &Texts) -> Result<Self, DataError> {
        let mut agents = Vec::new();
        for text in &texts.agents {
            agents.push((text.file.as_str(), parse_agent(text)?));
        }
        let capabilities = same_everywhere(&agents)?;
        let mut agents: Vec<AgentFile> = agents.into_iter().map(|(_, agent)| agent).collect();
        agents.sort_by(|a, b| {
            (!a.agent.first_class, &a.agent.id).cmp(&(!b.agent.first_class, &b.agent.id))
        });
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

fn agent_names(agents: &[AgentFile], from: &AliasText) -> Result<Names, DataError> {
    let named = |it: &AgentFile| Named {
        name: it.agent.id.clone(),
        text: format!("{} {}", it.agent.name, it.agent.vendor),
    };
    let aliases: BTreeMap<String, Vec<String>> = parse_aliases(from)?;
    let mut ways: Vec<(String, Vec<usize>)> = agents
        .iter()
        .enumerate()
        .map(|(at, it)| (it.agent.name.clone(), vec![at]))
        .collect();
    for (alias, ids) in aliases {
        // Ours may name agents that a directory does not have; that makes them no strangers there.
        let stranger = ids.is_empty();
        let mut meant = Vec::new();
        for id in ids {
            match agents.iter().position(|it| it.agent.id == id) {
                Some(at) => meant.push(at),
                None if from.must_fit => {
                    return Err(from.wrong(&alias, Problem::NoSuchAgent { id }));
                }
                None => {}
            }
        }
        if stranger || !meant.is_empty() {
            ways.push((alias, meant));
        }
    }
    Ok(Names::new(
        agents.iter().map(named).collect(),
        ways,
        &ALL_ARE,
    ))
}

fn capability_names(
    agents: &[AgentFile],
    capabilities: &[Term],
    aliases: &BTreeMap<String, String>,
    from: &AliasText,
) -> Result<Names, DataError> {
    let mut ways: Vec<(&str, usize)> = Vec::new();
    for (alias, name) in aliases {
        let other = capabilities
            .iter()
            .find(|it| key(&it.name) == key(alias) && it.name != *name);
        match (capabilities.iter().position(|it| it.name == *name), other) {
            (Some(at), None) => ways.push((alias, at)),
            _ if !from.must_fit => {}
            (_, Some(other)) => {
                return Err(from.wrong(
                    alias,
                    Problem::NameOfAnother {
                        name: other.name.clone(),
                    },
                ));
            }
            (None, None) => {
                return Err(from.wrong(alias, Problem::NoSuchCapability { name: name.clone() }));
            }
        }
    }
    let named = capabilities.iter().enumerate().map(|(at, term)| {
        let words = ways
            .iter()
            .filter(|(_, other)| *other == at)
            .map(|(alias, _)| *alias);
        let said = agents
            .iter()
            .filter_map(|it| it.capability(&term.name)?.description.as_deref());
        let (words, said): (Vec<&str>, Vec<&str>) = (words.collect(), said.take(2).collect());
        let text = format!("{}: {}. {}", term.name, words.join(", "), said.join(" "));
        Named {
            name: term.name.clone(),
            text,
        }
    });
    let named = named.collect();
    Ok(Names::new(
        named,
        ways.into_iter()
            .map(|(alias, at)| (alias.to_owned(), vec![at])),
        &[],
    ))
}

/// A category is also found by what is in it.
fn category_names(capabilities: &[Term], aliases: &BTreeMap<String, String>) -> Names {
    let mut categories: Vec<Category> = capabilities.iter().map(|it| it.category).collect();
    categories.sort();
    categories.dedup();
    let place = |term: &Term| categories.iter().position(|it| *it == term.category);
    let inside = capabilities.iter().flat_map(|term| {
        let words = aliases
            .iter()
            .filter(|(_, name)| **name == term.name)
            .map(|(alias, _)| alias);
        [&term.name]
            .into_iter()
            .chain(words)
            .map(|word| (word.clone(), place(term).into_iter().collect()))
    });
    let named = categories.iter().map(|category| Named {
        name: category.name(),
        text: category.name(),
    });
    Names::new(named.collect(), inside, &[])
}
