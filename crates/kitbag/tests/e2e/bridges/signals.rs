//! Messages during a call: progress, log lines, and cancellation by the client.

use serde_json::{Value, json};

use crate::harness::world::{Endpoint, Way, World};
use crate::harness::{Era, until};

const PROGRESS: &str = "notifications/progress";
const LOG: &str = "notifications/message";

#[tokio::test]
async fn progress_arrives_in_order_under_the_token_of_the_client_and_before_the_answer() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        for token in [json!("a token"), json!(7), json!("7")] {
            let reply = slow(&way, 30, 3, Some(&token)).await;
            let output = reply.notifications(PROGRESS);
            let expected: Vec<_> = (1..=3).map(|step| step_of(&token, step, 3)).collect();
            assert_eq!(output, expected);
            assert_eq!(reply.text(), "slept 30 ms in 3 steps");
            let next = way.call("echo", &json!({})).await;
            assert_eq!(
                next.notifications(PROGRESS),
                Vec::<Value>::new(),
                "nothing comes after the answer"
            );
        }
    }
}

#[tokio::test]
async fn a_client_without_a_token_gets_no_progress() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        assert_eq!(
            slow(&way, 10, 2, None).await.notifications(PROGRESS),
            Vec::<Value>::new()
        );
    }
}

#[tokio::test]
async fn two_calls_under_the_same_token_keep_their_progress_apart() {
    let world = World::new().await;
    for era in Era::each() {
        for endpoint in [Endpoint::All, Endpoint::One] {
            for way in world.ways_through(endpoint, era, |it| it).await {
                let token = json!("same");
                let (two, three) = tokio::join!(
                    slow(&way, 40, 2, Some(&token)),
                    slow(&way, 60, 3, Some(&token))
                );
                let expected = |steps| {
                    (1..=steps)
                        .map(|step| step_of(&token, step, steps))
                        .collect::<Vec<_>>()
                };
                assert_eq!(two.notifications(PROGRESS), expected(2));
                assert_eq!(three.notifications(PROGRESS), expected(3));
            }
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let before = world.events(way.server, "cancelled slow");
        let params = json!({
            "name": way.name("slow"),
            "arguments": { "ms": 60_000, "steps": 6_000 },
            "_meta": { "progressToken": 1 },
        });
        let (id, mut exchange) = way.client.start_with_id("tools/call", &params).await;
        exchange.wait_for(PROGRESS).await;
        match (way.client.era, way.endpoint) {
            (Era::Modern, Endpoint::All | Endpoint::One) => drop(exchange),
            _ => {
                way.client
                    .notify("notifications/cancelled", &json!({ "requestId": id }))
                    .await;
            }
        }
        let what = "the server hears of it";
        until(what, async || {
            (world.events(way.server, "cancelled slow") > before).then_some(())
        })
        .await;
        assert_eq!(way.call("echo", &json!({})).await.text(), "{}");
    }
}

/// Nothing has been sent yet, so the connection has not even received headers.
#[tokio::test]
async fn disconnecting_cancels_a_modern_call_and_not_a_legacy_one() {
    let world = World::new().await;
    for (era, ending) in [
        (Era::Modern, "cancelled slow"),
        (Era::Legacy, "finished slow"),
    ] {
        for way in world.ways_through(Endpoint::All, era, |it| it).await {
            let count = |event| world.events(way.server, event);
            let (started, ended) = (count("started slow"), count(ending));
            let ms = if era == Era::Modern { 60_000 } else { 300 };
            let (client, tool) = (way.client.clone(), way.name("slow"));
            let calling =
                tokio::spawn(async move { client.call(&tool, &json!({ "ms": ms })).await });
            until("the call runs", async || {
                (count("started slow") > started).then_some(())
            })
            .await;
            calling.abort();
            until(ending, async || (count(ending) > ended).then_some(())).await;
        }
    }
}

#[tokio::test]
async fn a_legacy_client_gets_the_log_lines_of_its_level() {
    let world = World::new().await;
    for endpoint in [Endpoint::All, Endpoint::Stdio, Endpoint::Joined] {
        for way in world.ways_through(endpoint, Era::Legacy, |it| it).await {
            for (level, info, emergency) in [("error", 0, 1), ("info", 3, 1)] {
                let set = way
                    .client
                    .request("logging/setLevel", &json!({ "level": level }))
                    .await;
                assert_eq!(set.raw_result(), "{}");
                assert_eq!(
                    log_lines(&way, "test_tool_with_logging").await,
                    info,
                    "at {level}"
                );
                assert_eq!(
                    log_lines(&way, "test_logging_tool").await,
                    emergency,
                    "at {level}"
                );
            }
            let refused = way
                .client
                .request("logging/setLevel", &json!({ "level": "loud" }))
                .await;
            assert_eq!(refused.code(), -32602);
        }
    }
}

#[tokio::test]
async fn a_modern_client_gets_only_the_log_lines_it_asks_for() {
    let world = World::new().await;
    for endpoint in [Endpoint::All, Endpoint::Stdio, Endpoint::Joined] {
        for (level, info, emergency) in [(None, 0, 0), (Some("error"), 0, 1), (Some("info"), 3, 1)]
        {
            let prepare = |it: crate::harness::client::ClientBuilder| match level {
                Some(level) => it.log_level(level),
                None => it,
            };
            for way in world.ways_through(endpoint, Era::Modern, prepare).await {
                assert_eq!(
                    log_lines(&way, "test_tool_with_logging").await,
                    info,
                    "at {level:?}"
                );
                assert_eq!(
                    log_lines(&way, "test_logging_tool").await,
                    emergency,
                    "at {level:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_wants_few_log_lines_takes_none_from_another() {
    let world = World::new().await;
    let talkative = world
        .ways_through(Endpoint::All, Era::Legacy, |it| it)
        .await;
    let quiet = world
        .ways_through(Endpoint::All, Era::Legacy, |it| it)
        .await;
    for (talkative, quiet) in talkative.into_iter().zip(quiet) {
        let before = log_lines(&talkative, "test_tool_with_logging").await;
        quiet
            .client
            .request("logging/setLevel", &json!({ "level": "emergency" }))
            .await;
        assert_eq!(log_lines(&quiet, "test_tool_with_logging").await, 0);
        assert_eq!(
            log_lines(&talkative, "test_tool_with_logging").await,
            before
        );
    }
}

#[tokio::test]
async fn a_legacy_client_resumes_a_broken_stream_where_it_ended() {
    let world = World::new().await;
    for way in world
        .ways_through(Endpoint::All, Era::Legacy, |it| it)
        .await
    {
        let params = json!({
            "name": way.name("slow"),
            "arguments": { "ms": 200, "steps": 4 },
            "_meta": { "progressToken": "t" },
        });
        let mut exchange = way.client.start("tools/call", &params).await;
        exchange.wait_for(PROGRESS).await;
        let last = exchange
            .last_id()
            .expect("a legacy stream numbers its events")
            .to_owned();
        drop(exchange);
        let rest = way.client.resume(&last).await.finish().await;
        let steps: Vec<_> = rest
            .notifications(PROGRESS)
            .iter()
            .map(|it| it["progress"].clone())
            .collect();
        assert_eq!(steps, [json!(2), json!(3), json!(4)]);
        assert_eq!(rest.text(), "slept 200 ms in 4 steps");
    }
}

async fn slow(way: &Way, ms: u32, steps: u32, token: Option<&Value>) -> crate::harness::Reply {
    let mut params = json!({ "name": way.name("slow"), "arguments": { "ms": ms, "steps": steps } });
    if let Some(token) = token {
        params["_meta"] = json!({ "progressToken": token });
    }
    way.client.request("tools/call", &params).await
}

fn step_of(token: &Value, step: u32, steps: u32) -> Value {
    json!({ "progressToken": token, "progress": step, "total": steps, "message": "still at it" })
}

async fn log_lines(way: &Way, tool: &str) -> usize {
    way.call(tool, &json!({})).await.notifications(LOG).len()
}
