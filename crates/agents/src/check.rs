//! The rules the data must keep, beyond its shape: within one file, and across all of them.

use std::collections::HashMap;

use crate::error::{DataError, Place, Problem};
use crate::library::Term;
use crate::record::{AgentFile, Availability, Capability, Granularity, Source, Status};
use crate::words::key;

type Wrong = (Place, Problem);

pub(crate) fn check_file(file: &AgentFile, folder: &str) -> Result<(), Wrong> {
    let agent = &file.agent;
    let about = |field: &str, problem| (Place::field(format!("agent.{field}")), problem);
    let parts = |id: &str| {
        id.split('-')
            .all(|part| !part.is_empty() && part.bytes().all(is_plain))
    };
    if !parts(&agent.id) {
        return Err(about("id", Problem::Id));
    }
    if agent.id != folder {
        return Err(about(
            "id",
            Problem::NotTheFolder {
                folder: folder.to_owned(),
            },
        ));
    }
    let texts = [
        ("name", Some(&agent.name)),
        ("vendor", Some(&agent.vendor)),
        ("version", Some(&agent.version)),
    ];
    for (field, text) in texts.into_iter().chain([("note", agent.note.as_ref())]) {
        said(text).map_err(|problem| about(field, problem))?;
    }
    let pages = &file.documentation;
    let links = [
        ("officialDocs", &pages.official_docs),
        ("releaseNotes", &pages.release_notes),
        ("github", &pages.github),
    ];
    for (field, link) in links {
        reachable(link.as_ref())
            .map_err(|it| (Place::field(format!("documentation.{field}")), it))?;
    }
    if file.capabilities.is_empty() {
        return Err((Place::field("capabilities"), Problem::Empty));
    }
    for (at, capability) in file.capabilities.iter().enumerate() {
        let wrong =
            |(field, problem): (String, Problem)| (Place::entry(&capability.name, field), problem);
        check_capability(capability).map_err(wrong)?;
        if file.capabilities[..at]
            .iter()
            .any(|other| key(&other.name) == key(&capability.name))
        {
            return Err(wrong(("name".to_owned(), Problem::Twice)));
        }
    }
    Ok(())
}

/// What is called the same is the same everywhere: one spelling, one category.
pub(crate) fn same_everywhere(agents: &[(&str, AgentFile)]) -> Result<Vec<Term>, DataError> {
    let mut seen: HashMap<String, (&str, usize)> = HashMap::new();
    let mut terms: Vec<Term> = Vec::new();
    for (file, agent) in agents {
        for capability in &agent.capabilities {
            let (elsewhere, at) = *seen.entry(key(&capability.name)).or_insert_with(|| {
                terms.push(Term {
                    name: capability.name.clone(),
                    category: capability.category,
                });
                (file, terms.len() - 1)
            });
            let (term, elsewhere) = (&terms[at], elsewhere.to_owned());
            let (field, problem) = if term.name != capability.name {
                (
                    "name",
                    Problem::Spelling {
                        elsewhere,
                        name: term.name.clone(),
                    },
                )
            } else if term.category != capability.category {
                (
                    "category",
                    Problem::OtherCategory {
                        elsewhere,
                        category: term.category.name(),
                    },
                )
            } else {
                continue;
            };
            let place = Place::entry(&capability.name, field);
            return Err(DataError::wrong(file, place, problem));
        }
    }
    Ok(terms)
}

fn check_capability(it: &Capability) -> Result<(), (String, Problem)> {
    said(Some(&it.name)).map_err(about("name"))?;
    said(it.description.as_ref()).map_err(about("description"))?;
    said(it.vendor_term.as_ref()).map_err(about("vendorTerm"))?;
    let unknown = it.available == Availability::Unknown;
    if unknown != (it.status == Status::Unknown) {
        return Err(about("status")(Problem::StatusAndAvailability));
    }
    if !unknown && it.description.is_none() {
        return Err(about("description")(Problem::NoDescription));
    }
    if !unknown && it.sources.is_empty() {
        return Err(about("sources")(Problem::NoSource));
    }
    if let Some(notes) = &it.implementation_notes {
        said(notes.setup.as_ref()).map_err(about("implementationNotes.setup"))?;
        said(notes.config_file.as_ref()).map_err(about("implementationNotes.configFile"))?;
        reachable(notes.start_url.as_ref()).map_err(about("implementationNotes.startUrl"))?;
        for (at, gotcha) in notes.gotchas.iter().enumerate() {
            said(Some(gotcha)).map_err(|it| (format!("implementationNotes.gotchas[{at}]"), it))?;
        }
    }
    for (at, source) in it.sources.iter().enumerate() {
        check_source(source)
            .map_err(|(field, problem)| (format!("sources[{at}].{field}"), problem))?;
    }
    Ok(())
}

fn about(field: &'static str) -> impl Fn(Problem) -> (String, Problem) {
    move |problem| (field.to_owned(), problem)
}

fn check_source(source: &Source) -> Result<(), (&'static str, Problem)> {
    reachable(Some(&source.url)).map_err(|problem| ("url", problem))?;
    said(Some(&source.description)).map_err(|problem| ("description", problem))?;
    let quoted = source.excerpt.as_ref().map(|text| text.chars().count());
    match (source.granularity, quoted) {
        (Granularity::Excerpt, Some(50..=300)) => Ok(()),
        (Granularity::Excerpt, _) | (_, Some(_)) => Err(("excerpt", Problem::Excerpt)),
        (_, None) => Ok(()),
    }
}

/// What is written at all has something in it.
fn said(text: Option<&String>) -> Result<(), Problem> {
    if text.is_some_and(|text| text.trim().is_empty()) {
        Err(Problem::Empty)
    } else {
        Ok(())
    }
}

fn reachable(url: Option<&url::Url>) -> Result<(), Problem> {
    let web = url.is_none_or(|url| matches!(url.scheme(), "http" | "https"));
    if web { Ok(()) } else { Err(Problem::Address) }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}
