//! The skills of servers where servers are merged: their URIs are marked with their server.
//!
//! A client knows one server, the gateway, while servers choose the URIs and names of their skills
//! freely. The mark keeps skills of two servers apart, and routes a skill's files to the server of
//! the skill.

use std::collections::HashSet;
use std::sync::Arc;

use kitbag_domain::{Capability, Kind, ServerName};
use kitbag_relevance::terms::split_terms;
use kitbag_relevance::{Document, Index, IndexedTool, nearest_by_words};
use kitbag_wire::{Raw, RawObject};

use crate::catalog::catalog_entry::CatalogEntry;
use crate::catalog::resources::{ORIGIN_SERVER, mark_uri, parse_marked_uri};

/// A skill as its server lists it.
pub(crate) struct Skill {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The server's own URIs of the skill's files; empty for a skill that is generated when read.
    pub(crate) files: Vec<String>,
}

impl Skill {
    pub(crate) fn from_entry(entry: &CatalogEntry) -> Self {
        let definition = RawObject::open(&entry.definition).unwrap_or_default();
        let frontmatter = definition.get_object("frontmatter").unwrap_or_default();
        Self {
            name: frontmatter.read("name").unwrap_or_default(),
            description: frontmatter.read("description").unwrap_or_default(),
            files: listed_files(&entry.definition),
        }
    }
}

/// Returns the URIs of the files of a skill.
pub(crate) fn listed_files(definition: &Raw) -> Vec<String> {
    let definition = RawObject::open(definition).unwrap_or_default();
    let files: Vec<Raw> = definition.read("resources").unwrap_or_default();
    let files = files.iter().filter_map(|file| RawObject::open(file).ok());
    files.filter_map(|file| file.read("uri")).collect()
}

/// Returns a skill in the form for clients of merged servers.
pub(crate) fn skill_for_client(entry: &CatalogEntry) -> Raw {
    let mut skill = RawObject::open(&entry.definition).unwrap_or_default();
    mark_skill(&mut skill, &entry.capability.server);
    skill.to_raw()
}

/// Marks the URIs in a server's answer about a skill or a directory, if the request used a marked
/// URI.
pub(crate) fn mark_uris_in_answer(result: Raw, requested_uri: &str) -> Raw {
    let (Some((server, _)), Ok(mut object)) =
        (parse_marked_uri(requested_uri), RawObject::open(&result))
    else {
        return result;
    };
    if let Some(mut skill) = object.get_object("skill") {
        mark_skill(&mut skill, &server);
        object.put("skill", &skill);
    }
    mark_resources(&mut object, &server);
    object.to_raw()
}

fn mark_skill(skill: &mut RawObject, server: &ServerName) {
    mark_uri_member(skill, server);
    mark_resources(skill, server);
    let meta = skill.get_object("_meta").unwrap_or_default();
    skill.put("_meta", &meta.with(ORIGIN_SERVER, server.as_str()));
}

fn mark_resources(object: &mut RawObject, server: &ServerName) {
    let Some(resources) = object.read::<Vec<Raw>>("resources") else {
        return;
    };
    let marked = resources.into_iter().map(|resource| {
        let Ok(mut open) = RawObject::open(&resource) else {
            return resource;
        };
        mark_uri_member(&mut open, server);
        open.to_raw()
    });
    object.put("resources", &marked.collect::<Vec<_>>());
}

fn mark_uri_member(object: &mut RawObject, server: &ServerName) {
    if let Some(uri) = object.read::<String>("uri") {
        let owner = Capability {
            server: server.clone(),
            kind: Kind::Resource,
            name: uri,
        };
        object.put("uri", &mark_uri(&owner));
    }
}

/// Full-text search of skills.
#[derive(Debug, Default)]
pub(crate) struct SkillIndex(Index);

impl SkillIndex {
    pub(crate) fn new(skills: &[Arc<CatalogEntry>]) -> Self {
        Self(Index::build(
            skills.iter().map(|it| skill_document(it)).collect(),
        ))
    }

    /// Returns the positions of the admitted skills that contain at least half of the query's
    /// words, best first.
    pub(crate) fn find(&self, text: &str, admitted: impl Fn(usize) -> bool) -> Vec<usize> {
        let query_terms: HashSet<String> = split_terms(text).into_iter().collect();
        let has_half = |at: &usize| {
            let skill = &self.0.documents()[*at];
            let own =
                split_terms(&format!("{} {}", skill.name, skill.entry.description)).into_iter();
            let shared: HashSet<String> = own.filter(|word| query_terms.contains(word)).collect();
            2 * shared.len() >= query_terms.len()
        };
        let nearest = nearest_by_words(&self.0, text, admitted).into_iter();
        nearest.filter(has_half).collect()
    }
}

fn skill_document(entry: &CatalogEntry) -> Document {
    let Skill {
        name, description, ..
    } = Skill::from_entry(entry);
    Document {
        entry: Arc::new(IndexedTool {
            tool_name: entry.exposed.clone(),
            server: entry.capability.server.to_string(),
            description,
            ..IndexedTool::default()
        }),
        name,
        parameters: Vec::new(),
        twin: None,
        vector: None,
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_request_with_a_marked_uri_gets_marked_uris() {
        let answer = raw(&json!({
            "skill": { "uri": "skill://a/SKILL.md", "x": 1.50, "resources": [{ "uri": "skill://a/b", "size": 2 }] },
            "ttlMs": 5,
        }));
        let unasked = mark_uris_in_answer(answer.clone(), "skill://a/SKILL.md");
        assert_eq!(unasked.get(), answer.get());
        let marked = mark_uris_in_answer(answer, "kitbag://server/docs/skill://a/SKILL.md");
        let expected = json!({
            "skill": {
                "uri": "kitbag://server/docs/skill://a/SKILL.md",
                "x": 1.50,
                "resources": [{ "uri": "kitbag://server/docs/skill://a/b", "size": 2 }],
                "_meta": { "io.kitbag/server": "docs" },
            },
            "ttlMs": 5,
        });
        assert_eq!(
            serde_json::from_str::<Value>(marked.get()).unwrap(),
            expected
        );
        let dynamic = raw(&json!({ "skill": { "uri": "x:y", "resources": "dynamic" } }));
        let marked = mark_uris_in_answer(dynamic, "kitbag://server/docs/x:y");
        assert!(
            marked.get().contains(r#""resources":"dynamic""#),
            "{marked}"
        );
    }
}
