//! The values of calls without their secrets, for records that people read.

use serde_json::{Map, Value};

use crate::secret::{is_scheme, names_a_secret, secrets_in_argument};

/// Replaces a secret.
pub const MASK: &str = "•••";

/// Masks everything in a value whose name or appearance suggests a secret.
pub fn without_secrets(value: Value) -> Value {
    named_without_secrets("", value)
}

/// Masks a named value if its name or appearance suggests a secret.
fn named_without_secrets(name: &str, value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        _ if names_secrets(name) => MASK.into(),
        Value::String(text) => text_without_secrets(&text).into(),
        Value::Array(items) => {
            let items = items.into_iter().map(|it| named_without_secrets(name, it));
            items.collect()
        }
        Value::Object(members) => Value::Object(members_without_secrets(members)),
        Value::Number(_) => value,
    }
}

/// A pair such as `{"name": "Authorization", "value": "…"}` has the name of its value next to it.
fn members_without_secrets(members: Map<String, Value>) -> Map<String, Value> {
    let named = ["name", "key", "header"].map(|member| members.get(member).and_then(Value::as_str));
    let is_named_secret = named.into_iter().flatten().any(names_a_secret);
    let members = members.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "value" if is_named_secret => MASK.into(),
            // A key of a pair is a name as well.
            "key" if value.as_str().is_some_and(names_a_secret) => value,
            _ => named_without_secrets(&name, value),
        };
        (name, value)
    });
    members.collect()
}

/// True for the name of a secret, or of several: `api_keys`.
fn names_secrets(name: &str) -> bool {
    names_a_secret(name) || name.strip_suffix(['s', 'S']).is_some_and(names_a_secret)
}

/// Masks the words in a text that look like a secret, or that follow a word that announces one.
pub fn text_without_secrets(text: &str) -> String {
    if text.contains("PRIVATE KEY-----") {
        return MASK.to_owned();
    }
    let (mut clean, mut is_announced) = (String::with_capacity(text.len()), false);
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        match is_announced && !is_scheme(word) && !word.is_empty() {
            true => clean.push_str(MASK),
            false => clean.push_str(&secrets_in_argument(None, word).mask_secrets()),
        }
        clean.push_str(&piece[word.len()..]);
        // `Authorization: Bearer …` announces it twice.
        let still = is_announced && (is_scheme(word) || word.is_empty());
        is_announced = still || announces_secret(word);
    }
    clean
}

/// True for `password:` and `--token`, which are followed by a secret.
fn announces_secret(word: &str) -> bool {
    let name = word.trim_end_matches([':', '=']);
    (name.len() < word.len() || word.starts_with("--")) && names_a_secret(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_secrets_are_masked() {
        for (arguments, expected) in [
            (r#"{"path":"/srv/notes"}"#, r#"{"path":"/srv/notes"}"#),
            (r#"{"password":"a b"}"#, r#"{"password":"•••"}"#),
            (
                r#"{"pin":{"auth_token":123456}}"#,
                r#"{"pin":{"auth_token":"•••"}}"#,
            ),
            (
                r#"{"token":["a"],"api_keys":{"x":"y"}}"#,
                r#"{"token":"•••","api_keys":"•••"}"#,
            ),
            (
                r#"{"q":"use ghp_abcdefghijklmnopqrstuv now"}"#,
                r#"{"q":"use … now"}"#,
            ),
            (
                r#"{"q":"the password: hunter2 is old"}"#,
                r#"{"q":"the password: ••• is old"}"#,
            ),
            (r#"{"q":"password=hunter2"}"#, r#"{"q":"password=…"}"#),
            (
                r#"{"cmd":"curl --token abc -v"}"#,
                r#"{"cmd":"curl --token ••• -v"}"#,
            ),
            (
                r#"{"url":"https://ann:pw@h.example/x"}"#,
                r#"{"url":"https://ann:…@h.example/x"}"#,
            ),
            (
                r#"{"h":"Authorization: Bearer abcdefgh123"}"#,
                r#"{"h":"Authorization: Bearer •••"}"#,
            ),
            (
                r#"{"env":[{"name":"DB_PASSWORD","value":"pw"}]}"#,
                r#"{"env":[{"name":"DB_PASSWORD","value":"•••"}]}"#,
            ),
            (
                r#"{"pem":"-----BEGIN PRIVATE KEY-----\nMII"}"#,
                r#"{"pem":"•••"}"#,
            ),
        ] {
            let value = serde_json::from_str(arguments).unwrap();
            assert_eq!(without_secrets(value).to_string(), expected);
        }
    }
}
