//! Parses `key=value` words into call arguments.
//!
//! `count=3` is a number, because `3` is JSON; `name=Ann` is a string, because `Ann` is not.
//! `id:='"3"'` forces JSON, and `filter.state=open` sets a field of an object.

use std::collections::BTreeMap;
use std::{fs, io, mem};

use anyhow::Context as _;
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("invalid argument `{word}`: expected key=value")]
    NoValue { word: String },
    #[error("the value of `{key}` is not JSON: {reason}")]
    NotJson { key: String, reason: String },
    #[error("duplicate argument `{key}`")]
    Twice { key: String },
    #[error("cannot set `{key}`: `{outer}` is not an object")]
    NotAnObject { key: String, outer: String },
    #[error("the arguments are not a JSON object: {reason}")]
    NotArguments { reason: String },
}

/// Adds `key=value` words to `base`. A key may override `base`, but may appear only once.
pub fn overlay_words(
    base: Map<String, Value>,
    words: &[String],
) -> Result<Map<String, Value>, ArgumentError> {
    let mut arguments = base;
    let mut seen = Vec::new();
    for word in words {
        let Word {
            key,
            requires_json,
            text,
        } = split_word(word)?;
        let value = if requires_json {
            parse_json(key, text)?
        } else {
            infer_value(text)
        };
        if seen.contains(&key) {
            return Err(ArgumentError::Twice {
                key: key.to_owned(),
            });
        }
        set_path(&mut arguments, key, value)?;
        seen.push(key);
    }
    Ok(arguments)
}

/// Reads arguments given as `JSON|@FILE|-`.
pub(super) fn read_object(source: &str) -> anyhow::Result<Map<String, Value>> {
    let text = match source.strip_prefix('@') {
        Some(path) => read_text(path)?,
        None if source == "-" => read_text("-")?,
        None => source.to_owned(),
    };
    Ok(parse_object(&text)?)
}

/// Reads a whole file, or stdin for `-`.
pub(super) fn read_text(path: &str) -> anyhow::Result<String> {
    if path == "-" {
        return io::read_to_string(io::stdin()).context("cannot read stdin");
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

/// Parses words whose values are all strings. `:=` forces JSON; a JSON string yields its text.
pub fn parse_texts(
    base: Map<String, Value>,
    words: &[String],
) -> Result<BTreeMap<String, String>, ArgumentError> {
    let mut given: BTreeMap<String, String> = base
        .into_iter()
        .map(|(key, value)| (key, to_text(value)))
        .collect();
    let mut seen = Vec::new();
    for word in words {
        let Word {
            key,
            requires_json,
            text,
        } = split_word(word)?;
        let key = key.replace(r"\.", ".");
        let text = if requires_json {
            to_text(parse_json(&key, text)?)
        } else {
            text.to_owned()
        };
        if seen.contains(&key) {
            return Err(ArgumentError::Twice { key });
        }
        given.insert(key.clone(), text);
        seen.push(key);
    }
    Ok(given)
}

pub(super) fn to_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Parses all arguments from one JSON object.
pub fn parse_object(text: &str) -> Result<Map<String, Value>, ArgumentError> {
    serde_json::from_str(text).map_err(|error| ArgumentError::NotArguments {
        reason: error.to_string(),
    })
}

struct Word<'a> {
    key: &'a str,
    /// True for `:=`: the value must be JSON.
    requires_json: bool,
    text: &'a str,
}

fn split_word(word: &str) -> Result<Word<'_>, ArgumentError> {
    let parsed = word.split_once('=').map(|(left, text)| {
        let key = left.strip_suffix(':').unwrap_or(left);
        Word {
            key,
            requires_json: key != left,
            text,
        }
    });
    parsed
        .filter(|it| !it.key.is_empty())
        .ok_or_else(|| ArgumentError::NoValue {
            word: word.to_owned(),
        })
}

fn parse_json(key: &str, text: &str) -> Result<Value, ArgumentError> {
    serde_json::from_str(text).map_err(|error| ArgumentError::NotJson {
        key: key.to_owned(),
        reason: error.to_string(),
    })
}

fn infer_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        // An integer beyond 64 bits is an identifier; as a number it would be rounded.
        Ok(Value::Number(number)) if number.is_f64() && !text.contains(['.', 'e', 'E']) => {
            text.into()
        }
        Ok(value) => value,
        Err(_) => text.into(),
    }
}

