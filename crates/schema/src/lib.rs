//! Checks if arguments fit a tool's schema, and if results fit the schema that the tool promised.
//!
//! Servers that the operator does not control write the schemas. A schema that cannot be
//! understood, in whole or in part, never prevents a call: what cannot be checked here is left to
//! the server.
//!
//! # Layout
//! - this file: the checks, with every schema compiled once
//! - `compile`: from a schema's text to something that checks, within limits
//! - `graph`: how the parts of a schema hang together, and what checking could cost
//! - `violation`: what is wrong with a value, found from what the validator says
//! - `excerpt`: pieces of schemas and values, short enough to be read
//! - `explain`: the text a model reads
//! - `example`: what would have been accepted, made with `repair` from what was sent and with
//!   `skeleton` from the schema alone
//! - `near`: names like a mistyped one
//! - `meaning`: what a value of the wrong sort can only have meant; `taken`: arguments read so

#[cfg(test)]
mod anything;
mod compile;
mod example;
mod excerpt;
mod explain;
mod graph;
mod meaning;
#[cfg(test)]
mod mutations;
mod near;
mod repair;
mod skeleton;
mod taken;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_wire::RawObject;
use serde_json::Value;
use serde_json::value::RawValue;

pub use explain::Misfit;
pub use near::near;
pub use taken::Taken;
#[cfg(test)]
pub(crate) use violation::{Violation, ViolationKind};

use compile::{Compiled, Unusable, compile};

use kitbag_domain::sync::lock;

/// More schemas than any operator has tools in use; past that, a new schema takes the place of
/// another.
const MAX_SCHEMAS: usize = 4096;

#[derive(Debug, Default)]
pub struct Checker {
    compiled: Mutex<HashMap<blake3::Hash, Arc<Slot>>>,
}

/// Empty while the first who needs it compiles; nothing inside if the schema cannot be used.
type Slot = OnceLock<Option<Compiled>>;

impl Checker {
    /// Returns a [`Misfit`] if the arguments of a call do not fit the tool's `inputSchema`.
    pub fn check_arguments(
        &self,
        definition: &RawValue,
        arguments: &RawValue,
    ) -> Result<(), Misfit> {
        let Some((slot, value)) = self.readable(definition, "inputSchema", arguments) else {
            return Ok(());
        };
        let Some(Some(compiled)) = slot.get() else {
            return Ok(());
        };
        let violations = violation::find(compiled, &value, arguments.get().len());
        if violations.is_empty() {
            return Ok(());
        }
        Err(Misfit {
            violations,
            example: example::example(compiled, value),
        })
    }

    /// Returns a [`Misfit`] if the `structuredContent` of a result does not fit the tool's
    /// `outputSchema`.
    pub fn check_output(&self, definition: &RawValue, structured: &RawValue) -> Result<(), Misfit> {
        let Some((slot, value)) = self.readable(definition, "outputSchema", structured) else {
            return Ok(());
        };
        let Some(Some(compiled)) = slot.get() else {
            return Ok(());
        };
        let violations = violation::find(compiled, &value, structured.get().len());
        if violations.is_empty() {
            Ok(())
        } else {
            Err(Misfit {
                violations,
                example: None,
            })
        }
    }

    /// The arguments as they were meant, where they do not fit as they are and can only have been
    /// meant in one way that does.
    pub fn taken(&self, definition: &RawValue, arguments: &RawValue) -> Option<Taken> {
        let (slot, value) = self.readable(definition, "inputSchema", arguments)?;
        taken::taken(slot.get()?.as_ref()?, arguments, value)
    }

    /// The compiled schema and the value that is held against it, where both can be read.
    fn readable(
        &self,
        definition: &RawValue,
        which: &str,
        value: &RawValue,
    ) -> Option<(Arc<Slot>, Value)> {
        let schema = RawObject::peek(definition, which)?;
        let slot = self.slot(schema);
        slot.get_or_init(|| {
            let tool = || RawObject::peek(definition, "name").map_or("", RawValue::get);
            let told =
                |reason: &Unusable| tracing::warn!(tool = tool(), %reason, "a tool's {which} is not checked");
            compile(schema.get()).inspect_err(told).ok()
        });
        // A number too large for us may be fine for the server.
        let value = serde_json::from_str(value.get()).ok()?;
        Some((slot, value))
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
