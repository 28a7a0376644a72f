//! The answers of an API in every type and shape.

use axum::body::{Body, Bytes};
use futures::StreamExt as _;
use kitbag_tool_spec::AnswerType;
use serde_json::json;

use super::site::{Site, reply};
use super::*;

fn rule(edit: impl FnOnce(&mut AnswerRule)) -> AnswerRule {
    let mut rule = AnswerRule::default();
    edit(&mut rule);
    rule
}

fn picked(pick: &str, keep: &[&str]) -> AnswerRule {
    rule(|rule| {
        rule.pick = pick.parse().unwrap();
        rule.keep = keep.iter().map(|text| text.parse().unwrap()).collect();
    })
}

fn images() -> AnswerRule {
    rule(|rule| rule.image = Some("/out/images".parse().unwrap()))
}

fn worded() -> AnswerRule {
    rule(|rule| rule.error = Some("/error/message".parse().unwrap()))
}

fn typed(kind: AnswerType) -> AnswerRule {
    rule(|rule| rule.kind = kind)
}

async fn answered(
    rule: AnswerRule,
    status: u16,
    kind: &'static str,
    body: &'static [u8],
) -> ActionAnswer {
    let site = Site::open(move |_, _| reply(status, &[("content-type", kind)], body)).await;
    let action = ActionSpec {
        answer: rule,
        ..get("/x")
    };
    Bench::at(&site, |_| {})
        .call(&action, json!({}))
        .await
        .unwrap()
}

