//! Servers that ask questions: each client is asked in its own era, and the server gets the answer.

use serde_json::{Value, json};

use crate::harness::client::ClientBuilder;
use crate::harness::world::{Endpoint, World};
use crate::harness::{Era, Reply};

/// Answers everything, and accepts every form with the same content.
fn answer_everything(builder: ClientBuilder) -> ClientBuilder {
    builder.answer_with(|method, params| match method {
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": { "type": "text", "text": "sampled" },
            "model": "m",
            "stopReason": "endTurn",
        }),
        "roots/list" => json!({ "roots": [{ "uri": "file:///home/ann" }] }),
        "elicitation/create" if params["mode"] == "url" => json!({ "action": "accept" }),
        "elicitation/create" => json!({
            "action": "accept",
            "content": { "name": "Ann", "color": "red", "username": "ann", "email": "a@b", "ok": true, "context": "c" },
        }),
        other => panic!("asked for {other}"),
    })
}

#[tokio::test]
async fn every_question_reaches_the_client_and_its_answer_the_server() {
    let world = World::new().await;
    for way in world.ways(answer_everything).await {
        for (tool, arguments, answer) in [
            (
                "test_sampling",
                json!({ "prompt": "Hello" }),
                "LLM response: sampled",
            ),
            (
                "test_elicitation",
                json!({ "message": "Who are you?" }),
                r#"User response: action=accept, content={"name":"Ann","color":"red","username":"ann","email":"a@b","ok":true,"context":"c"}"#,
            ),
            (
                "test_input_required_result_list_roots",
                json!({}),
                r#"Roots: [{"uri":"file:///home/ann"}]"#,
            ),
            (
                "test_input_required_result_request_state",
                json!({}),
                "state-ok, confirmed: true",
            ),
            (
                "test_input_required_result_multi_round",
                json!({}),
                "Ann likes red",
            ),
            (
                "test_input_required_result_multiple_inputs",
                json!({}),
                r#"sampled Ann, your roots: [{"uri":"file:///home/ann"}]"#,
            ),
            (
                "test_missing_capability",
                json!({}),
                "The client can sample",
            ),
        ] {
            assert_eq!(way.call(tool, &arguments).await.text(), answer, "{tool}");
        }
    }
}

#[tokio::test]
async fn no_is_an_answer_too() {
    let world = World::new().await;
    for action in ["decline", "cancel"] {
        let refusing = |it: ClientBuilder| it.answer_with(move |_, _| json!({ "action": action }));
        for way in world.ways(refusing).await {
            let output = way
                .call("test_elicitation", &json!({ "message": "?" }))
                .await
                .text();
            assert_eq!(
                output,
                format!("User response: action={action}, content=null")
            );
        }
    }
}

#[tokio::test]
async fn a_question_names_its_server_and_is_otherwise_unchanged() {
    let world = World::new().await;
    for way in world.ways(answer_everything).await {
        let params =
            json!({ "name": way.name("test_elicitation"), "arguments": { "message": "Who?" } });
        let mut exchange = way.client.start("tools/call", &params).await;
        let message = exchange.next().await.unwrap();
        way.client.answer_if_asked(&message).await;
        exchange.finish().await;
        let question = first_question(&message);
        // On the merged endpoint the user only sees Kitbag, so the text itself names the asking server.
        let expected = match way.endpoint {
            Endpoint::One => "Who?".to_owned(),
            Endpoint::All | Endpoint::Stdio | Endpoint::Joined => {
                format!("`{}` asks: Who?", way.server.name)
            }
        };
        assert_eq!(question["message"], expected);
        assert_eq!(
            question["requestedSchema"]["required"],
            json!(["username", "email"])
        );
        // Modern servers ask modern clients in a result, which is otherwise unchanged.
        if (way.client.era, way.server.era) != (Era::Modern, Era::Modern) {
            assert_eq!(question["_meta"]["io.kitbag/server"], way.server.name);
        }
    }
}

#[tokio::test]
async fn a_client_that_cannot_answer_is_not_asked_and_the_call_says_why() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        for (tool, capability) in [
            ("test_sampling", "sampling"),
            ("test_elicitation", "elicitation"),
            ("test_input_required_result_list_roots", "roots"),
        ] {
            let reply = way
                .call(tool, &json!({ "prompt": "x", "message": "x" }))
                .await;
            check_incapable(way.client.era, way.endpoint, &reply, capability);
        }
        assert_eq!(
            way.call("test_input_required_result_capabilities", &json!({}))
                .await
                .text()
                .split(' ')
                .next(),
            Some("The")
        );
    }
}

