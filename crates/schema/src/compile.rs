//! From a schema's text to something that checks, within limits.

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};

use super::graph::Graph;

const MAX_BYTES: usize = 1024 * 1024;
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
const MAX_BACKTRACKS: usize = 100_000;

pub(super) struct Compiled {
    pub(super) validator: Validator,
    /// The schema, with everything left out that could not be checked.
    pub(super) schema: Value,
    /// A value nested deeper than this could keep the validator busy for too long.
    pub(super) deepest: usize,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    #[error("it has more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("{0}")]
    Graph(&'static str),
    #[error("{0}")]
    Invalid(String),
}

pub(super) fn compile(text: &str) -> Result<Compiled, Unusable> {
    if text.len() > MAX_BYTES {
        return Err(Unusable::TooLarge);
    }
    let mut schema: Value = serde_json::from_str(text)?;
    forget_unknown_dialect(&mut schema);
    let graph = Graph::of(&schema).map_err(Unusable::Graph)?;
    for pointer in graph.dangling() {
        if let Some(part) = schema.pointer_mut(pointer) {
            *part = json!({});
        }
    }
    let deepest = graph.deepest().map_err(Unusable::Graph)?;
    Ok(Compiled {
        validator: build(&schema)?,
        schema,
        deepest,
    })
}

/// Many a schema says nothing about its dialect and is written in an older one.
fn build(schema: &Value) -> Result<Validator, Unusable> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    // Formats are checked in different ways by different people, so they are the server's business.
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns);
    let first = match options.build(schema) {
        Ok(validator) => return Ok(validator),
        Err(error) => Unusable::Invalid(error.masked().to_string()),
    };
    let older = [Draft::Draft7, Draft::Draft4]
        .into_iter()
        .filter(|_| schema.get("$schema").is_none());
    older
        .into_iter()
        .find_map(|draft| options.clone().with_draft(draft).build(schema).ok())
        .ok_or(first)
}

/// Only dialects that are known by name can be understood without asking the network.
fn forget_unknown_dialect(schema: &mut Value) {
    let known = |uri: &str| {
        let name = uri.split_once("://").map_or(uri, |(_, name)| name);
        name.starts_with("json-schema.org/draft")
    };
    if let Some(object) = schema.as_object_mut()
        && object
            .get("$schema")
            .is_some_and(|uri| !uri.as_str().is_some_and(known))
    {
        object.remove("$schema");
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("deepest", &self.deepest)
            .finish_non_exhaustive()
    }
}
