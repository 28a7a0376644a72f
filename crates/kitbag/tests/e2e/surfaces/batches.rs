//! `batch_execute`: ten calls at once, each with its own answer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{BATCH, SurfaceGateway, an_order};
use crate::harness::{Client, Era, Testbed};

async fn batch(client: &Client, calls: &[Value]) -> crate::harness::Reply {
    client.call(BATCH, &json!({ "calls": calls })).await
}

/// The headings, in order.
fn headings(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.starts_with('[') && line.contains("] "))
        .collect()
}

#[tokio::test]
async fn ten_calls_are_answered_in_order_and_one_hung_server_costs_only_its_own() {
    let stuck = Testbed::new("stuck")
        .with("call_timeout = \"500ms\"")
        .table();
    let setup = SurfaceGateway::with(&stuck).await;
    for client in setup.clients("search").await {
        let mut calls: Vec<Value> = (0..8)
            .map(|number| json!({ "tool": "good__echo", "arguments": { "number": number } }))
            .collect();
        calls.insert(
            3,
            json!({ "tool": "stuck__slow", "arguments": { "ms": 600_000 } }),
        );
        calls.insert(
            7,
            json!({ "tool": "shop__create_order", "arguments": an_order() }),
        );
        let begun = Instant::now();
        let text = batch(&client, &calls).await.text();
        assert!(
            begun.elapsed() < Duration::from_secs(100),
            "{:?}",
            begun.elapsed()
        );
        let headings = headings(&text);
        assert_eq!(headings.len(), 10, "{text}");
        for (number, (heading, call)) in headings.iter().zip(&calls).enumerate() {
            let how = if number == 3 { "error" } else { "ok" };
            assert_eq!(
                *heading,
                format!(
                    "[{}/10] {}: {how}",
                    number + 1,
                    call["tool"].as_str().unwrap()
                )
            );
        }
        let answers: Vec<&str> = text.split("\n[").collect();
        assert!(answers[0].contains(r#"{"number":0}"#), "{text}");
        assert!(
            answers[3].contains("did not answer within") && answers[3].contains("call_timeout"),
            "{text}"
        );
        assert!(answers[7].contains("Ann"), "{text}");
        assert!(answers[9].contains(r#"{"number":7}"#), "{text}");
    }
}

#[tokio::test]
async fn calls_of_a_batch_that_only_read_run_at_the_same_time() {
    let setup = SurfaceGateway::with("[tools.good__slow]\nwrite_class = \"read\"\n").await;
    for era in Era::each() {
        let client = setup.client("/mcp", era).await;
        let calls = vec![json!({ "tool": "good__slow", "arguments": { "ms": 4000 } }); 10];
        let begun = Instant::now();
        let text = batch(&client, &calls).await.text();
        assert_eq!(text.matches("slept 4000 ms").count(), 10, "{text}");
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test]
async fn calls_of_a_batch_that_may_write_to_one_server_run_in_order() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let slow = |ms: u32| json!({ "tool": "good__slow", "arguments": { "ms": ms } });
        let text = batch(&client, &[slow(300), slow(100), slow(1)])
            .await
            .text();
        let headings = headings(&text);
        assert_eq!(headings.len(), 3, "{text}");
        let events = std::fs::read_to_string(setup.home().path("good/events.log")).unwrap();
        let of_slow = events.lines().filter(|line| line.contains("slow"));
        let of_slow: Vec<bool> = of_slow.map(|line| line.contains("started")).collect();
        let turns: Vec<&[bool]> = of_slow.chunks(2).collect();
        assert!(turns.iter().all(|turn| *turn == [true, false]), "{events}");
    }
}

#[tokio::test]
async fn more_than_ten_or_none_are_rejected_and_nothing_is_run() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for count in [0, 11, 200] {
            let calls = vec![json!({ "tool": "good__slow", "arguments": { "ms": 1 } }); count];
            let output = batch(&client, &calls).await.tool_error();
            assert!(
                output.contains(&format!("1 to 10 calls and got {count}; nothing was run")),
                "{output}"
            );
        }
    }
    let events = std::fs::read_to_string(setup.home().path("good/events.log")).unwrap_or_default();
    assert!(!events.contains("slow"), "{events}");
}

#[tokio::test]
async fn a_mistake_in_one_call_of_a_batch_affects_no_other() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let calls = [
            json!({ "tool": "good__echo", "arguments": { "a": 1 } }),
            json!("good__echo"),
            json!({ "toll": "good__echo" }),
            json!({ "tool": "good__ecko" }),
            json!({ "tool": "shop__create_order", "arguments": {} }),
            json!({ "provider": "nowhere", "path": "/" }),
            json!({ "result": "nothing" }),
            json!({}),
            json!({ "tool": "good__test_error_handling" }),
            json!({ "tool": "good__echo", "arguments": "{\"b\":2}" }),
        ];
        let text = batch(&client, &calls).await.text();
        let headings = headings(&text);
        let hows: Vec<_> = headings
            .iter()
            .map(|it| it.rsplit(": ").next().unwrap())
            .collect();
        let mut expected = vec!["error"; 10];
        (expected[0], expected[9]) = ("ok", "ok");
        assert_eq!(hows, expected, "{text}");
        for output in [
            "did you mean good__echo",
            "/toll: there is no such parameter; did you mean `tool`?",
            "/customer: missing",
            "no provider called `nowhere`",
            "there is no result `nothing`",
            "give one of: tool",
            r#"{"b":2}"#,
        ] {
            assert!(text.contains(output), "no {output} in {text}");
        }
    }
}

#[tokio::test]
async fn each_answer_gets_its_share_of_the_budget() {
    let setup = SurfaceGateway::with("[surfaces]\nresult_tokens = 2000\n").await;
    for era in Era::each() {
        let client = setup.client("/mcp", era).await;
        let long = json!({ "tool": "good__big", "arguments": { "bytes": 100_000, "shape": "paragraphs" } });
        let text = batch(
            &client,
            &[long.clone(), json!({ "tool": "good__echo" }), long],
        )
        .await
        .text();
        assert_eq!(text.matches("[Truncated: about ").count(), 2, "{text}");
        // About four characters per token.
        assert!(text.len() < 2_000 * 6, "{} bytes", text.len());
    }
}
