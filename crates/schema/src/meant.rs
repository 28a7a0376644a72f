//! Finds the parameter that an unknown name meant.

use serde_json::Value;

use super::mistake::LocatedMistake;
use super::pointer::target;
use kitbag_domain::near_names;

/// Comparing names takes time proportional to the product of their numbers, and a caller chooses
/// how many it sends.
const MAX_NAMES: usize = 64;
/// Nested references and forms to follow to the type of a parameter.
const MAX_LEVELS: usize = 8;

/// A name that was sent, and the parameter that it meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeantName<'a> {
    pub(super) sent: &'a str,
    pub(super) meant: &'a str,
}

/// Pairs the unknown names in an object with the parameters they meant: first by the letters, then
/// by the words in the names (`path` for `repo_path`), then by the type, if the value matches only
/// one missing parameter and no other value matches that.
pub(super) fn meant_names<'a>(mistake: &LocatedMistake<'a>, root: &Value) -> Vec<MeantName<'a>> {
    let Some(sent) = mistake.value.as_object() else {
        return Vec::new();
    };
    let known = mistake.known_names();
    let unknown = sent
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()));
    let free = known
        .iter()
        .copied()
        .filter(|name| !sent.contains_key(*name));
    let required: Vec<&str> = mistake.required_names().collect();
    let (missing, optional): (Vec<&str>, Vec<&str>) =
        free.partition(|name| required.contains(name));
    let mut names = Pairing {
        mistake,
        root,
        unknown: unknown
            .map(|(name, value)| (name.as_str(), value))
            .take(MAX_NAMES)
            .collect(),
        missing: missing.into_iter().take(MAX_NAMES).collect(),
        optional: optional.into_iter().take(MAX_NAMES).collect(),
        pairs: Vec::new(),
    };
    names.pair_by(|names, sent, _| names.nearest_name(sent));
    if mistake.knows_all_names {
        names.pair_by(Pairing::with_the_same_words);
        names.pair_by(Pairing::only_match_by_type);
    }
    names.pairs
}

/// The unpaired names, and the pairs found so far.
struct Pairing<'m, 'a, 'r> {
    mistake: &'m LocatedMistake<'a>,
    root: &'r Value,
    unknown: Vec<(&'a str, &'a Value)>,
    missing: Vec<&'a str>,
    optional: Vec<&'a str>,
    pairs: Vec<MeantName<'a>>,
}

impl<'a> Pairing<'_, 'a, '_> {
    fn pair_by(&mut self, find: impl Fn(&Self, &str, &Value) -> Option<&'a str>) {
        for (sent, value) in self.unknown.clone() {
            if let Some(meant) = find(self, sent, value) {
                self.unknown.retain(|(name, _)| *name != sent);
                self.missing.retain(|name| *name != meant);
                self.optional.retain(|name| *name != meant);
                self.pairs.push(MeantName { sent, meant });
            }
        }
    }

    fn nearest_name(&self, sent: &str) -> Option<&'a str> {
        let found = |names: &[&'a str]| near_names(sent, names.iter().copied()).first().copied();
        found(&self.missing).or_else(|| found(&self.optional))
    }

    fn with_the_same_words(&self, sent: &str, value: &Value) -> Option<&'a str> {
        let sent = words(sent);
        let is_meant = |name: &&&'a str| share_words(&sent, &words(name)) && self.fits(name, value);
        let found = |names: &[&'a str]| only_item(names.iter().filter(is_meant)).copied();
        found(&self.missing).or_else(|| found(&self.optional))
    }

    fn only_match_by_type(&self, sent: &str, value: &Value) -> Option<&'a str> {
        let meant = only_item(self.missing.iter().filter(|name| self.fits(name, value)))?;
        let (rival, _) = only_item(
            self.unknown
                .iter()
                .filter(|(_, value)| self.fits(meant, value)),
        )?;
        (*rival == sent).then_some(*meant)
    }

    fn fits(&self, name: &str, value: &Value) -> bool {
        let part = self.mistake.property(name);
        part.is_none_or(|part| may_be(self.root, part, value, MAX_LEVELS))
    }
}

fn only_item<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

/// True if a value has a type that a part of the schema allows. Limits are ignored.
fn may_be(root: &Value, part: &Value, value: &Value, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else {
        return true;
    };
    let reference = part.get("$ref").and_then(Value::as_str);
    let referred = reference.and_then(|it| root.pointer(&target(root, it)?));
    if let Some(referred) = referred {
        return may_be(root, referred, value, levels);
    }
    if let Some(options) = part.get("enum").and_then(Value::as_array) {
        return options.contains(value);
    }
    let forms = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| part.get(*key)?.as_array());
    if let Some(forms) = forms {
        return forms.iter().any(|form| may_be(root, form, value, levels));
    }
    match part.get("type") {
        Some(Value::String(kind)) => is_of_type(value, kind),
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.any(|kind| is_of_type(value, kind))
        }
        _ => true,
    }
}

fn is_of_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// True if one name contains all words in the other.
fn share_words(one: &[String], other: &[String]) -> bool {
    let (few, many) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    !few.is_empty() && few.iter().all(|word| many.contains(word))
}

/// Returns the words in a name, in lower case: `repo` and `path` of `repo_path` and `repoPath`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || letter.is_uppercase() && was_lower;
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_name_is_split_into_the_words_a_reader_sees() {
        for name in ["repo_path", "repoPath", "Repo-Path", "_repo__path"] {
            assert_eq!(words(name), ["repo", "path"], "{name}");
        }
        assert_eq!(words("__"), [""; 0]);
    }
}
