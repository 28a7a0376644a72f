//! Whether arguments fit a tool's schema, and results what it promised.
//!
//! Schemas come from strangers. One that cannot be understood, in whole or in part, never stands
//! in the way of a call: what cannot be checked here is left to the server.
//!
//! # Layout
//! - this file: the checks, with every schema compiled once
//! - `compile`: from a schema's text to something that checks, within limits
//! - `graph`: how the parts of a schema hang together, and what checking could cost
//! - `violation`: what is wrong with a value, found from what the validator says
//! - `excerpt`: pieces of schemas and values, short enough to be read
//! - `explain`: the text a model reads, with an example that would have been right

mod compile;
mod excerpt;
mod explain;
mod graph;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_wire::RawObject;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use explain::Misfit;
#[cfg(test)]
pub(crate) use violation::{Violation, Wrong};

use compile::{Compiled, compile};

use crate::sync::lock;

/// More schemas than anybody has tools in use; past that, a new one takes the place of another.
const MAX_SCHEMAS: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct Checker {
    compiled: Mutex<HashMap<blake3::Hash, Arc<Slot>>>,
}

/// Empty while the first who needs it compiles; nothing inside if the schema cannot be used.
type Slot = OnceLock<Option<Compiled>>;

impl Checker {
    /// Whether the arguments of a call fit the tool's `inputSchema`.
    pub(crate) fn check_arguments(&self, definition: &RawValue, arguments: &RawValue) -> Result<(), Misfit> {
        self.check(definition, "inputSchema", arguments)
    }

    /// Whether the `structuredContent` of a result fits the tool's `outputSchema`.
    pub(crate) fn check_output(&self, definition: &RawValue, structured: &RawValue) -> Result<(), Misfit> {
        self.check(definition, "outputSchema", structured)
    }

    fn check(&self, definition: &RawValue, which: &str, value: &RawValue) -> Result<(), Misfit> {
        let Some(schema) = RawObject::peek(definition, which) else { return Ok(()) };
        let slot = self.slot(schema);
        let compiled = slot.get_or_init(|| {
            let compiled = compile(schema.get());
            let tool = || RawObject::peek(definition, "name").map_or("", RawValue::get);
            compiled
                .inspect_err(
                    |reason| tracing::warn!(tool = tool(), %reason, "a tool's {which} is not checked"),
                )
                .ok()
        });
        let Some(compiled) = compiled else { return Ok(()) };
        // A number too large for us may be fine for the server.
        let Ok(parsed) = serde_json::from_str::<Value>(value.get()) else { return Ok(()) };
        let violations = violation::find(compiled, &parsed, value.get().len());
        if violations.is_empty() { Ok(()) } else { Err(Misfit::new(violations, &compiled.schema, &parsed)) }
    }

    fn slot(&self, schema: &RawValue) -> Arc<Slot> {
        let hash = blake3::hash(schema.get().as_bytes());
        let mut compiled = lock(&self.compiled);
        if let Some(slot) = compiled.get(&hash) {
            return slot.clone();
        }
        if compiled.len() >= MAX_SCHEMAS
            && let Some(other) = compiled.keys().next().copied()
        {
            compiled.remove(&other);
        }
        compiled.entry(hash).or_default().clone()
    }
}
