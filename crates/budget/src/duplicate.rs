//! Detects results that say the same twice: as text and as `structuredContent`.

use kitbag_wire::RawObject;
use serde_json::value::RawValue;

/// True if the texts contain everything in the structured content. Servers write it as JSON into
/// one text. A value that is not an object is wrapped in an object with one member: then the text
/// is that member, or there is one text per element.
pub(crate) fn text_repeats_structured(texts: &[&str], structured: &RawValue) -> bool {
    if let [text] = texts
        && is_same_json(text, structured.get())
    {
        return true;
    }
    let Ok(object) = RawObject::open(structured) else {
        return false;
    };
    let mut members = object.iter();
    match (members.next(), members.next()) {
        (Some((_, only)), None) => text_repeats_value(texts, only),
        _ => false,
    }
}

/// True if the only text is this value, or if there is one text per element of it.
fn text_repeats_value(texts: &[&str], value: &RawValue) -> bool {
    if let [text] = texts
        && text_equals_value(text, value)
    {
        return true;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
    !elements.is_empty()
        && elements.len() == texts.len()
        && texts
            .iter()
            .zip(elements)
            .all(|(text, element)| text_equals_value(text, element))
}

/// True if a text is this value as JSON, or the content of this string.
fn text_equals_value(text: &str, value: &RawValue) -> bool {
    is_same_json(text, value.get())
        || parse_string(value.get()).is_some_and(|string| string == text)
}

/// Equal except for white space between tokens and the spelling of strings and numbers. Members
/// must have the same order, as they do when one program wrote both.
fn is_same_json(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (JsonTokens(one), JsonTokens(other));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || is_same_scalar(a, b) => {}
            _ => return false,
        }
    }
}

fn is_same_scalar(a: &str, b: &str) -> bool {
    if a.starts_with('"') {
        return parse_string(a)
            .is_some_and(|string| parse_string(b).is_some_and(|other| string == other));
    }
    // `1.0` is 1. But two whole numbers that are spelt differently may differ in digits that a
    // float does not have.
    if is_whole(a) && is_whole(b) {
        return false;
    }
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn is_whole(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
}

fn parse_string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// The tokens of a JSON text. Other text has tokens too, but they equal the tokens of no JSON text.
struct JsonTokens<'a>(&'a str);

impl<'a> Iterator for JsonTokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_start();
        let bytes = self.0.as_bytes();
        let length = match bytes.first()? {
            b'"' => string_length(bytes),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => 1,
            _ => self
                .0
                .find([',', ':', ']', '}', ' ', '\n', '\r', '\t'])
                .unwrap_or(bytes.len())
                .max(1),
        };
        let (token, rest) = self.0.split_at(self.0.ceil_char_boundary(length));
        self.0 = rest;
        Some(token)
    }
}

/// Returns the length of the string that begins here, with its quotation marks.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], structured: &str, expected: bool) {
        let structured: Box<RawValue> = serde_json::from_str(structured).unwrap();
        assert_eq!(
            text_repeats_structured(texts, &structured),
            expected,
            "{texts:?} and {structured}"
        );
    }

    #[test]
    fn a_text_that_repeats_the_structured_content_is_recognized() {
        check(&[r#"{"a": [1, "x"]}"#], r#"{"a":[1,"x"]}"#, true);
        check(&["{\n  \"a\": \"\\u00e9\"\n}"], r#"{"a":"é"}"#, true);
        check(&[r#"{"a":1.0}"#], r#"{"a":1}"#, true);
        check(&["[1,2]"], r#"{"result":[1,2]}"#, true);
        check(&["plain"], r#"{"result":"plain"}"#, true);
        check(
            &["1", r#"{"b":2}"#, "c"],
            r#"{"result":[1,{"b":2},"c"]}"#,
            true,
        );
        check(&["3 rows found"], r#"{"rows":[1,2,3]}"#, false);
        check(&[r#"{"a":1}"#], r#"{"a":2}"#, false);
        check(
            &["[12345678901234567891]"],
            r#"{"result":[12345678901234567890]}"#,
            false,
        );
        check(&[r#"{"a":1}"#, "more"], r#"{"a":1}"#, false);
        check(&[r#"{"a":1"#], r#"{"a":1}"#, false);
        check(&[], r#"{"a":1}"#, false);
        check(&[], r#"{}"#, false);
        check(&["éé"], r#"{"result":"éé "}"#, false);
    }
}
