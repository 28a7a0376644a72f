//! The rules for the data beyond its schema: within one file, and across all files.

use std::collections::HashMap;

use crate::error::{DataError, DataPosition, DataProblem};
use crate::library::Term;
use crate::record::{
    AgentCapability, AgentFile, Availability, CitedSource, Granularity, ImplementationNotes,
    RecordStatus,
};
use crate::words::key;

pub(crate) type LocatedProblem = (DataPosition, DataProblem);
type FieldProblem = (String, DataProblem);

/// The length of a quotation: long enough to be found on the page, short enough to be quoted.
const QUOTATION: std::ops::RangeInclusive<usize> = 50..=300;

pub(crate) fn check_file(file: &AgentFile, folder: &str) -> Result<(), LocatedProblem> {
    check_agent(file, folder).map_err(in_field("agent"))?;
    check_documentation(file).map_err(in_field("documentation"))?;
    if file.capabilities.is_empty() {
        return Err((DataPosition::field("capabilities"), DataProblem::Empty));
    }
    for (at, capability) in file.capabilities.iter().enumerate() {
        check_capability(capability)
            .and_then(|()| check_unique(capability, &file.capabilities[..at]))
            .map_err(|(field, problem)| (DataPosition::entry(&capability.name, field), problem))?;
    }
    Ok(())
}

fn in_field(parent: &'static str) -> impl Fn(FieldProblem) -> LocatedProblem {
    move |(field, problem)| (DataPosition::field(format!("{parent}.{field}")), problem)
}

fn check_agent(file: &AgentFile, folder: &str) -> Result<(), FieldProblem> {
    let agent = &file.agent;
    if !agent.id.split('-').all(is_plain) {
        return Err(at("id")(DataProblem::Id));
    }
    if agent.id != folder {
        return Err(at("id")(DataProblem::WrongFolder {
            folder: folder.to_owned(),
        }));
    }
    check_text(Some(&agent.name)).map_err(at("name"))?;
    check_text(Some(&agent.vendor)).map_err(at("vendor"))?;
    check_text(Some(&agent.version)).map_err(at("version"))?;
    check_text(agent.note.as_ref()).map_err(at("note"))
}

fn check_documentation(file: &AgentFile) -> Result<(), FieldProblem> {
    let pages = &file.documentation;
    check_address(pages.official_docs.as_ref()).map_err(at("officialDocs"))?;
    check_address(pages.release_notes.as_ref()).map_err(at("releaseNotes"))?;
    check_address(pages.github.as_ref()).map_err(at("github"))
}

fn check_unique(
    capability: &AgentCapability,
    before: &[AgentCapability],
) -> Result<(), FieldProblem> {
    let mut before = before.iter();
    if before.any(|other| key(&other.name) == key(&capability.name)) {
        return Err(at("name")(DataProblem::Twice));
    }
    Ok(())
}

/// Collects the capabilities of all agents. A shared capability must have one spelling and one
/// category.
pub(crate) fn collect_terms(agents: &[(&str, AgentFile)]) -> Result<Vec<Term>, DataError> {
    let mut terms = Terms::default();
    for (file, agent) in agents {
        for capability in &agent.capabilities {
            terms.add(file, capability).map_err(|(field, problem)| {
                let position = DataPosition::entry(&capability.name, field);
                DataError::new(file, position, problem)
            })?;
        }
    }
    Ok(terms.terms)
}

#[derive(Default)]
struct Terms<'a> {
    terms: Vec<Term>,
    /// The position of a term, and the file in which it was found first.
    known: HashMap<String, (usize, &'a str)>,
}

impl<'a> Terms<'a> {
    fn add(&mut self, file: &'a str, capability: &AgentCapability) -> Result<(), FieldProblem> {
        let name = key(&capability.name);
        let Some((position, elsewhere)) = self.known.get(&name).copied() else {
            self.known.insert(name, (self.terms.len(), file));
            self.terms.push(Term {
                name: capability.name.clone(),
                category: capability.category,
            });
            return Ok(());
        };
        check_same_term(&self.terms[position], elsewhere, capability)
    }
}

