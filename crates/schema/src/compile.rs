//! Compiles the text of a schema into a validator, within limits.

use std::fmt;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Value, json};

use super::graph::Graph;

/// Compiling a larger schema would delay a call too long.
const MAX_BYTES: usize = 1024 * 1024;
/// The memory limit of one compiled pattern.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;
/// A pattern that backtracks more often on one text would delay the call.
const MAX_BACKTRACKS: usize = 100_000;

pub(super) struct Compiled {
    pub(super) validator: Validator,
    /// The schema, without the parts that cannot be checked.
    pub(super) schema: Value,
    /// A value nested deeper than this could occupy the validator for too long.
    pub(super) deepest: usize,
}

impl Compiled {
    /// True if the schema accepts a value, or the value is nested too deeply to be checked.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        depth(value) > self.deepest || self.validator.is_valid(value)
    }
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
    remove_unknown_dialect(&mut schema);
    let graph = Graph::new(&schema).map_err(Unusable::Graph)?;
    for pointer in graph.dangling_references() {
        if let Some(part) = schema.pointer_mut(pointer) {
            *part = json!({});
        }
    }
    let deepest = graph.max_depth().map_err(Unusable::Graph)?;
    Ok(Compiled {
        validator: build(&schema)?,
        schema,
        deepest,
    })
}

/// Builds the validator. Many schemas do not name their dialect and use an older one, so older ones
/// are tried as well.
pub(super) fn build(schema: &Value) -> Result<Validator, Unusable> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACKS)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES);
    // Formats are interpreted differently by different validators, so they are left to the server.
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(patterns);
    let first = match options.build(schema) {
        Ok(validator) => return Ok(validator),
        Err(error) => Unusable::Invalid(error.masked().to_string()),
    };
    if schema.get("$schema").is_some() {
        return Err(first);
    }
    let older = [Draft::Draft7, Draft::Draft4].into_iter();
    let mut built = older.filter_map(|draft| options.clone().with_draft(draft).build(schema).ok());
    built.next().ok_or(first)
}

/// Removes the name of a dialect that would have to be fetched.
fn remove_unknown_dialect(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut()
        && let Some(uri) = object.get("$schema")
        && !uri.as_str().is_some_and(is_known_dialect)
    {
        object.remove("$schema");
    }
}

fn is_known_dialect(uri: &str) -> bool {
    let name = uri.split_once("://").map_or(uri, |(_, name)| name);
    name.starts_with("json-schema.org/draft")
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("deepest", &self.deepest)
            .finish_non_exhaustive()
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