#[tokio::test]
async fn a_client_is_asked_only_for_what_it_declared() {
    let world = World::new().await;
    let sampler = |it: ClientBuilder| answer_everything(it).capabilities(json!({ "sampling": {} }));
    for way in world.ways(sampler).await {
        let sampled = way
            .call("test_sampling", &json!({ "prompt": "Hello" }))
            .await;
        assert_eq!(sampled.text(), "LLM response: sampled");
        let reply = way
            .call("test_elicitation", &json!({ "message": "x" }))
            .await;
        check_incapable(way.client.era, way.endpoint, &reply, "elicitation");
        let given = way
            .call("test_input_required_result_capabilities", &json!({}))
            .await;
        assert_eq!(given.text(), "The client gave 1");
    }
}

#[tokio::test]
async fn a_page_to_visit_is_shown_as_the_clients_era_requires() {
    let world = World::new().await;
    for way in world.ways(answer_everything).await {
        match (way.client.era, way.server.era) {
            // With a legacy server and a legacy client, the server's error passes unchanged.
            (Era::Legacy, Era::Legacy) => {
                let refused = way.call("url_elicitation", &json!({})).await;
                assert_eq!(refused.code(), -32042);
                let page = &refused.error()["data"]["elicitations"][0];
                assert_eq!(
                    (&page["mode"], &page["url"]),
                    (&json!("url"), &json!("https://example.com/sign-in"))
                );
                assert_eq!(
                    way.call("url_elicitation", &json!({})).await.text(),
                    "Visited: the second call"
                );
            }
            (Era::Modern, Era::Legacy) => {
                let params = json!({ "name": way.name("url_elicitation") });
                let question = first_question(
                    &way.client
                        .start("tools/call", &params)
                        .await
                        .next()
                        .await
                        .unwrap(),
                );
                assert_eq!(question["mode"], "url");
                assert_eq!(question["url"], "https://example.com/sign-in");
                assert_eq!(question["_meta"]["io.kitbag/server"], way.server.name);
                assert_eq!(
                    way.call("url_elicitation", &json!({})).await.text(),
                    "Visited: the second call"
                );
                assert_eq!(
                    way.call("url_elicitation", &json!({})).await.text(),
                    "Visited: the second call"
                );
            }
            (client_era, Era::Modern) => {
                let params = json!({ "name": way.name("url_elicitation") });
                let mut exchange = way.client.start("tools/call", &params).await;
                let message = exchange.next().await.unwrap();
                way.client.answer_if_asked(&message).await;
                exchange.finish().await;
                let question = first_question(&message);
                assert_eq!(question["mode"], "url");
                assert_eq!(
                    question["elicitationId"].is_string(),
                    client_era == Era::Legacy
                );
                let reply = way.call("url_elicitation", &json!({})).await;
                assert_eq!(reply.text(), "Visited: action=accept, content=null");
            }
        }
    }
}

#[tokio::test]
async fn a_modern_client_without_url_support_gets_the_missing_capability() {
    let world = World::new().await;
    let forms_only = |it: ClientBuilder| {
        answer_everything(it).capabilities(json!({ "elicitation": { "form": {} } }))
    };
    for way in world
        .ways_through(Endpoint::All, Era::Modern, forms_only)
        .await
    {
        if way.server.era == Era::Legacy {
            let reply = way.call("url_elicitation", &json!({})).await;
            assert_eq!(
                (reply.status, reply.code()),
                (400, -32021),
                "{}",
                reply.raw()
            );
            assert_eq!(
                reply.error()["data"]["requiredCapabilities"],
                json!({ "elicitation": { "url": {} } })
            );
        }
    }
}

/// The params of the first question in a message, in either era.
#[track_caller]
fn first_question(message: &str) -> Value {
    let message: Value = serde_json::from_str(message).unwrap();
    if message["method"] == "elicitation/create" {
        return message["params"].clone();
    }
    let questions = message["result"]["inputRequests"]
        .as_object()
        .unwrap_or_else(|| panic!("no question: {message}"));
    questions.values().next().unwrap()["params"].clone()
}

#[track_caller]
fn check_incapable(client_era: Era, endpoint: Endpoint, reply: &Reply, capability: &str) {
    assert!(
        reply.error()["message"]
            .as_str()
            .unwrap()
            .contains(capability),
        "{}",
        reply.raw()
    );
    if client_era == Era::Modern {
        assert_eq!(reply.code(), -32021);
        assert_eq!(
            reply.error()["data"]["requiredCapabilities"],
            json!({ capability: {} })
        );
        assert_eq!(reply.status, if endpoint.is_on_stdio() { 0 } else { 400 });
    }
}
