//! Mends a value until its schema accepts it, and keeps what was right.
//!
//! A misspelt name gets its value moved to the right one, `"3"` becomes 3, a number outside its
//! limits goes to the limit. A value that cannot be mended is left out; if it is required, the least
//! that the schema requires takes its place.

use std::time::{Duration, Instant};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Value, json};

use super::compile::Compiled;
use super::fix::{Fix, apply};
use super::meaning::{Reading, meaning};
use super::mistake::{LocatedMistake, cheapest, each, show};
use super::skeleton::skeleton;
use crate::near::near;

/// Each round mends what the one before brought to light, such as what is inside a new member.
const MAX_ROUNDS: usize = 10;
/// A value larger than this is not mended: what is shown of it would say little.
const MAX_BYTES: usize = 64 * 1024;
/// Of a value with more mistakes than this little was right.
const MAX_FIXES: usize = 50;
/// A schema that takes longer to check is not worth an example.
const MAX_TIME: Duration = Duration::from_millis(250);
/// A list in an example is filled with no more items than this, whatever its schema requires.
const MAX_FILLED: u64 = 10;

/// Returns a value that the schema accepts and that differs from the given one only where that did
/// not fit, if one is found.
pub(super) fn repaired(compiled: &Compiled, mut value: Value) -> Option<Value> {
    let started = Instant::now();
    for _ in 0..MAX_ROUNDS {
        let bytes = value.to_string().len();
        if bytes > MAX_BYTES || started.elapsed() > MAX_TIME {
            return None;
        }
        let fixes = Mender::mend(compiled, &value, bytes)?;
        if fixes.is_empty() {
            return Some(value);
        }
        apply(&mut value, fixes);
    }
    None
}

/// Finds the changes that a value needs.
struct Mender<'a> {
    compiled: &'a Compiled,
    fixes: Vec<Fix>,
}

impl<'a> Mender<'a> {
    /// Returns a fix for each mistake in a value; `None` if there are too many.
    fn mend(compiled: &'a Compiled, value: &Value, bytes: usize) -> Option<Vec<Fix>> {
        let fixes = Vec::new();
        let mut mender = Self { compiled, fixes };
        each(compiled, value, bytes, &mut |mistake, kind| {
            if mender.fixes.len() <= MAX_FIXES {
                mender.fix(mistake, kind);
            }
        });
        (mender.fixes.len() <= MAX_FIXES).then_some(mender.fixes)
    }

    fn fix(&mut self, mistake: &LocatedMistake<'_>, kind: &Kind) {
        match kind {
            Kind::Required { property } => {
                let name = property.as_str();
                self.fixes
                    .extend(name.map(|name| self.supply(mistake, name)));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let names = unexpected.iter().take(MAX_FIXES + 1);
                self.fixes.extend(names.map(|name| rename(mistake, name)));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.fix_form(mistake, kind, context);
            }
            Kind::MinProperties { .. } => self.fixes.push(self.one_more(mistake)),
            kind => self.fixes.push(match self.mended(mistake, kind) {
                Some(value) => put(mistake, value),
                None => self.give_up(mistake),
            }),
        }
    }

