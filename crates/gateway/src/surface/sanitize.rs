//! Sanitizes text by tool authors before a model reads it on a small surface: removes invisible
//! characters, and masks the secrets of its server.
//!
//! JSON is sanitized as text, string by string, so that numbers keep their digits and members their
//! order.

use std::borrow::Cow;

use kitbag_domain::ServerName;
use kitbag_domain::text::strip_invisible;
use kitbag_fetch::Secrets;
use kitbag_upstream::CallError;
use kitbag_wire::meta::method;
use kitbag_wire::{Raw, RawObject, raw, replace_strings};
use serde_json::value::RawValue;

use crate::call::failure::Failure;

/// Members of a result that clients send back to a server unchanged.
const OPAQUE: [&str; 3] = ["requestState", "taskId", "nextCursor"];

/// Sanitizes a server's JSON for a model.
pub(crate) fn sanitize_json(json: Raw, secrets: &Secrets) -> Raw {
    let Cow::Owned(clean) = sanitize_strings(json.get(), secrets) else {
        return json;
    };
    // Only strings were replaced by strings, so it is still JSON.
    RawValue::from_string(clean).unwrap_or(json)
}

/// Sanitizes a server's error message for a model.
pub(crate) fn sanitize_failure(failure: Failure, secrets: &Secrets) -> Failure {
    match failure {
        Failure::Upstream(CallError::Refused { server, mut error }) => {
            error.message = sanitize_text(&error.message, secrets);
            error.data = error.data.map(|data| sanitize_json(data, secrets));
            Failure::Upstream(CallError::Refused { server, error })
        }
        other => other,
    }
}

pub(crate) fn sanitize_text(text: &str, secrets: &Secrets) -> String {
    secrets.mask_text(&strip_invisible(text)).into_owned()
}

/// Adds the server's name to the questions in a result, where several servers are merged and the
/// user sees only Kitbag.
pub(crate) fn name_server_in_result(result: Raw, server: &ServerName) -> Raw {
    if !result.get().contains("\"inputRequests\"") {
        return result;
    }
    let Ok(mut object) = RawObject::open(&result) else {
        return result;
    };
    let Some(questions) = object.get_object("inputRequests") else {
        return result;
    };
    let named: RawObject = questions
        .iter()
        .map(|(key, question)| {
            (
                key.to_owned(),
                name_server_in_question(question.to_owned(), server),
            )
        })
        .collect();
    object.put("inputRequests", &named);
    object.to_raw()
}

fn name_server_in_question(question: Raw, server: &ServerName) -> Raw {
    let Ok(mut object) = RawObject::open(&question) else {
        return question;
    };
    let Some(params) = object.get("params").map(ToOwned::to_owned) else {
        return question;
    };
    let method: String = object.read("method").unwrap_or_default();
    object.put("params", &name_server_in_params(&method, params, server));
    object.to_raw()
}

/// Prefixes a question's text with the name of the server that asks.
pub(crate) fn name_server_in_params(method: &str, params: Raw, server: &ServerName) -> Raw {
    let Ok(mut object) = RawObject::open(&params) else {
        return params;
    };
    match method {
        method::ELICIT => {
            let message: String = object.read("message").unwrap_or_default();
            object.put("message", &prefix_server(server, &message));
        }
        method::CREATE_MESSAGE => {
            let mut messages: Vec<Raw> = object.read("messages").unwrap_or_default();
            let Some(first) = messages.first_mut() else {
                return params;
            };
            *first = name_server_in_message(first.clone(), server);
            object.put("messages", &messages);
        }
        _ => return params,
    }
    object.to_raw()
}

fn name_server_in_message(message: Raw, server: &ServerName) -> Raw {
    let Ok(mut object) = RawObject::open(&message) else {
        return message;
    };
    let content = object.get("content");
    let Some(content) = content.and_then(|content| name_server_in_content(content, server)) else {
        return message;
    };
    object.set("content", content);
    object.to_raw()
}

/// The content of a message is one block or several; the first text gets the prefix.
fn name_server_in_content(content: &RawValue, server: &ServerName) -> Option<Raw> {
    let Ok(mut blocks) = serde_json::from_str::<Vec<Raw>>(content.get()) else {
        return name_server_in_block(content, server);
    };
    let (at, block) = blocks
        .iter()
        .enumerate()
        .find_map(|(at, block)| Some((at, name_server_in_block(block, server)?)))?;
    blocks[at] = block;
    Some(raw(&blocks))
}

