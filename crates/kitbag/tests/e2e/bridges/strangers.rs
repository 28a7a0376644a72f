//! Two clients at one server process: a question for one is never shown to the other.

use serde_json::{Value, json};

use crate::harness::client::ClientBuilder;
use crate::harness::world::{Endpoint, SERVERS, Transport, World};
use crate::harness::{Client, Era, Gateway, Testbed, until};

/// Each client answers with its own name.
fn answering_as(name: &'static str) -> impl Fn(ClientBuilder) -> ClientBuilder {
    move |builder| {
        builder.answer_with(
            move |_, _| json!({ "action": "accept", "content": { "name": name, "color": name } }),
        )
    }
}

#[tokio::test]
async fn a_question_of_one_client_is_never_shown_to_another() {
    let world = World::new().await;
    for (asking, waiting) in [
        (Era::Legacy, Era::Legacy),
        (Era::Legacy, Era::Modern),
        (Era::Modern, Era::Legacy),
    ] {
        let askers = world
            .ways_through(Endpoint::All, asking, answering_as("asker"))
            .await;
        // It could answer, but must not be asked: its calls require nothing.
        let waiters = world
            .ways_through(Endpoint::All, waiting, |it| {
                it.answer_with(|_, _| panic!("asked"))
            })
            .await;
        for (asker, waiter) in askers.iter().zip(&waiters) {
            let started = world.events(waiter.server, "started slow");
            let (client, tool) = (waiter.client.clone(), waiter.name("slow"));
            let waits =
                tokio::spawn(async move { client.call(&tool, &json!({ "ms": 60_000 })).await });
            let runs = "the other call runs";
            until(runs, async || {
                (world.events(waiter.server, "started slow") > started).then_some(())
            })
            .await;

            let reply = asker
                .call("test_input_required_result_multi_round", &json!({}))
                .await;
            let message: Value = serde_json::from_str(reply.raw()).unwrap();
            let answered = message["result"]["content"][0]["text"] == "asker likes asker";
            // A legacy server over stdio does not say which call its question belongs to.
            let in_doubt =
                asker.server.era == Era::Legacy && asker.server.transport == Transport::Stdio;
            assert!(
                answered || in_doubt,
                "{}: {}",
                asker.server.name,
                reply.raw()
            );
            assert!(
                !waits.is_finished(),
                "the waiting client was answered something"
            );
            waits.abort();
        }
    }
}

#[tokio::test]
async fn two_modern_programs_without_keys_are_two_clients() {
    let world = World::new().await;
    let asker = world
        .ways_through(Endpoint::All, Era::Modern, answering_as("asker"))
        .await;
    let waiter = world
        .gateway
        .client_at("/mcp/all", Era::Modern)
        .answer_with(|_, _| panic!("asked"));
    let waiter = waiter.named("another program").connect().await;
    for way in asker {
        let slow = json!({ "name": way.name("slow"), "arguments": { "ms": 60_000 } });
        let started = world.events(way.server, "started slow");
        let client = waiter.clone();
        let waits = tokio::spawn(async move { client.request("tools/call", &slow).await });
        until("it runs", async || {
            (world.events(way.server, "started slow") > started).then_some(())
        })
        .await;
        let reply = way
            .call("test_input_required_result_multi_round", &json!({}))
            .await;
        let in_doubt = way.server.era == Era::Legacy && way.server.transport == Transport::Stdio;
        assert!(
            in_doubt || reply.text() == "asker likes asker",
            "{}",
            reply.raw()
        );
        assert!(!waits.is_finished());
        waits.abort();
    }
}

#[tokio::test]
async fn many_clients_that_ask_at_once_get_their_own_answers_or_none() {
    let world = World::new().await;
    for server in &SERVERS {
        let mut calls = tokio::task::JoinSet::new();
        for name in ["ann", "bob", "cat", "dan", "eve", "fay"] {
            for client_era in Era::each() {
                let builder =
                    answering_as(name)(world.gateway.client_at(&server.path(), client_era))
                        .named(name);
                calls.spawn(async move {
                    let client: Client = builder.connect().await;
                    (
                        name,
                        client
                            .call("test_input_required_result_multi_round", &json!({}))
                            .await,
                    )
                });
            }
        }
        while let Some(done) = calls.join_next().await {
            let (name, reply) = done.unwrap();
            let message: Value = serde_json::from_str(reply.raw()).unwrap();
            let text = &message["result"]["content"][0]["text"];
            let in_doubt = server.era == Era::Legacy && server.transport == Transport::Stdio;
            assert!(
                *text == format!("{name} likes {name}")
                    || (in_doubt && message.get("error").is_some()),
                "{name} at {}: {message}",
                server.name
            );
        }
    }
}

#[tokio::test]
async fn a_question_asked_during_a_call_that_ends_first_is_still_answered() {
    let gateway = Gateway::with(&Testbed::new("one").era("legacy").table()).await;
    let client = answering_as("asker")(gateway.client_at("/mcp/all", Era::Legacy))
        .connect()
        .await;
    client.knows("one__slow").await;
    let asks = json!({ "name": "one__test_input_required_result_multi_round", "arguments": {} });
    let mut asking = client.start("tools/call", &asks).await;
    let first = asking.wait_for("elicitation/create").await;
    let waits = json!({ "name": "one__slow", "arguments": { "ms": 1000, "steps": 4 }, "_meta": { "progressToken": 1 } });
    let mut waiting = client.start("tools/call", &waits).await;
    waiting.wait_for("notifications/progress").await;
    client.answer_if_asked(&first.to_string()).await;
    let second = waiting.wait_for("elicitation/create").await;
    assert_eq!(waiting.finish().await.text(), "slept 1000 ms in 4 steps");
    client.answer_if_asked(&second.to_string()).await;
    assert_eq!(asking.finish().await.text(), "asker likes asker");
}
