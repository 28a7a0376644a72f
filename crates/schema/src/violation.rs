//! Finds what is wrong with a value, from what the validator says.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

use super::compile::Compiled;
use super::excerpt::{brief, piece, sort_of};
use super::graph::escape;
use crate::near::near;

/// A model would not read more mistakes than these.
const MAX_VIOLATIONS: usize = 5;
/// Of a value larger than this only the first mistake is looked for: the validator gathers all
/// there are before it tells the first.
const MAX_THOROUGH: usize = 256 * 1024;

/// One mistake: where, what, and the piece of schema it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// A JSON pointer into the value; empty for the value itself.
    pub(crate) path: String,
    pub(crate) wrong: ViolationKind,
    pub(crate) schema: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ViolationKind {
    /// `sent` is what was given under a name so similar that it was probably meant.
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

/// Returns what is wrong with a value, in the words a model reads.
pub(super) fn find(compiled: &Compiled, value: &Value, bytes: usize) -> Vec<Violation> {
    let mut found = Vec::new();
    each(compiled, value, bytes, &mut |about, kind| {
        if found.len() < MAX_VIOLATIONS {
            about.told(kind, &mut found);
        }
    });
    found.dedup();
    found.truncate(MAX_VIOLATIONS);
    found
}

/// Shows every mistake in a value to `visit`; of several forms, the mistakes in the one that was
/// meant.
pub(super) fn each(
    compiled: &Compiled,
    value: &Value,
    bytes: usize,
    visit: &mut dyn FnMut(&LocatedError<'_>, &Kind),
) {
    if depth(value) > compiled.deepest || compiled.validator.is_valid(value) {
        return;
    }
    if bytes > MAX_THOROUGH {
        let first = compiled.validator.validate(value).err();
        first.iter().for_each(|error| show(compiled, error, visit));
    } else {
        compiled
            .validator
            .iter_errors(value)
            .for_each(|error| show(compiled, &error, visit));
    }
}

/// Shows one error, or those inside the form that was meant.
pub(super) fn show(
    compiled: &Compiled,
    error: &ValidationError<'_>,
    visit: &mut dyn FnMut(&LocatedError<'_>, &Kind),
) {
    let about = LocatedError::new(compiled, error);
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match nearest(&about.path, context) {
                Some(branch) => branch.iter().for_each(|error| show(compiled, error, visit)),
                None => visit(&about, error.kind()),
            }
        }
        // A check that could not be completed is not the caller's mistake.
        Kind::BacktrackLimitExceeded { .. }
        | Kind::RegexEngineFailure { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Format { .. }
        | Kind::Custom { .. }
        | Kind::Referencing(_) => {}
        Kind::Type { .. } | Kind::Enum { .. } if about.nullable() => {}
        kind => visit(&about, kind),
    }
}

/// The form the value was probably meant to have: the only one that it fits in kind, or the one
/// with the fewest mistakes.
fn nearest<'a>(
    here: &str,
    branches: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a [ValidationError<'static>]> {
    let costs: Vec<_> = branches.iter().map(|branch| cost(here, branch)).collect();
    let least = costs
        .iter()
        .copied()
        .min()
        .filter(|cost| *cost < ANOTHER_SORT)?;
    let mut best = branches
        .iter()
        .zip(&costs)
        .filter(|(_, cost)| **cost == least);
    match (best.next(), best.next()) {
        (Some((branch, _)), None) => Some(branch),
        _ => None,
    }
}

/// The first of the forms with the fewest mistakes, if there is one of the value's own sort.
pub(super) fn cheapest<'a>(
    here: &str,
    branches: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a [ValidationError<'static>]> {
    let best = branches.iter().min_by_key(|branch| cost(here, branch))?;
    (cost(here, best) < ANOTHER_SORT).then_some(best)
}

const ANOTHER_SORT: usize = 1000;
const ANOTHER_FORM: usize = 100;

/// Returns the distance of a value at this place from a form with these mistakes.
fn cost(here: &str, branch: &[ValidationError<'static>]) -> usize {
    let weigh = |error: &ValidationError<'static>| match error.kind() {
        Kind::Type { .. } if error.instance_path().as_str() == here => ANOTHER_SORT,
        Kind::Constant { .. } | Kind::Enum { .. } => ANOTHER_FORM,
        _ => 1,
    };
    branch.iter().map(weigh).sum()
}

/// An error, with the part of the schema it came from.
pub(super) struct LocatedError<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
    pub(super) part: Option<&'a Value>,
}

impl<'a> LocatedError<'a> {
    fn new(compiled: &'a Compiled, error: &'a ValidationError<'_>) -> Self {
        let keyword = error.schema_path().as_str();
        let part = keyword.rsplit_once('/').map_or("", |(part, _)| part);
        Self {
            path: error.instance_path().as_str().to_owned(),
            value: error.instance().as_ref(),
            part: compiled.schema.pointer(part),
        }
    }

    /// The mistake in words; several names that do not exist are as many mistakes.
    fn told(&self, kind: &Kind, found: &mut Vec<Violation>) {
        match kind {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                found.push(self.unfit(format!("one of {} forms", context.len())));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                found.extend(
                    unexpected
                        .iter()
                        .take(MAX_VIOLATIONS)
                        .map(|name| self.unknown(name)),
                );
            }
            Kind::Required { property } => {
                found.extend(property.as_str().map(|name| self.missing(name)));
            }
            kind => found.push(self.unfit(expected(kind))),
        }
    }

    fn unfit(&self, expected: String) -> Violation {
        let wrong = ViolationKind::Unfit {
            expected,
            got: brief(self.value),
        };
        Violation {
            path: self.path.clone(),
            wrong,
            schema: self.part.map(piece).unwrap_or_default(),
        }
    }

    fn missing(&self, name: &str) -> Violation {
        let part = self.property(name);
        let sent = self.sent_for(name).map(str::to_owned);
        let expected = part.and_then(|part| part.get("type")).and_then(type_names);
        let wrong = ViolationKind::Missing {
            expected: expected.unwrap_or_else(|| "a value".to_owned()),
            sent,
        };
        Violation {
            path: self.below(name),
            wrong,
            schema: part.map(piece).unwrap_or_default(),
        }
    }

    fn unknown(&self, name: &str) -> Violation {
        let known = self.known();
        let near = near(name, known.iter().copied())
            .into_iter()
            .map(str::to_owned)
            .collect();
        let known = known.into_iter().map(str::to_owned).collect();
        Violation {
            path: self.below(name),
            wrong: ViolationKind::Unknown { near, known },
            schema: String::new(),
        }
    }

    /// OpenAPI's way to permit null, which JSON Schema does not know.
    fn nullable(&self) -> bool {
        self.value.is_null()
            && self.part.and_then(|part| part.get("nullable")) == Some(&Value::Bool(true))
    }

    /// Returns the part of the schema for the member of this name.
    pub(super) fn property(&self, name: &str) -> Option<&'a Value> {
        self.part?.get("properties")?.get(name)
    }

    /// The name under which the caller probably sent what is missing.
    pub(super) fn sent_for(&self, name: &str) -> Option<&'a str> {
        let sent = self
            .value
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str());
        let known = self.known();
        near(name, sent.filter(|name| !known.contains(name)))
            .first()
            .copied()
    }

    pub(super) fn known(&self) -> Vec<&'a str> {
        let properties = self
            .part
            .and_then(|part| part.get("properties")?.as_object());
        properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect()
    }

    pub(super) fn below(&self, name: &str) -> String {
        format!("{}/{}", self.path, escape(name))
    }
}

