//! Checks whether arguments match a tool's schema, and whether results match the schema that the
//! tool declared.
//!
//! The schemas come from servers that the operator does not control. A schema that cannot be
//! understood, in whole or in part, never prevents a call: the parts that cannot be checked here
//! are left to the server.
//!
//! # Layout
//! - this file: the checks, with every schema compiled once
//! - `compile`: compiles the text of a schema, within limits; `graph`: the references between the
//!   parts of a schema, and the steps that a check could take
//! - `fits`: the check against schemas that must themselves be valid, such as those in tool files
//! - `declaration`: the signature of a tool in TypeScript, or in one line; `usage`: the sentences
//!   that explain how to fill arguments
//! - `mistake`: the mistakes that the validator finds; `violation`: a mistake in words; `expected`:
//!   the expected value in words
//! - `excerpt`: excerpts of schemas and values, short enough to be read
//! - `explain`: the text that a model reads
//! - `example`: a value that would have been accepted, made with `repair` and `fix` from the value
//!   that was sent, and with `skeleton` from the schema only
//! - `definition_override`: a definition with the operator's changes
//! - `pointer`: JSON pointers
//! - `meant`: the parameter that a wrong name meant
//! - `meaning`: the only possible meaning of a value of the wrong type; `reread`: arguments reread
//!   with such meanings

#[cfg(test)]
mod anything;
mod compile;
mod declaration;
mod definition_override;
mod example;
mod excerpt;
mod expected;
mod explain;
mod fits;
mod fix;
mod graph;
mod meaning;
mod meant;
mod mistake;
#[cfg(test)]
mod mutations;
mod pointer;
mod repair;
mod reread;
mod skeleton;
#[cfg(test)]
mod tests;
mod usage;
mod violation;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use kitbag_wire::RawObject;
use serde_json::Value;
use serde_json::value::RawValue;

pub use declaration::{
    DeclarationSize, LineDetail, declaration, member_call, parameter_type, signature,
};
pub use definition_override::DefinitionOverride;
pub use explain::Misfit;
pub use fits::{fits, schema_fault};
pub use reread::RereadArguments;
#[cfg(test)]
pub(crate) use violation::{Violation, ViolationKind};

use compile::{Compiled, Unusable, compile};

use kitbag_domain::sync::lock;

/// More schemas than any operator uses; beyond that, a new schema evicts another.
const MAX_SCHEMAS: usize = 4096;

#[derive(Debug)]
pub struct Checker {
    compiled: Mutex<HashMap<blake3::Hash, Arc<Slot>>>,
    mask: Mask,
}

/// Returns a value without its secrets.
pub type Mask = fn(Value) -> Value;

impl Default for Checker {
    fn default() -> Self {
        Self::with_mask(|value| value)
    }
}

/// A slot for a compiled schema. It is empty until the first caller has compiled the schema, and
/// holds `None` if the schema cannot be used.
type Slot = OnceLock<Option<Compiled>>;

impl Checker {
    /// Returns a checker that masks the values it shows with `mask`.
    #[must_use]
    pub fn with_mask(mask: Mask) -> Self {
        Self {
            compiled: Mutex::default(),
            mask,
        }
    }

    /// Returns a [`Misfit`] if the arguments of a call do not match the tool's `inputSchema`.
    pub fn check_arguments(
        &self,
        definition: &RawValue,
        arguments: &RawValue,
    ) -> Result<(), Misfit> {
        self.check(definition, "inputSchema", arguments, example::example)
    }

    /// Returns a [`Misfit`] if the `structuredContent` of a result does not match the tool's
    /// `outputSchema`.
    pub fn check_output(&self, definition: &RawValue, structured: &RawValue) -> Result<(), Misfit> {
        self.check(definition, "outputSchema", structured, |_, _, _| None)
    }

    /// Returns the arguments as they were meant, if they are invalid as sent and only one reading of
    /// them is valid.
    pub fn reread_arguments(
        &self,
        definition: &RawValue,
        arguments: &RawValue,
    ) -> Option<RereadArguments> {
        let (slot, value) = self.readable(definition, "inputSchema", arguments)?;
        reread::reread_arguments(slot.get()?.as_ref()?, arguments, value)
    }

    /// Checks a value against a schema. The check passes if one of the two cannot be parsed.
    fn check(
        &self,
        definition: &RawValue,
        which: &str,
        raw: &RawValue,
        example: fn(&Compiled, Value, Mask) -> Option<String>,
    ) -> Result<(), Misfit> {
        let Some((slot, value)) = self.readable(definition, which, raw) else {
            return Ok(());
        };
        let Some(Some(compiled)) = slot.get() else {
            return Ok(());
        };
        if compiled.accepts(&value) {
            return Ok(());
        }
        let shown = (self.mask)(value.clone());
        let violations = violation::find(compiled, &value, &shown, raw.get().len());
        if violations.is_empty() {
            return Ok(());
        }
        let example = example(compiled, value, self.mask);
        Err(Misfit {
            violations,
            example,
        })
    }

    /// Returns the compiled schema and the value to check, if both can be parsed.
    fn readable(
        &self,
        definition: &RawValue,
        which: &str,
        value: &RawValue,
    ) -> Option<(Arc<Slot>, Value)> {
        let schema = RawObject::peek_member(definition, which)?;
        let slot = self.slot(schema);
        slot.get_or_init(|| match compile(schema.get()) {
            Ok(compiled) => Some(compiled),
            Err(reason) => {
                warn_unchecked(definition, which, &reason);
                None
            }
        });
        // A number too large for Kitbag may be fine for the server.
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

fn warn_unchecked(definition: &RawValue, which: &str, reason: &Unusable) {
    let tool = RawObject::peek_member(definition, "name").map_or("", RawValue::get);
    tracing::warn!(tool, %reason, "a tool's {which} is not checked");
}
