//! Mends a value until its schema accepts it, keeping what was right.
//!
//! A misspelt name gets its value moved to the right one, `"3"` becomes 3, a number outside its
//! limits goes to the limit. What cannot be mended is left out; if it is required, the least that
//! the schema wants takes its place.

use std::time::{Duration, Instant};

use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

use super::compile::Compiled;
use super::graph::unescape;
use super::meaning::{Reading, meaning};
use super::skeleton::skeleton;
use super::violation::{LocatedError, cheapest, each, show};
use crate::near::near;

/// Each round mends what the one before brought to light, such as what is inside a new member.
const MAX_ROUNDS: usize = 10;
/// A value larger than this is not mended: what is shown of it would say little.
const MAX_BYTES: usize = 64 * 1024;
/// Of a value with more mistakes than this little was right.
const MAX_FIXES: usize = 50;
/// A schema that takes longer to check is not worth an example.
const MAX_TIME: Duration = Duration::from_millis(250);

/// A value that the schema accepts and that differs from the given one only where that did not
/// fit, if one is found.
pub(super) fn repaired(compiled: &Compiled, mut value: Value) -> Option<Value> {
    let started = Instant::now();
    for _ in 0..MAX_ROUNDS {
        let bytes = value.to_string().len();
        if bytes > MAX_BYTES || started.elapsed() > MAX_TIME {
            return None;
        }
        let mut fixes = Vec::new();
        each(compiled, &value, bytes, &mut |about, kind| {
            if fixes.len() <= MAX_FIXES {
                fix(compiled, about, kind, &mut fixes);
            }
        });
        if fixes.len() > MAX_FIXES {
            return None;
        }
        if fixes.is_empty() {
            return Some(value);
        }
        apply(&mut value, fixes);
    }
    None
}

/// One change, at a JSON pointer.
enum Fix {
    Put { path: String, value: Value },
    Move { from: String, to: String },
    LeaveOut { path: String },
}

fn fix(compiled: &Compiled, about: &LocatedError<'_>, kind: &Kind, fixes: &mut Vec<Fix>) {
    let put = |value: Value| Fix::Put {
        path: about.path.clone(),
        value,
    };
    match kind {
        Kind::Required { property } => {
            fixes.extend(property.as_str().map(|name| supply(compiled, about, name)));
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            fixes.extend(
                unexpected
                    .iter()
                    .take(MAX_FIXES + 1)
                    .map(|name| rename(about, name)),
            );
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            match (reading(about.value, kind), cheapest(&about.path, context)) {
                (Some(value), _) => fixes.push(put(value)),
                // Of forms that are as near as each other, the first will do.
                (None, Some(branch)) => branch.iter().for_each(|error| {
                    show(compiled, error, &mut |about, kind| {
                        fix(compiled, about, kind, fixes);
                    });
                }),
                (None, None) => fixes.push(give_up(compiled, about)),
            }
        }
        Kind::MinItems { limit } => fixes.push(put(filled(compiled, about, *limit))),
        Kind::MinProperties { .. } => fixes.push(one_more(compiled, about)),
        Kind::MaxItems { limit } => {
            let most = usize::try_from(*limit).unwrap_or(usize::MAX);
            fixes.push(put(about
                .value
                .as_array()
                .into_iter()
                .flatten()
                .take(most)
                .cloned()
                .collect()));
        }
        Kind::UniqueItems => fixes.push(put(distinct(about.value))),
        Kind::Minimum { limit } | Kind::Maximum { limit } => fixes.push(put(limit.clone())),
        kind => {
            fixes.push(reading(about.value, kind).map_or_else(|| give_up(compiled, about), put));
        }
    }
}

