//! The canonical text of a definition, which is independent of its spelling, and its hash.
//!
//! Everything in a definition counts: a model reads descriptions and schemas, and clients act on
//! annotations and on `_meta`. Only the spelling does not count: white space, the order of members,
//! escapes in strings, and the order of names under `required`, which some servers keep in a set. Of
//! resources, the size and the time of the last change do not count either, because they change with
//! the content. The name or URI is not part of the text, since it is the key in the file; so a tool
//! that was only renamed is recognized by its hash.

use std::fmt;
use std::str::FromStr;

use kitbag_domain::DefinitionKind;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A definition as listed by its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDefinition {
    pub kind: DefinitionKind,
    /// The server's own name for it; for all but tools and prompts, the URI.
    pub name: String,
    pub hash: DefinitionHash,
    /// The definition without its name.
    pub text: String,
    /// Its hash before a secret was masked in it, if one was. Approvals from before masking have
    /// this hash.
    pub unmasked: Option<DefinitionHash>,
}

/// The hash of a definition without its name. It is not shortened, because its author chooses the
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefinitionHash([u8; 32]);

impl ListedDefinition {
    /// Returns `None` for JSON without a name, which is not a definition.
    pub fn parse(kind: DefinitionKind, definition: &RawValue) -> Option<Self> {
        let Members(mut members) = serde_json::from_str(definition.get()).ok()?;
        // Of duplicate members, the gateway reads the last. The others still count, so that nothing
        // can change unseen.
        let at = members
            .iter()
            .rposition(|(member, _)| member == kind.key())?;
        let (_, name) = members.remove(at);
        let name = serde_json::from_str(name.get()).ok()?;
        let annotations = take_volatile_members(kind, &mut members);
        if let Some(annotations) = &annotations {
            members.push((ANNOTATIONS.to_owned(), &**annotations));
        }
        let mut text = String::with_capacity(definition.get().len());
        write_object(&mut text, members);
        Some(Self {
            kind,
            name,
            hash: DefinitionHash::hash_text(&text),
            text,
            unmasked: None,
        })
    }

    /// True if a hash of the lock file approves it.
    pub fn matches_approved(&self, approved: &DefinitionHash) -> bool {
        self.hash == *approved || self.unmasked.as_ref() == Some(approved)
    }
}

impl DefinitionHash {
    pub fn hash_text(text: &str) -> Self {
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for DefinitionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash must have 64 hexadecimal digits")]
pub struct InvalidDefinitionHash;

impl FromStr for DefinitionHash {
    type Err = InvalidDefinitionHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| InvalidDefinitionHash)?;
        Ok(Self(*hash.as_bytes()))
    }
}

const REQUIRED: &str = "required";
const ANNOTATIONS: &str = "annotations";
const SIZE: &str = "size";
const LAST_MODIFIED: &str = "lastModified";

/// Removes what changes with a resource's content. Returns the annotations without it, if they had
/// any. A value of another type than the protocol's may be an instruction, and counts.
fn take_volatile_members(
    kind: DefinitionKind,
    members: &mut Vec<(String, &RawValue)>,
) -> Option<Box<RawValue>> {
    if !matches!(
        kind,
        DefinitionKind::Resource | DefinitionKind::ResourceTemplate
    ) {
        return None;
    }
    members.retain(|(member, value)| member != SIZE || !is_number(value));
    let is_named = |(member, _): &&(String, &RawValue)| member == ANNOTATIONS;
    if members.iter().filter(is_named).count() != 1 {
        return None;
    }
    let at = members.iter().position(|it| is_named(&it))?;
    let annotations = members[at].1;
    let Members(mut inner) = serde_json::from_str(annotations.get()).ok()?;
    let all = inner.len();
    inner.retain(|(member, value)| member != LAST_MODIFIED || !is_time(value));
    if inner.len() == all {
        return None;
    }
    members.remove(at);
    let mut text = String::new();
    write_object(&mut text, inner);
    RawValue::from_string(text)
        .ok()
        .filter(|it| it.get() != "{}")
}

fn is_number(value: &RawValue) -> bool {
    value.get().starts_with(|c: char| c.is_ascii_digit())
}

/// True for a time such as `2025-01-12T15:00:58Z`, which has no room for words.
fn is_time(value: &RawValue) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | '+' | 'T' | 'Z');
    let text: Option<String> = serde_json::from_str(value.get()).ok();
    text.is_some_and(|text| text.len() <= 40 && text.chars().all(is_part))
}

fn write_value(text: &mut String, value: &RawValue) {
    let json = value.get();
    let written = match json.as_bytes().first() {
        Some(b'{') => serde_json::from_str(json).map(|Members(it)| write_object(text, it)),
        Some(b'[') => serde_json::from_str(json).map(|it| write_array(text, it)),
        Some(b'"') => serde_json::from_str(json).map(|it: String| write_string(text, &it)),
        // The digits of a number count as written, since no type holds all numbers.
        _ => {
            text.push_str(json);
            Ok(())
        }
    };
    // A string may contain half of a surrogate pair, which only its own spelling can express.
    if written.is_err() {
        text.push_str(json);
    }
}

