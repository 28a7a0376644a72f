//! One level of a JSON object, in order, with every value as its original text.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// JSON text that is known to be valid and is forwarded unchanged.
pub type Raw = Box<RawValue>;

/// Writes a value as raw JSON.
///
/// # Panics
/// Only for values that JSON cannot express, such as a map with non-string keys;
/// everything this workspace passes is a plain struct or a `serde_json::Value`.
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Raw {
    serde_json::value::to_raw_value(value).expect("the value is expressible as JSON")
}

/// An object whose members keep their order and their exact text.
///
/// Lookup is a linear scan: MCP objects have a handful of members per level, and for so few a scan
/// is faster than hashing.
#[derive(Clone, Default)]
pub struct RawObject {
    members: Vec<(String, Raw)>,
}

impl RawObject {
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens raw JSON as an object; anything else is an error.
    pub fn open(json: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json.get())
    }

    /// Opens optional raw JSON, where an absent object counts as an empty one.
    pub fn open_or_empty(json: Option<&RawValue>) -> Result<Self, serde_json::Error> {
        json.map_or_else(|| Ok(Self::new()), Self::open)
    }

    /// Finds one member without opening the whole object. If a name repeats, the last member wins;
    /// anything but an object has no members.
    pub fn peek_member<'a>(json: &'a RawValue, key: &str) -> Option<&'a RawValue> {
        let mut reader = serde_json::Deserializer::from_str(json.get());
        reader.deserialize_map(Member(key)).ok().flatten()
    }

    pub fn get(&self, key: &str) -> Option<&RawValue> {
        self.members
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| &**value)
    }

    /// Reads one member into a type. Absent, `null` and ill-typed members are all `None`.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.get(key)
            .and_then(|value| serde_json::from_str(value.get()).ok())
    }

    /// Opens a member that is itself an object.
    pub fn get_object(&self, key: &str) -> Option<Self> {
        self.get(key).and_then(|value| Self::open(value).ok())
    }

    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Replaces a member in place, or appends it.
    pub fn set(&mut self, key: &str, value: Raw) {
        match self.members.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = value,
            None => self.members.push((key.to_owned(), value)),
        }
    }

    /// Like [`set`](Self::set), for any value that can be written as JSON.
    pub fn put<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.set(key, raw(value));
    }

    pub fn with<T: Serialize + ?Sized>(mut self, key: &str, value: &T) -> Self {
        self.put(key, value);
        self
    }

    pub fn remove(&mut self, key: &str) -> Option<Raw> {
        let at = self.members.iter().position(|(name, _)| name == key)?;
        Some(self.members.remove(at).1)
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.members
            .iter()
            .map(|(name, value)| (name.as_str(), &**value))
    }

    pub fn to_raw(&self) -> Raw {
        raw(self)
    }
}

impl FromIterator<(String, Raw)> for RawObject {
    fn from_iter<I: IntoIterator<Item = (String, Raw)>>(members: I) -> Self {
        Self {
            members: members.into_iter().collect(),
        }
    }
}

impl IntoIterator for RawObject {
    type Item = (String, Raw);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

impl fmt::Debug for RawObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|(name, value)| (name, value.get())))
            .finish()
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

/// Reads all members.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = RawObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
        let mut members = Vec::with_capacity(USUAL_MEMBERS);
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(RawObject {
            members: drop_repeated_members(members),
        })
    }
}

/// Initial capacity; params and results seldom have more members.
const USUAL_MEMBERS: usize = 8;

/// Looks for one member and skips all others.
struct Member<'k>(&'k str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(IsKey(self.0))? {
            if is_it {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Compares the name of a member with the one looked for, without keeping it.
struct IsKey<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// Drops all but the last of members with the same name. Parsers disagree about such members: if
/// the gateway decided by the first and the server acted on the last, a name could slip past the
/// rules. As in most parsers, the last one counts, and only that one is forwarded.
fn drop_repeated_members(members: Vec<(String, Raw)>) -> Vec<(String, Raw)> {
    if !has_repeats(&members) {
        return members;
    }
    let mut seen = HashSet::new();
    let mut kept: Vec<_> = members
        .into_iter()
        .rev()
        .filter(|(name, _)| seen.insert(name.clone()))
        .collect();
    kept.reverse();
    kept
}

fn has_repeats(members: &[(String, Raw)]) -> bool {
    // Up to about this many members, pairwise comparison is faster than hashing.
    const FEW: usize = 16;
    if members.len() <= FEW {
        return (1..members.len())
            .any(|at| members[..at].iter().any(|(name, _)| *name == members[at].0));
    }
    let mut seen = HashSet::with_capacity(members.len());
    !members.iter().all(|(name, _)| seen.insert(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn members_that_are_not_touched_keep_their_exact_text() {
        let text =
            r#"{"z":1.00,"a":12345678901234567890123,"n":{"y" : 1e2,"x":null},"z2":"\u00e9"}"#;
        assert_eq!(object(text).to_raw().get(), text);
    }

    #[test]
    fn a_member_is_replaced_in_place() {
        let mut object = object(r#"{"a":1,"b":2,"c":3}"#);
        object.put("b", "two");
        object.remove("a");
        object.put("d", &4);
        assert_eq!(object.to_raw().get(), r#"{"b":"two","c":3,"d":4}"#);
    }

    #[test]
    fn of_repeated_members_only_the_last_counts() {
        let it = object(r#"{"name":"allowed","a":1,"name":"denied","b":2}"#);
        assert_eq!(it.read::<String>("name").as_deref(), Some("denied"));
        assert_eq!(it.to_raw().get(), r#"{"a":1,"name":"denied","b":2}"#);
    }

    #[test]
    fn a_peek_finds_the_member_that_opening_finds() {
        for text in [
            r#"{"a":{"b":1},"b":[2],"b" : null,"a/b":3}"#,
            r#"{"a\/b":"x"}"#,
            "{}",
            "[1]",
            "7",
        ] {
            for key in ["a", "b", "a/b", "c"] {
                check_peek(text, key);
            }
        }
    }

    #[track_caller]
    fn check_peek(text: &str, key: &str) {
        let json: Raw = serde_json::from_str(text).unwrap();
        let opened = RawObject::open(&json).unwrap_or_default();
        assert_eq!(
            RawObject::peek_member(&json, key).map(RawValue::get),
            opened.get(key).map(RawValue::get),
            "{key} in {text}"
        );
    }

    #[test]
    fn reading_an_ill_typed_member_is_like_not_having_it() {
        let it = object(r#"{"name":7}"#);
        assert_eq!(it.read::<String>("name"), None);
        assert!(it.contains("name"));
    }
}
