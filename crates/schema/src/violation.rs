//! Describes the mistakes in a value for a model.

use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::compile::Compiled;
use super::excerpt::{brief, schema_excerpt};
use super::expected::{describe_expected, type_names};
use super::meant::meant_names;
use super::mistake::{LocatedMistake, each};
use kitbag_domain::near_names;

/// A model would not read more mistakes than these.
const MAX_VIOLATIONS: usize = 5;

/// One mistake: its path, its kind, and the part of the schema that it violates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// A JSON pointer into the value; empty for the value itself.
    pub(crate) path: String,
    pub(crate) wrong: ViolationKind,
    pub(crate) schema: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViolationKind {
    /// `sent` is a name so similar to the missing one that the model probably meant it.
    Missing {
        expected: String,
        sent: Option<String>,
    },
    Unknown {
        near: Vec<String>,
        known: Vec<String>,
    },
    Unfit {
        expected: String,
        got: String,
    },
}

/// Returns the first mistakes in a value. `shown` is the value without its secrets.
pub(super) fn find(
    compiled: &Compiled,
    value: &Value,
    shown: &Value,
    bytes: usize,
) -> Vec<Violation> {
    let mut found = Vec::new();
    let root = &compiled.schema;
    each(compiled, value, bytes, &mut |mistake, kind| {
        if found.len() < MAX_VIOLATIONS {
            mistake.describe_mistake(kind, root, shown, &mut found);
        }
    });
    found.dedup();
    found.truncate(MAX_VIOLATIONS);
    found
}

impl LocatedMistake<'_> {
    /// Describes the mistake; several unknown names are separate mistakes.
    fn describe_mistake(
        &self,
        kind: &Kind,
        root: &Value,
        shown: &Value,
        found: &mut Vec<Violation>,
    ) {
        match kind {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                found.push(self.unexpected_value(format!("one of {} forms", context.len()), shown));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let names = unexpected.iter().take(MAX_VIOLATIONS);
                found.extend(names.map(|name| self.unknown_member(root, name)));
            }
            Kind::Required { property } => {
                found.extend(
                    property
                        .as_str()
                        .map(|name| self.missing_member(root, name)),
                );
            }
            kind => found.push(self.unexpected_value(describe_expected(kind), shown)),
        }
    }

    fn unexpected_value(&self, expected: String, shown: &Value) -> Violation {
        let wrong = ViolationKind::Unfit {
            expected,
            got: shown.pointer(&self.path).map_or_else(String::new, brief),
        };
        Violation {
            path: self.path.clone(),
            wrong,
            schema: self.part.map(schema_excerpt).unwrap_or_default(),
        }
    }

    fn missing_member(&self, root: &Value, name: &str) -> Violation {
        let part = self.property(name);
        let sent = self.sent_for(root, name).map(str::to_owned);
        let expected = part.and_then(|part| part.get("type")).and_then(type_names);
        let wrong = ViolationKind::Missing {
            expected: expected.unwrap_or_else(|| "a value".to_owned()),
            sent,
        };
        Violation {
            path: self.member_path(name),
            wrong,
            schema: part.map(schema_excerpt).unwrap_or_default(),
        }
    }

    fn unknown_member(&self, root: &Value, name: &str) -> Violation {
        let known = self.known_names();
        let pairs = meant_names(self, root);
        let meant = pairs.iter().find(|pair| pair.sent == name);
        let near = match meant {
            Some(pair) => vec![pair.meant],
            None => near_names(name, known.iter().copied()),
        };
        let wrong = ViolationKind::Unknown {
            near: near.into_iter().map(str::to_owned).collect(),
            known: known.into_iter().map(str::to_owned).collect(),
        };
        Violation {
            path: self.member_path(name),
            wrong,
            schema: String::new(),
        }
    }
}