/// A missing member: what was sent under a similar name, or the least that is wanted.
fn supply(compiled: &Compiled, about: &LocatedError<'_>, name: &str) -> Fix {
    if let Some(sent) = about.sent_for(name) {
        return Fix::Move {
            from: about.below(sent),
            to: about.below(name),
        };
    }
    // Forms often say what is required and leave it to the schema around them what that is.
    let outer = || {
        compiled
            .schema
            .get("properties")?
            .get(name)
            .filter(|_| about.path.is_empty())
    };
    let schema = about.property(name).or_else(outer);
    let value = schema.map_or_else(|| json!("…"), |schema| skeleton(&compiled.schema, schema));
    Fix::Put {
        path: about.below(name),
        value,
    }
}

/// A name that does not exist: the one it was meant to be, if that is still free.
fn rename(about: &LocatedError<'_>, name: &str) -> Fix {
    let known = about.known();
    let free = known
        .into_iter()
        .filter(|known| about.value.get(known).is_none());
    match near(name, free).first() {
        Some(meant) => Fix::Move {
            from: about.below(name),
            to: about.below(meant),
        },
        None => Fix::LeaveOut {
            path: about.below(name),
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

/// The listed text that is most like the given one.
fn alike<'a>(value: &Value, kind: &'a Kind) -> Option<&'a str> {
    let Kind::Enum { options } = kind else {
        return None;
    };
    let text = value.as_str()?;
    let options = || {
        options
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    let same = options().find(|option| option.eq_ignore_ascii_case(text));
    same.or_else(|| near(text, options()).first().copied())
}

/// The value goes; only the whole has nothing it could be left out of.
fn give_up(compiled: &Compiled, about: &LocatedError<'_>) -> Fix {
    match about.path.is_empty() {
        true => Fix::Put {
            path: String::new(),
            value: skeleton(&compiled.schema, &compiled.schema),
        },
        false => Fix::LeaveOut {
            path: about.path.clone(),
        },
    }
}

/// A list with as many items as it must have.
fn filled(compiled: &Compiled, about: &LocatedError<'_>, least: u64) -> Value {
    const MOST: u64 = 10;
    let mut items = about.value.as_array().cloned().unwrap_or_default();
    let schema = about.part.and_then(|part| part.get("items"));
    while (items.len() as u64) < least.min(MOST) {
        items.push(schema.map_or_else(|| json!("…"), |schema| skeleton(&compiled.schema, schema)));
    }
    items.into()
}

/// An object that needs more members gets the first it does not have.
fn one_more(compiled: &Compiled, about: &LocatedError<'_>) -> Fix {
    let free = about
        .known()
        .into_iter()
        .find(|name| about.value.get(name).is_none());
    let name = free.unwrap_or("…");
    let value = about
        .property(name)
        .map_or_else(|| json!("…"), |schema| skeleton(&compiled.schema, schema));
    Fix::Put {
        path: about.below(name),
        value,
    }
}

fn distinct(value: &Value) -> Value {
    let mut kept: Vec<&Value> = Vec::new();
    for item in value.as_array().into_iter().flatten() {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept.into_iter().cloned().collect()
}

fn apply(value: &mut Value, fixes: Vec<Fix>) {
    let mut left_out = Vec::new();
    for fix in fixes {
        match fix {
            Fix::Put { path, value: new } => put(value, &path, new),
            Fix::Move { from, to } => {
                // Both the name that is missing and the one that does not exist ask for this.
                if value.pointer(&to).is_none()
                    && let Some(moved) = remove(value, &from)
                {
                    put(value, &to, moved);
                }
            }
            Fix::LeaveOut { path } => left_out.push(path),
        }
    }
    // From the end, so that the places of earlier items of a list stay right.
    left_out.dedup();
    for path in left_out.iter().rev() {
        remove(value, path);
    }
}

fn put(value: &mut Value, path: &str, new: Value) {
    if let Some(slot) = value.pointer_mut(path) {
        *slot = new;
        return;
    }
    let Some((parent, name)) = path.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(members)) = value.pointer_mut(parent) {
        members.insert(unescape(name), new);
    }
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, name) = path.rsplit_once('/')?;
    match value.pointer_mut(parent)? {
        // The order of the others stays.
        Value::Object(members) => Map::shift_remove(members, &unescape(name)),
        Value::Array(items) => {
            let at: usize = name.parse().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}