fn name_server_in_block(block: &RawValue, server: &ServerName) -> Option<Raw> {
    let mut block = RawObject::open(block).ok()?;
    let text: String = block.read("text")?;
    block.put("text", &prefix_server(server, &text));
    Some(block.to_raw())
}

fn prefix_server(server: &ServerName, text: &str) -> String {
    format!("`{server}` asks: {text}")
}

fn sanitize_strings<'a>(json: &'a str, secrets: &Secrets) -> Cow<'a, str> {
    if is_plain(json) && !secrets.are_in(json) {
        return Cow::Borrowed(json);
    }
    replace_strings(json, |string| {
        let is_opaque = !string.is_name && string.depth == 1 && OPAQUE.contains(&string.member);
        (!is_opaque).then(|| sanitize_literal(string.literal, secrets))?
    })
}

/// True for ASCII without escapes that could represent invisible characters.
fn is_plain(json: &str) -> bool {
    json.is_ascii()
        && !["\\u", "\\b", "\\f", "\\r", "\u{7f}"]
            .iter()
            .any(|escape| json.contains(escape))
}

fn sanitize_literal(literal: &str, secrets: &Secrets) -> Option<String> {
    if is_plain(literal) && !secrets.are_in(literal) {
        return None;
    }
    let text = serde_json::from_str::<String>(literal).ok()?;
    let clean = sanitize_text(&text, secrets);
    (clean != text).then(|| serde_json::Value::String(clean).to_string())
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let json: Raw = serde_json::from_str(json).unwrap();
        assert_eq!(
            sanitize_json(json, &Secrets::from_values(["s3cret-token"])).get(),
            expected
        );
    }

    #[test]
    fn only_invisible_characters_and_secrets_are_removed() {
        let untouched = r#"{"a" : 1.00,"n":12345678901234567890,"t":"x\n\"y\" é 😀","u":"\u00e9"}"#;
        check(untouched, untouched);
        check(
            r#"{"t":"a\u001b[31mb\u202ec\udb40\udc41"}"#,
            r#"{"t":"abc"}"#,
        );
        check(
            "{\"t\":[\"a\u{200b}b\",{\"k\u{e0041}\":\"\u{202e}\"}]}",
            r#"{"t":["ab",{"k":""}]}"#,
        );
        check(
            r#"{"t":"Bearer s3cret-token","n":"\u0073\u0033cret-token"}"#,
            r#"{"t":"Bearer •••","n":"•••"}"#,
        );
    }

    #[test]
    fn opaque_members_stay_unchanged() {
        let json =
            "{\"requestState\":\"\u{202e}\",\"text\":\"a\",\"x\":{\"requestState\":\"\u{202e}b\"}}";
        check(
            json,
            "{\"requestState\":\"\u{202e}\",\"text\":\"a\",\"x\":{\"requestState\":\"b\"}}",
        );
    }

    #[test]
    fn a_question_names_the_server_that_asks() {
        let server = "github".parse().unwrap();
        let check = |method: &str, params: &Value, pointer: &str, expected: &str| {
            let found = name_server_in_params(method, raw(params), &server);
            let found: Value = serde_json::from_str(found.get()).unwrap();
            assert_eq!(found.pointer(pointer).unwrap(), expected, "{found}");
        };
        check(
            method::ELICIT,
            &json!({ "message": "Who?" }),
            "/message",
            "`github` asks: Who?",
        );
        let text = json!({ "type": "text", "text": "Hi" });
        let one = json!({ "messages": [{ "role": "user", "content": text }, { "role": "user", "content": text }] });
        check(
            method::CREATE_MESSAGE,
            &one,
            "/messages/0/content/text",
            "`github` asks: Hi",
        );
        check(
            method::CREATE_MESSAGE,
            &one,
            "/messages/1/content/text",
            "Hi",
        );
        let several = json!({ "messages": [{ "role": "user", "content": [{ "type": "image", "data": "" }, text] }] });
        check(
            method::CREATE_MESSAGE,
            &several,
            "/messages/0/content/1/text",
            "`github` asks: Hi",
        );
        let result = raw(
            &json!({ "inputRequests": { "q": { "method": method::ELICIT, "params": { "message": "Who?" } } } }),
        );
        let found: Value =
            serde_json::from_str(name_server_in_result(result, &server).get()).unwrap();
        assert_eq!(
            found["inputRequests"]["q"]["params"]["message"],
            "`github` asks: Who?"
        );
    }
}