fn expected(kind: &Kind) -> String {
    match kind {
        Kind::Type {
            kind: TypeKind::Single(single),
        } => sort_of(&single.to_string()),
        Kind::Type {
            kind: TypeKind::Multiple(several),
        } => {
            let sorts: Vec<_> = several
                .iter()
                .map(|one| sort_of(&one.to_string()))
                .collect();
            sorts.join(" or ")
        }
        Kind::Enum { options } => match options.as_array().map(Vec::as_slice) {
            Some(options) => format!("one of {}", listed(options)),
            None => "one of the values listed".to_owned(),
        },
        Kind::Constant { expected_value } => expected_value.to_string(),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} members"),
        Kind::MaxProperties { limit } => format!("at most {limit} members"),
        Kind::Pattern { pattern } => format!("text that matches {pattern}"),
        Kind::UniqueItems => "items that differ from each other".to_owned(),
        Kind::Contains => "an item that fits `contains`".to_owned(),
        Kind::PropertyNames { .. } => "names that fit `propertyNames`".to_owned(),
        Kind::OneOfMultipleValid { .. } => "exactly one of the forms, not several".to_owned(),
        Kind::Not { .. } => "anything that does not fit `not`".to_owned(),
        Kind::FalseSchema | Kind::UnevaluatedItems { .. } => "nothing here".to_owned(),
        _ => "a value that fits the schema".to_owned(),
    }
}

fn type_names(types: &Value) -> Option<String> {
    match types {
        Value::String(one) => Some(sort_of(one)),
        Value::Array(several) => {
            let sorts: Vec<_> = several
                .iter()
                .filter_map(Value::as_str)
                .map(sort_of)
                .collect();
            Some(sorts.join(" or "))
        }
        _ => None,
    }
}

fn listed(options: &[Value]) -> String {
    const MOST: usize = 20;
    let shown: Vec<_> = options.iter().take(MOST).map(Value::to_string).collect();
    let more = options.len().saturating_sub(MOST);
    if more > 0 {
        format!("{} and {more} more", shown.join(", "))
    } else {
        shown.join(", ")
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