#[tokio::test]
async fn an_answers_cost_is_read_from_the_declared_pointers() {
    let pointed = rule(|rule| {
        rule.pick = "/words".parse().unwrap();
        rule.usage.cost = "/usage/cost".parse().unwrap();
        rule.usage.input_tokens = Some("/usage/in".parse().unwrap());
    });
    let usage = |cost_usd, input_tokens| AnswerUsage {
        cost_usd,
        input_tokens,
        output_tokens: None,
    };
    for (rule, body, expected) in [
        (
            rule(|_| {}),
            r#"{"cost_usd":0.004}"#,
            usage(Some(0.004), None),
        ),
        (rule(|_| {}), r#"{"cost_usd":-1}"#, usage(None, None)),
        (rule(|_| {}), r#"{"cost":"low"}"#, usage(None, None)),
        (
            pointed,
            r#"{"words":"hi","usage":{"cost":0.5,"in":12}}"#,
            usage(Some(0.5), Some(12)),
        ),
    ] {
        let answer = answered(rule, 200, "application/json", body.as_bytes()).await;
        assert_eq!(answer.usage, expected, "{body}");
    }
}

#[tokio::test]
async fn a_body_is_returned_in_its_declared_type_and_shape() {
    for (rule, kind, body, expected) in [
        (
            rule(|_| {}),
            "application/json",
            r#"{"n":1}"#,
            json!({ "n": 1 }),
        ),
        (rule(|_| {}), "text/html", "<p>", json!("<p>")),
        (
            rule(|_| {}),
            "application/json",
            " ",
            json!({ "status": 200 }),
        ),
        (picked("/a", &[]), "", r#"{"a":[1],"b":2}"#, json!([1])),
        (picked("/c", &[]), "", r#"{"a":1}"#, json!({ "a": 1 })),
        (
            picked("/a", &["/id", "/of/id", "/gone"]),
            "",
            r#"{"a":[{"id":1,"of":{"id":2},"x":3},{"id":4}]}"#,
            json!([{ "id": 1, "of/id": 2 }, { "id": 4 }]),
        ),
        (
            typed(AnswerType::Text),
            "",
            r#"{"a":"b"} and so on"#,
            json!(r#"{"a":"b"} and so on"#),
        ),
        (
            typed(AnswerType::JsonLines),
            "",
            "{\"a\":1}\n\n{\"a\":2}\nend",
            json!([{ "a": 1 }, { "a": 2 }, "end"]),
        ),
        (
            typed(AnswerType::Image),
            "image/jpeg; q=1",
            "xyz",
            json!("image/jpeg eHl6"),
        ),
        (typed(AnswerType::Image), "", "xyz", json!("image/png eHl6")),
        (
            typed(AnswerType::Bytes),
            "application/pdf",
            "xyz",
            json!({ "base64": "eHl6", "type": "application/pdf", "bytes": 3 }),
        ),
        (
            images(),
            "",
            r#"{"out":{"images":["QQ==","data:image/webp;base64,Qg=="],"seed":1}}"#,
            json!([{ "out": { "seed": 1 } }, "image/png QQ==", "image/webp Qg=="]),
        ),
    ] {
        let answer = answered(rule, 200, kind, body.as_bytes()).await;
        assert_eq!(read(&answer), expected, "{body}");
        assert!(!answer.is_error);
    }
}

#[tokio::test]
async fn a_credential_that_comes_back_in_pieces_or_in_escapes_is_not_shown() {
    let escaped: String = SECRET
        .chars()
        .map(|c| format!("\\u{:04X}", c as u32))
        .collect();
    let half = SECRET.len() / 2;
    let (first, second) = SECRET.split_at(half);
    let events = AnswerType::Events;
    let plain = AnswerType::Json;
    for (kind, pick, body) in [
        (plain, "", format!(r#"{{"seen":"{escaped}"}}"#)),
        (plain, "/seen", format!(r#"{{"seen":["{escaped}"],"n":1}}"#)),
        (
            plain,
            "",
            format!(r#"{{"seen":"{}"}}"#, SECRET.replace('-', "\\u002d")),
        ),
        (plain, "", format!(r#"{{"{escaped}":1}}"#)),
        (
            events,
            "/d",
            format!("data: {{\"d\":\"{first}\"}}\n\ndata: {{\"d\":\"{second}\"}}\n\n"),
        ),
        (events, "/d", format!("data: {{\"d\":\"{escaped}\"}}\n\n")),
        (events, "", format!("data: {{\"d\":\"{escaped}\"}}\n\n")),
    ] {
        let kind_of_body = match kind {
            AnswerType::Events => "text/event-stream",
            _ => "application/json",
        };
        let sent = body.clone();
        let site =
            Site::open(move |_, _| reply(200, &[("content-type", kind_of_body)], sent.clone()))
                .await;
        let answer = rule(|rule| {
            rule.kind = kind;
            rule.pick = pick.parse().unwrap();
        });
        let bench = Bench::at(&site, |api| api.auth = AuthScheme::Bearer);
        let action = ActionSpec {
            answer,
            ..get("/x")
        };
        let shown = bench.call(&action, json!({})).await.unwrap();
        let shown = read(&shown).to_string();
        assert!(
            shown.contains("•••") && !shown.contains(SECRET),
            "{body}: {shown}"
        );
    }
}

#[tokio::test]
async fn no_digit_of_an_untouched_answer_is_lost() {
    let answer = answered(
        AnswerRule::default(),
        200,
        "",
        br#"{"id": 123456789012345678901234567890}"#,
    )
    .await;
    let [AnswerPart::Json(json)] = answer.content.as_slice() else {
        panic!("{answer:?}");
    };
    assert_eq!(json.get(), r#"{"id": 123456789012345678901234567890}"#);
}

#[tokio::test]
async fn an_error_is_reported_with_the_apis_message() {
    for (rule, status, body, expected) in [
        (
            worded(),
            404,
            r#"{"error":{"message":"no such ticket"}}"#,
            "HTTP 404 Not Found: no such ticket",
        ),
        (
            worded(),
            500,
            "oops",
            "HTTP 500 Internal Server Error: oops",
        ),
        (worded(), 502, "", "HTTP 502 Bad Gateway"),
        (
            AnswerRule::default(),
            400,
            r#"{"a":1}"#,
            r#"HTTP 400 Bad Request: {"a":1}"#,
        ),
    ] {
        let answer = answered(rule, status, "application/json", body.as_bytes()).await;
        assert_eq!((read(&answer), answer.is_error), (json!(expected), true));
    }
    let answer = answered(worded(), 401, "", b"").await;
    assert!(
        read(&answer)[1]
            .as_str()
            .unwrap()
            .contains("`kitbag secret set desk …`")
    );
}

/// Sends the events and keeps the connection open.
async fn stream(events: &'static str, edit: impl FnOnce(&mut ApiSpec), pick: &str) -> ActionAnswer {
    let site = Site::open(move |_, _| {
        let open = futures::stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let bytes = futures::stream::iter([Ok(Bytes::from_static(events.as_bytes()))]).chain(open);
        reply(
            200,
            &[("content-type", "text/event-stream")],
            Body::from_stream(bytes),
        )
    })
    .await;
    let answer = rule(|rule| {
        rule.kind = AnswerType::Events;
        rule.pick = pick.parse().unwrap();
    });
    let action = ActionSpec {
        answer,
        ..get("/x")
    };
    Bench::at(&site, edit)
        .call(&action, json!({}))
        .await
        .unwrap()
}

#[tokio::test]
async fn events_are_joined_and_end_with_the_last_one_though_the_connection_stays_open() {
    let chat =
        "data: {\"d\":\"Hel\"}\n\ndata: {\"d\":\"lo\"}\n\ndata: {\"usage\":1}\n\ndata: [DONE]\n\n";
    assert_eq!(read(&stream(chat, |_| {}, "/d").await), json!("Hello"));
    let named = "event: start\ndata: {\"n\":1}\n\nevent: message_stop\ndata: {\"n\":2}\n\n";
    assert_eq!(
        read(&stream(named, |_| {}, "").await),
        json!([{ "n": 1 }, { "n": 2 }])
    );
    let failed = "event: error\ndata: overloaded\n\nevent: done\ndata:\n\n";
    let answer = stream(failed, |_| {}, "").await;
    assert_eq!(
        (read(&answer), answer.is_error),
        (json!("overloaded"), true)
    );
}

#[tokio::test]
async fn events_without_an_end_are_returned_as_far_as_received() {
    let events = "data: 1\n\ndata: 2\n\n";
    let answer = stream(events, |api| api.timeout = Duration::from_millis(200), "").await;
    assert_eq!(
        read(&answer),
        json!([
            [1, 2],
            "The answer is incomplete: it did not end within 200ms"
        ])
    );
    let answer = stream(events, |api| api.max_response_bytes = 8, "").await;
    assert_eq!(answer.incomplete.as_deref(), Some("more than 8 bytes"));
}

#[tokio::test]
async fn an_answer_that_is_too_large_or_too_slow_is_an_error() {
    let site = Site::open(|_, seen| match seen.line.ends_with("large") {
        true => reply(200, &[], vec![b'x'; 5000]),
        false => {
            let open = futures::stream::pending::<Result<Bytes, std::convert::Infallible>>();
            reply(200, &[], Body::from_stream(open))
        }
    })
    .await;
    let bench = Bench::at(&site, |api| api.timeout = Duration::from_millis(200));
    for (path, expected, code) in [
        (
            "/large",
            "`desk` answered with more than 4096 bytes",
            "ANSWER_TOO_LARGE",
        ),
        ("/slow", "`desk` did not answer within 200ms", "TIMED_OUT"),
    ] {
        let error = bench.call(&get(path), json!({})).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (expected, code));
    }
}
