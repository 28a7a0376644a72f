//! Messages other than results pass through `call_api` as in a direct call: progress, log lines,
//! cancellation, and questions in either era.

use serde_json::{Value, json};

use super::{BATCH, CALL, call_api};
use crate::harness::client::ClientBuilder;
use crate::harness::world::{SERVERS, World};
use crate::harness::{Client, Era, until};

/// A client at the default surface in front of servers of both eras.
async fn client(
    world: &World,
    client_era: Era,
    prepare: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Client {
    let client = prepare(world.gateway.client_at("/mcp", client_era))
        .connect()
        .await;
    for server in &SERVERS {
        super::find_line(
            &client,
            "return everything that came with the call",
            &format!("{}__echo_params", server.name),
        )
        .await;
    }
    client
}

fn answer_everything(builder: ClientBuilder) -> ClientBuilder {
    builder.answer_with(|method, _| match method {
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": { "type": "text", "text": "sampled" },
            "model": "m",
            "stopReason": "endTurn",
        }),
        "roots/list" => json!({ "roots": [{ "uri": "file:///home/ann" }] }),
        _ => {
            json!({ "action": "accept", "content": { "name": "Ann", "color": "red", "ok": true } })
        }
    })
}

#[tokio::test]
async fn questions_of_either_era_are_asked_and_answered_through_call_api() {
    let world = World::new().await;
    for client_era in Era::each() {
        let client = client(&world, client_era, answer_everything).await;
        let mut clients = vec![client];
        clients.push(
            answer_everything(Client::stdio_on(world.home(), client_era, "search"))
                .connect()
                .await,
        );
        for client in &clients {
            for server in &SERVERS {
                for (tool, expected) in [
                    ("test_sampling", "LLM response: sampled"),
                    (
                        "test_elicitation",
                        r#"User response: action=accept, content={"name":"Ann","color":"red","ok":true}"#,
                    ),
                    (
                        "test_input_required_result_request_state",
                        "state-ok, confirmed: true",
                    ),
                    ("test_input_required_result_multi_round", "Ann likes red"),
                ] {
                    let tool = format!("{}__{tool}", server.name);
                    let arguments = json!({ "prompt": "Hello", "message": "Who?" });
                    assert_eq!(
                        call_api(client, &tool, &arguments).await.text(),
                        expected,
                        "{tool}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn in_a_batch_a_legacy_client_is_asked_and_a_modern_one_must_call_separately() {
    let world = World::new().await;
    let (modern, legacy) = (
        client(&world, Era::Modern, answer_everything).await,
        client(&world, Era::Legacy, answer_everything).await,
    );
    for (server, other) in SERVERS.iter().zip(SERVERS.iter().rev()) {
        let asking = format!("{}__test_elicitation", server.name);
        let asking = json!({ "tool": asking, "arguments": { "message": "?" } });
        let echo = json!({ "tool": format!("{}__echo", other.name) });
        let calls = json!({ "calls": [asking, echo] });
        let text = modern.call(BATCH, &calls).await.text();
        assert!(
            text.contains("it asks for input first; call it separately with call_api"),
            "{text}"
        );
        assert!(text.contains("echo: ok"), "{text}");
        let text = legacy.call(BATCH, &calls).await.text();
        assert!(text.contains("User response: action=accept"), "{text}");
        assert!(text.contains("echo: ok"), "{text}");
    }
}

#[tokio::test]
async fn progress_of_the_tool_inside_reaches_the_client_under_its_own_token() {
    let world = World::new().await;
    for client_era in Era::each() {
        let client = client(&world, client_era, |it| it).await;
        for server in &SERVERS {
            let params = json!({
                "name": CALL,
                "arguments": { "tool": format!("{}__slow", server.name), "arguments": { "ms": 200, "steps": 4 } },
                "_meta": { "progressToken": "mine" },
            });
            let reply = client.request("tools/call", &params).await;
            assert_eq!(reply.text(), "slept 200 ms in 4 steps");
            let steps: Vec<Value> = reply.notifications("notifications/progress");
            let steps: Vec<_> = steps
                .iter()
                .map(|it| (it["progressToken"].clone(), it["progress"].as_f64()))
                .collect();
            let expected = [1.0, 2.0, 3.0, 4.0].map(|step| (json!("mine"), Some(step)));
            assert_eq!(steps, expected, "{}", server.name);
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server_by_itself_or_in_a_batch() {
    let world = World::new().await;
    for client_era in Era::each() {
        let client = client(&world, client_era, |it| it).await;
        for server in &SERVERS {
            let slow =
                json!({ "tool": format!("{}__slow", server.name), "arguments": { "ms": 600_000 } });
            for (name, arguments) in [(CALL, slow.clone()), (BATCH, json!({ "calls": [slow] }))] {
                let count = |event| world.events(server, event);
                let (started, cancelled) = (count("started slow"), count("cancelled slow"));
                let params = json!({ "name": name, "arguments": arguments });
                let headers = client.headers("tools/call", &params);
                let headers: Vec<_> = headers
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                let call = client.body(NUMBER, "tools/call", &params.to_string());
                let cancel = async {
                    until("it runs", async || {
                        (count("started slow") > started).then_some(())
                    })
                    .await;
                    if client_era == Era::Legacy {
                        let it = json!({ "requestId": NUMBER });
                        client.notify("notifications/cancelled", &it).await;
                    }
                };
                // A modern client cancels by closing the stream, which happens at the end of this scope.
                tokio::select! {
                    reply = world.gateway.post("/mcp", &headers, call) => assert_eq!(reply.status, 200),
                    () = cancel => {}
                }
                until("it is cancelled", async || {
                    (count("cancelled slow") > cancelled).then_some(())
                })
                .await;
            }
            call_api(&client, &format!("{}__echo", server.name), &json!({}))
                .await
                .text();
        }
    }
}

/// A request id that no other request of the client has.
const NUMBER: i64 = 4711;