fn set_path(
    arguments: &mut Map<String, Value>,
    key: &str,
    value: Value,
) -> Result<(), ArgumentError> {
    let (outer, last) = split_path(key);
    let mut object = arguments;
    for (depth, step) in outer.iter().enumerate() {
        let inner = object
            .entry(step.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        object = inner
            .as_object_mut()
            .ok_or_else(|| ArgumentError::NotAnObject {
                key: key.to_owned(),
                outer: outer[..=depth].join("."),
            })?;
    }
    object.insert(last, value);
    Ok(())
}

/// Splits a key into the objects to step into and the last key: `a.b` is two steps, `a\.b` one.
fn split_path(key: &str) -> (Vec<String>, String) {
    let (mut outer, mut step) = (Vec::new(), String::new());
    let mut letters = key.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '.' => outer.push(mem::take(&mut step)),
            '\\' if letters.peek() == Some(&'.') => step.extend(letters.next()),
            other => step.push(other),
        }
    }
    (outer, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: Result<&str, &str>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = overlay_words(parse_object(r#"{"base":{"kept":1}}"#).unwrap(), &words)
            .map(|arguments| {
                serde_json::to_string(&arguments)
                    .unwrap()
                    .replacen(r#""base":{"kept":1}"#, "", 1)
            })
            .map_err(|error| error.to_string());
        assert_eq!(
            found.as_deref().map_err(String::as_str),
            expected,
            "{words:?}"
        );
    }

    #[test]
    fn words_become_arguments() {
        check(&[], Ok("{}"));
        check(&["name=Ann"], Ok(r#"{,"name":"Ann"}"#));
        check(
            &["n=3", "x=1.5", "on=true", "none=null"],
            Ok(r#"{,"n":3,"x":1.5,"on":true,"none":null}"#),
        );
        check(
            &["list=[1,2]", r#"object={"a":1}"#],
            Ok(r#"{,"list":[1,2],"object":{"a":1}}"#),
        );
        check(
            &["quoted=\"3\"", "empty=", "zip=007"],
            Ok(r#"{,"quoted":"3","empty":"","zip":"007"}"#),
        );
        check(
            &["query=a=b", "url=http://h/?q=1"],
            Ok(r#"{,"query":"a=b","url":"http://h/?q=1"}"#),
        );
        check(
            &["id=123456789012345678901234567890"],
            Ok(r#"{,"id":"123456789012345678901234567890"}"#),
        );
        check(&["n:=3", r#"s:="x""#], Ok(r#"{,"n":3,"s":"x"}"#));
        check(&["a.b=1", "a.c.d=x"], Ok(r#"{,"a":{"b":1,"c":{"d":"x"}}}"#));
        check(&[r"a\.b=1", r"c\d=2"], Ok(r#"{,"a.b":1,"c\\d":2}"#));
        check(&["base.more=2"], Ok(r#"{"base":{"kept":1,"more":2}}"#));
        check(&["base=2"], Ok(r#"{"base":2}"#));
    }

    #[test]
    fn string_arguments_keep_the_typed_text() {
        let base = parse_object(r#"{"n":1.0,"s":"x","kept":[1]}"#).unwrap();
        let words = [
            "s=1e3",
            "zip=007",
            r#"quoted="3""#,
            r#"j:="3""#,
            "list:=[1, 2]",
            r"a\.b=c",
            "a.c=",
        ];
        let found = parse_texts(base, &words.map(str::to_owned)).unwrap();
        let expected = [
            ("a.b", "c"),
            ("a.c", ""),
            ("j", "3"),
            ("kept", "[1]"),
            ("list", "[1,2]"),
            ("n", "1.0"),
            ("quoted", r#""3""#),
            ("s", "1e3"),
            ("zip", "007"),
        ];
        assert_eq!(
            found,
            BTreeMap::from(expected.map(|(key, text)| (key.to_owned(), text.to_owned())))
        );
        let refused =
            |words: [&str; 2]| parse_texts(Map::new(), &words.map(str::to_owned)).unwrap_err();
        assert_eq!(
            refused(["a=1", "a=2"]),
            ArgumentError::Twice {
                key: "a".to_owned()
            }
        );
        assert_eq!(
            refused(["a=1", "Ann"]),
            ArgumentError::NoValue {
                word: "Ann".to_owned()
            }
        );
    }

    #[test]
    fn invalid_words_are_rejected() {
        check(&["Ann"], Err("invalid argument `Ann`: expected key=value"));
        check(
            &["=Ann"],
            Err("invalid argument `=Ann`: expected key=value"),
        );
        check(
            &["n:=Ann"],
            Err("the value of `n` is not JSON: expected value at line 1 column 1"),
        );
        check(&["n=1", "n=2"], Err("duplicate argument `n`"));
        check(
            &["a=1", "a.b.c=2"],
            Err("cannot set `a.b.c`: `a` is not an object"),
        );
    }
}
