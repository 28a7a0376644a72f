//! Repairs a value until its schema accepts it, keeping its valid parts.
//!
//! The value of a wrong name moves to the name that was meant, `"3"` becomes 3, a number outside
//! its limits goes to the limit. A value that cannot be repaired is replaced by the minimum that
//! the schema requires; if that is invalid too, it is dropped.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Value, json};

use super::compile::Compiled;
use super::fix::{Fix, apply};
use super::meaning::{Reading, find_reading};
use super::meant::{MeantName, meant_names};
use super::mistake::{LocatedMistake, cheapest_form, each, visit_error};
use super::skeleton::skeleton;
use kitbag_domain::near_names;

/// Each round repairs the mistakes that the previous one revealed, such as those inside a new
/// member.
const MAX_ROUNDS: usize = 10;
/// A larger value is not repaired: the visible part of it would say little.
const MAX_BYTES: usize = 64 * 1024;
/// A value with more mistakes than this has little that is valid.
const MAX_FIXES: usize = 50;
/// A schema that takes longer to check is not worth an example.
const MAX_TIME: Duration = Duration::from_millis(250);
/// A list in an example is filled with at most this many items, whatever its schema requires.
const MAX_FILLED: u64 = 10;

/// Returns a valid value that differs from the given one only in its invalid parts, if one is
/// found.
pub(super) fn repair_value(compiled: &Compiled, mut value: Value) -> Option<Value> {
    let started = Instant::now();
    let mut tried = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let bytes = value.to_string().len();
        if bytes > MAX_BYTES || started.elapsed() > MAX_TIME {
            return None;
        }
        let fixes = FixFinder::find_fixes(compiled, &value, bytes, &mut tried)?;
        if fixes.is_empty() {
            return Some(value);
        }
        apply(&mut value, fixes);
    }
    None
}

/// Finds the changes that a value needs.
struct FixFinder<'a> {
    compiled: &'a Compiled,
    fixes: Vec<Fix>,
    /// The paths that were filled with the minimum that the schema requires.
    tried: &'a mut HashSet<String>,
}

impl<'a> FixFinder<'a> {
    /// Returns a fix for each mistake in a value; `None` if there are too many.
    fn find_fixes(
        compiled: &'a Compiled,
        value: &Value,
        bytes: usize,
        tried: &'a mut HashSet<String>,
    ) -> Option<Vec<Fix>> {
        let mut mender = Self {
            compiled,
            fixes: Vec::new(),
            tried,
        };
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
                self.fixes.extend(self.fix_unknown_names(mistake));
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let names = unexpected.iter().take(MAX_FIXES + 1);
                let meant = meant_names(mistake, &self.compiled.schema);
                self.fixes
                    .extend(names.map(|name| rename(mistake, &meant, name)));
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.fix_form(mistake, kind, context);
            }
            Kind::MinProperties { .. } => self.fixes.push(self.add_missing_member(mistake)),
            kind => {
                let fix = match self.repair_mistake(mistake, kind) {
                    Some(value) => put(mistake, value),
                    None => self.give_up(mistake),
                };
                self.fixes.push(fix);
            }
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
        // Of equally close forms, the first will do.
        let Some(form) = cheapest_form(&mistake.path, forms) else {
            let fix = self.give_up(mistake);
            return self.fixes.push(fix);
        };
        for error in form {
            visit_error(self.compiled, error, &mut |mistake, kind| {
                self.fix(mistake, kind);
            });
        }
    }

    /// Returns the replacement for the wrong value.
    fn repair_mistake(&self, mistake: &LocatedMistake<'_>, kind: &Kind) -> Option<Value> {
        match kind {
            Kind::MinItems { limit } => Some(self.fill_items(mistake, *limit)),
            Kind::MaxItems { limit } => Some(first_items(mistake.value, *limit)),
            Kind::UniqueItems => Some(distinct_items(mistake.value)),
            Kind::Minimum { limit } | Kind::Maximum { limit } => Some(limit.clone()),
            kind => reading(mistake.value, kind),
        }
    }

    /// Supplies a missing member: the value sent under a similar name, or the minimum that the
    /// schema requires.
    fn supply(&self, mistake: &LocatedMistake<'_>, name: &str) -> Fix {
        match mistake.sent_for(&self.compiled.schema, name) {
            Some(sent) => Fix::Move {
                from: mistake.member_path(sent),
                to: mistake.member_path(name),
            },
            None => Fix::Put {
                path: mistake.member_path(name),
                value: self.minimum(mistake.property(name)),
            },
        }
    }

    /// Renames or drops the names that the schema does not list, if something that it requires is
    /// missing: even if the schema is open, they are probably mistakes.
    fn fix_unknown_names(&self, mistake: &LocatedMistake<'_>) -> Vec<Fix> {
        let says_of_others = ["additionalProperties", "patternProperties"]
            .iter()
            .any(|key| mistake.part.is_some_and(|part| part.get(*key).is_some()));
        if says_of_others || !mistake.knows_all_names {
            return Vec::new();
        }
        let meant = meant_names(mistake, &self.compiled.schema);
        let known = mistake.known_names();
        let sent = mistake.value.as_object().into_iter().flatten();
        let strange = sent.filter(|(name, _)| !known.contains(&name.as_str()));
        strange
            .map(|(name, _)| rename(mistake, &meant, name))
            .collect()
    }

    /// Gives an object that needs more members the first one that it does not have.
    fn add_missing_member(&self, mistake: &LocatedMistake<'_>) -> Fix {
        let known = mistake.known_names().into_iter();
        let mut free = known.filter(|name| mistake.value.get(name).is_none());
        let name = free.next().unwrap_or("…");
        Fix::Put {
            path: mistake.member_path(name),
            value: self.minimum(mistake.property(name)),
        }
    }

    /// Returns a list with the required number of items.
    fn fill_items(&self, mistake: &LocatedMistake<'_>, least: u64) -> Value {
        let mut items = mistake.value.as_array().cloned().unwrap_or_default();
        let schema = mistake.part.and_then(|part| part.get("items"));
        while (items.len() as u64) < least.min(MAX_FILLED) {
            items.push(self.minimum(schema));
        }
        items.into()
    }

    /// Returns the minimum that a part of the schema requires.
    fn minimum(&self, part: Option<&Value>) -> Value {
        part.map_or_else(|| json!("…"), |part| skeleton(&self.compiled.schema, part))
    }

    /// Replaces a member by the minimum that the schema requires, to show the expected form. Drops
    /// items of lists, and values for which that is invalid, too.
    fn give_up(&mut self, mistake: &LocatedMistake<'_>) -> Fix {
        let is_outermost = mistake.path.is_empty();
        if is_outermost || !is_item(&mistake.path) && self.tried.insert(mistake.path.clone()) {
            let part = mistake.part.filter(|_| !is_outermost);
            return put(mistake, self.minimum(part.or(Some(&self.compiled.schema))));
        }
        Fix::Remove {
            path: mistake.path.clone(),
        }
    }
}