fn check_same_term(
    term: &Term,
    elsewhere: &str,
    capability: &AgentCapability,
) -> Result<(), FieldProblem> {
    let elsewhere = elsewhere.to_owned();
    if term.name != capability.name {
        let name = term.name.clone();
        return Err(at("name")(DataProblem::Spelling { elsewhere, name }));
    }
    if term.category != capability.category {
        let category = term.category.name();
        return Err(at("category")(DataProblem::OtherCategory {
            elsewhere,
            category,
        }));
    }
    Ok(())
}

fn check_capability(capability: &AgentCapability) -> Result<(), FieldProblem> {
    check_text(Some(&capability.name)).map_err(at("name"))?;
    check_text(capability.description.as_ref()).map_err(at("description"))?;
    check_text(capability.vendor_term.as_ref()).map_err(at("vendorTerm"))?;
    check_knowledge(capability)?;
    if let Some(notes) = &capability.implementation_notes {
        check_notes(notes)
            .map_err(|(field, problem)| (format!("implementationNotes.{field}"), problem))?;
    }
    for (index, source) in capability.sources.iter().enumerate() {
        check_source(source)
            .map_err(|(field, problem)| (format!("sources[{index}].{field}"), problem))?;
    }
    Ok(())
}

/// Everything known needs a description and a source.
fn check_knowledge(capability: &AgentCapability) -> Result<(), FieldProblem> {
    let is_unknown = capability.available == Availability::Unknown;
    if is_unknown != (capability.status == RecordStatus::Unknown) {
        return Err(at("status")(DataProblem::StatusAndAvailability));
    }
    if !is_unknown && capability.description.is_none() {
        return Err(at("description")(DataProblem::NoDescription));
    }
    if !is_unknown && capability.sources.is_empty() {
        return Err(at("sources")(DataProblem::NoSource));
    }
    Ok(())
}

fn check_notes(notes: &ImplementationNotes) -> Result<(), FieldProblem> {
    check_text(notes.setup.as_ref()).map_err(at("setup"))?;
    check_text(notes.config_file.as_ref()).map_err(at("configFile"))?;
    check_address(notes.start_url.as_ref()).map_err(at("startUrl"))?;
    for (index, gotcha) in notes.gotchas.iter().enumerate() {
        check_text(Some(gotcha)).map_err(|problem| (format!("gotchas[{index}]"), problem))?;
    }
    Ok(())
}

fn check_source(source: &CitedSource) -> Result<(), FieldProblem> {
    check_address(Some(&source.url)).map_err(at("url"))?;
    check_text(Some(&source.description)).map_err(at("description"))?;
    let quoted = source.excerpt.as_ref().map(|text| text.chars().count());
    match (source.granularity, quoted) {
        (Granularity::Excerpt, Some(length)) if QUOTATION.contains(&length) => Ok(()),
        (Granularity::Excerpt, _) | (_, Some(_)) => Err(at("excerpt")(DataProblem::Excerpt)),
        (_, None) => Ok(()),
    }
}

fn at(field: &'static str) -> impl Fn(DataProblem) -> FieldProblem {
    move |problem| (field.to_owned(), problem)
}

/// An optional text must not be empty.
fn check_text(text: Option<&String>) -> Result<(), DataProblem> {
    if text.is_some_and(|text| text.trim().is_empty()) {
        Err(DataProblem::Empty)
    } else {
        Ok(())
    }
}

fn check_address(url: Option<&url::Url>) -> Result<(), DataProblem> {
    if url.is_none_or(|url| matches!(url.scheme(), "http" | "https")) {
        Ok(())
    } else {
        Err(DataProblem::Address)
    }
}

/// True for a part of an id.
fn is_plain(part: &str) -> bool {
    let mut bytes = part.bytes();
    !part.is_empty() && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}