    fn fix_form(
        &mut self,
        mistake: &LocatedMistake<'_>,
        kind: &Kind,
        forms: &[Vec<ValidationError<'static>>],
    ) {
        if let Some(value) = reading(mistake.value, kind) {
            return self.fixes.push(put(mistake, value));
        }
        // Of forms that are as near as each other, the first will do.
        let Some(form) = cheapest(&mistake.path, forms) else {
            return self.fixes.push(self.give_up(mistake));
        };
        for error in form {
            show(self.compiled, error, &mut |mistake, kind| {
                self.fix(mistake, kind);
            });
        }
    }

    /// Returns the value that takes the place of the wrong one.
    fn mended(&self, mistake: &LocatedMistake<'_>, kind: &Kind) -> Option<Value> {
        match kind {
            Kind::MinItems { limit } => Some(self.filled(mistake, *limit)),
            Kind::MaxItems { limit } => Some(first_items(mistake.value, *limit)),
            Kind::UniqueItems => Some(distinct(mistake.value)),
            Kind::Minimum { limit } | Kind::Maximum { limit } => Some(limit.clone()),
            kind => reading(mistake.value, kind),
        }
    }

    /// Supplies a missing member: with the value that was sent under a similar name, or with the
    /// least that the schema requires.
    fn supply(&self, mistake: &LocatedMistake<'_>, name: &str) -> Fix {
        match mistake.sent_for(name) {
            Some(sent) => Fix::Move {
                from: mistake.below(sent),
                to: mistake.below(name),
            },
            None => Fix::Put {
                path: mistake.below(name),
                value: self.least(self.property(mistake, name)),
            },
        }
    }

    /// Returns the part of the schema for a member. Forms often say what is required and leave it to
    /// the schema around them what that is.
    fn property<'b>(&'b self, mistake: &LocatedMistake<'b>, name: &str) -> Option<&'b Value> {
        let own = mistake.property(name);
        let outer = self.compiled.schema.get("properties");
        let is_outermost = mistake.path.is_empty();
        own.or_else(|| outer?.get(name).filter(|_| is_outermost))
    }

    /// Gives an object that needs more members the first that it does not have.
    fn one_more(&self, mistake: &LocatedMistake<'_>) -> Fix {
        let known = mistake.known().into_iter();
        let mut free = known.filter(|name| mistake.value.get(name).is_none());
        let name = free.next().unwrap_or("…");
        Fix::Put {
            path: mistake.below(name),
            value: self.least(mistake.property(name)),
        }
    }

    /// Returns a list with as many items as it must have.
    fn filled(&self, mistake: &LocatedMistake<'_>, least: u64) -> Value {
        let mut items = mistake.value.as_array().cloned().unwrap_or_default();
        let schema = mistake.part.and_then(|part| part.get("items"));
        while (items.len() as u64) < least.min(MAX_FILLED) {
            items.push(self.least(schema));
        }
        items.into()
    }

    /// Returns the least that a part of the schema requires.
    fn least(&self, part: Option<&Value>) -> Value {
        part.map_or_else(|| json!("…"), |part| skeleton(&self.compiled.schema, part))
    }

    /// Leaves the value out. Only the outermost value cannot be left out of another one.
    fn give_up(&self, mistake: &LocatedMistake<'_>) -> Fix {
        match mistake.path.is_empty() {
            true => put(mistake, self.least(Some(&self.compiled.schema))),
            false => Fix::LeaveOut {
                path: mistake.path.clone(),
            },
        }
    }
}

fn put(mistake: &LocatedMistake<'_>, value: Value) -> Fix {
    Fix::Put {
        path: mistake.path.clone(),
        value,
    }
}

/// Moves the value of a name that does not exist to the name that was meant, if that is still free.
fn rename(mistake: &LocatedMistake<'_>, name: &str) -> Fix {
    let known = mistake.known().into_iter();
    let free = known.filter(|known| mistake.value.get(known).is_none());
    match near(name, free).first() {
        Some(meant) => Fix::Move {
            from: mistake.below(name),
            to: mistake.below(meant),
        },
        None => Fix::LeaveOut {
            path: mistake.below(name),
        },
    }
}

/// Returns the probable meaning of a value of another sort. An example may guess where a call may
/// not.
fn reading(value: &Value, kind: &Kind) -> Option<Value> {
    if let Some(option) = alike(value, kind) {
        return Some(json!(option));
    }
    match meaning(value, kind)? {
        Reading::As(raw) => serde_json::from_str(raw.get()).ok(),
        Reading::AsOnlyItem => Some(json!([value])),
    }
}

/// Returns the listed text that is most like the given one.
fn alike<'a>(value: &Value, kind: &'a Kind) -> Option<&'a str> {
    let Kind::Enum { options } = kind else {
        return None;
    };
    let text = value.as_str()?;
    let options = options.as_array().into_iter().flatten();
    let options: Vec<_> = options.filter_map(Value::as_str).collect();
    let mut same = options.iter().filter(|it| it.eq_ignore_ascii_case(text));
    let same = same.next().copied();
    same.or_else(|| near(text, options.iter().copied()).first().copied())
}

fn first_items(list: &Value, most: u64) -> Value {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let items = list.as_array().into_iter().flatten();
    items.take(most).cloned().collect()
}

fn distinct(list: &Value) -> Value {
    let mut kept: Vec<&Value> = Vec::new();
    for item in list.as_array().into_iter().flatten() {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept.into_iter().cloned().collect()
}