fn is_item(path: &str) -> bool {
    let last = path.rsplit('/').next();
    last.is_some_and(|step| step.parse::<usize>().is_ok())
}

fn put(mistake: &LocatedMistake<'_>, value: Value) -> Fix {
    Fix::Put {
        path: mistake.path.clone(),
        value,
    }
}

/// Moves the value of an unknown name to the name that was meant.
fn rename(mistake: &LocatedMistake<'_>, pairs: &[MeantName<'_>], name: &str) -> Fix {
    match pairs.iter().find(|pair| pair.sent == name) {
        Some(pair) => Fix::Move {
            from: mistake.member_path(name),
            to: mistake.member_path(pair.meant),
        },
        None => Fix::Remove {
            path: mistake.member_path(name),
        },
    }
}

/// Returns the probable meaning of a value of another type. An example may guess where a call may
/// not.
fn reading(value: &Value, kind: &Kind) -> Option<Value> {
    if let Some(option) = most_similar(value, kind) {
        return Some(json!(option));
    }
    match find_reading(value, kind)? {
        Reading::As(raw) => serde_json::from_str(raw.get()).ok(),
        Reading::AsOnlyItem => Some(json!([value])),
    }
}

/// Returns the listed text that is most like the given one.
fn most_similar<'a>(value: &Value, kind: &'a Kind) -> Option<&'a str> {
    let Kind::Enum { options } = kind else {
        return None;
    };
    let text = value.as_str()?;
    let options = options.as_array().into_iter().flatten();
    let options: Vec<_> = options.filter_map(Value::as_str).collect();
    let mut same = options.iter().filter(|it| it.eq_ignore_ascii_case(text));
    let same = same.next().copied();
    same.or_else(|| near_names(text, options.iter().copied()).first().copied())
}

fn first_items(list: &Value, most: u64) -> Value {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let items = list.as_array().into_iter().flatten();
    items.take(most).cloned().collect()
}

fn distinct_items(list: &Value) -> Value {
    let mut kept: Vec<&Value> = Vec::new();
    for item in list.as_array().into_iter().flatten() {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept.into_iter().cloned().collect()
}