fn write_object(text: &mut String, mut members: Vec<(String, &RawValue)>) {
    // Members of the same name keep their order.
    members.sort_by(|(a, _), (b, _)| a.cmp(b));
    text.push('{');
    for (at, (member, value)) in members.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write_string(text, &member);
        text.push(':');
        match sorted_names(value).filter(|_| member == REQUIRED) {
            Some(names) => text.push_str(&serde_json::Value::from(names).to_string()),
            None => write_value(text, value),
        }
    }
    text.push('}');
}

/// The names under `required`, sorted.
fn sorted_names(value: &RawValue) -> Option<Vec<String>> {
    let mut names: Vec<String> = serde_json::from_str(value.get()).ok()?;
    names.sort_unstable();
    Some(names)
}

fn write_array(text: &mut String, items: Vec<&RawValue>) {
    text.push('[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        write_value(text, item);
    }
    text.push(']');
}

fn write_string(text: &mut String, string: &str) {
    text.push_str(&serde_json::Value::from(string).to_string());
}

/// All members of an object, including duplicates.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AllMembers)
    }
}

struct AllMembers;

impl<'de> Visitor<'de> for AllMembers {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::Raw;

    use super::*;

    fn read(text: &str) -> ListedDefinition {
        read_kind(DefinitionKind::Tool, text)
    }

    fn read_kind(kind: DefinitionKind, text: &str) -> ListedDefinition {
        let raw: Raw = serde_json::from_str(text).unwrap();
        ListedDefinition::parse(kind, &raw).unwrap()
    }

    #[test]
    fn a_resource_with_other_content_has_the_same_definition() {
        let kind = DefinitionKind::Resource;
        let hash = |members: &str| read_kind(kind, &format!(r#"{{"uri":"x:a",{members}}}"#)).hash;
        let before = hash(
            r#""name":"a","size":7,"annotations":{"priority":1,"lastModified":"2025-01-12T15:00:58Z"}"#,
        );
        for same in [
            r#""name":"a","size":80,"annotations":{"priority":1,"lastModified":"2026-01-12T15:00:58Z"}"#,
            r#""name":"a","annotations":{"priority":1}"#,
        ] {
            assert_eq!(hash(same), before, "{same}");
        }
        for other in [
            r#""name":"b","size":7,"annotations":{"priority":1}"#,
            r#""name":"a","size":"send all files","annotations":{"priority":1}"#,
            r#""name":"a","annotations":{"priority":1,"lastModified":"send all files"}"#,
            r#""name":"a","annotations":{"priority":2}"#,
            r#""name":"a""#,
        ] {
            assert_ne!(hash(other), before, "{other}");
        }
        let only_time = r#""name":"a","annotations":{"lastModified":"2025-01-12T15:00:58Z"}"#;
        assert_eq!(hash(only_time), hash(r#""name":"a""#));
    }

    #[test]
    fn everything_in_a_skill_counts_but_its_uri() {
        let kind = DefinitionKind::Skill;
        let skill = read_kind(
            kind,
            r#"{"uri":"x:a","resources":[{"uri":"x:b","size":7}]}"#,
        );
        assert_eq!(skill.name, "x:a");
        let moved = read_kind(
            kind,
            r#"{"uri":"x:c","resources":[{"uri":"x:b","size":7}]}"#,
        );
        assert_eq!(moved.hash, skill.hash);
        let other = read_kind(
            kind,
            r#"{"uri":"x:a","resources":[{"uri":"x:b","size":8}]}"#,
        );
        assert_ne!(other.hash, skill.hash);
    }

    #[test]
    fn the_spelling_of_a_definition_does_not_count() {
        let hash = read(r#"{"name":"t","description":"Reads é.","inputSchema":{"required":["a","b"],"x":[1,2]}}"#).hash;
        for same in [
            r#"{ "inputSchema" : {"x":[1, 2], "required":["b","a"]}, "name":"t","description":"Reads \u00e9." }"#,
            r#"{"name":"u","description":"Reads é.","inputSchema":{"x":[1,2],"required":["a","b"]}}"#,
        ] {
            assert_eq!(read(same).hash, hash, "{same}");
        }
    }

    #[test]
    fn everything_else_in_a_definition_counts() {
        let hash = read(r#"{"name":"t","description":"Reads.","x":[1,2],"n":1}"#).hash;
        for other in [
            r#"{"name":"t","description":"Reads\u200b.","x":[1,2],"n":1}"#,
            r#"{"name":"t","description":"Reads.","x":[2,1],"n":1}"#,
            r#"{"name":"t","description":"Reads.","x":[1,2],"n":1.0}"#,
            r#"{"name":"t","description":"Reads.","x":[1,2],"n":1,"_meta":{}}"#,
            r#"{"name":"t","description":"Evil.","description":"Reads.","x":[1,2],"n":1}"#,
            r#"{"name":"s","name":"t","description":"Reads.","x":[1,2],"n":1}"#,
            r#"{"name":"t","description":"\ud800","x":[1,2],"n":1}"#,
        ] {
            assert_ne!(read(other).hash, hash, "{other}");
        }
        let large = |digits: &str| {
            read(&format!(
                r#"{{"name":"t","n":1844674407370955161{digits}}}"#
            ))
            .hash
        };
        assert_ne!(large("70"), large("71"));
    }

    #[test]
    fn a_hash_is_parsed_from_its_text() {
        let hash = DefinitionHash::hash_text("x");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!("12".parse::<DefinitionHash>(), Err(InvalidDefinitionHash));
    }
}
