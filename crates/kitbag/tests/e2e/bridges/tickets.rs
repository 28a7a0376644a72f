//! A modern client that is asked by a legacy server resumes with the answer and a ticket. A ticket is
//! valid once, for its own caller and call.

use serde_json::{Value, json};

use crate::harness::world::{Endpoint, World};
use crate::harness::{Client, Era, Gateway, Home, Reply, Testbed};

const TOOL: &str = "good__test_elicitation";

fn legacy() -> String {
    Testbed::new("good").era("legacy").table()
}

async fn ask(client: &Client, message: &str) -> Value {
    let result = client
        .call(TOOL, &json!({ "message": message }))
        .await
        .result();
    assert_eq!(result["resultType"], "input_required", "{result}");
    result
}

async fn come_back(client: &Client, message: &str, asked: &Value) -> Reply {
    let answers: serde_json::Map<_, _> = asked["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .map(|key| {
            (
                key.clone(),
                json!({ "action": "accept", "content": { "username": message } }),
            )
        })
        .collect();
    let params = json!({
        "name": TOOL,
        "arguments": { "message": message },
        "inputResponses": answers,
        "requestState": asked["requestState"],
    });
    client.request("tools/call", &params).await
}

async fn connect(gateway: &Gateway, key: Option<&str>) -> Client {
    let builder = gateway
        .client_at("/mcp/all", Era::Modern)
        .capabilities(json!({ "elicitation": {} }));
    let client = match key {
        Some(key) => builder.key(key).connect().await,
        None => builder.connect().await,
    };
    client.knows(TOOL).await;
    client
}

#[tokio::test]
async fn a_ticket_is_valid_once() {
    let gateway = Gateway::with(&legacy()).await;
    let client = connect(&gateway, None).await;
    let asked = ask(&client, "one").await;
    assert_eq!(
        come_back(&client, "one", &asked).await.text(),
        r#"User response: action=accept, content={"username":"one"}"#
    );
    let again = come_back(&client, "one", &asked).await;
    assert_eq!(again.code(), -32602, "{}", again.raw());
}

#[tokio::test]
async fn a_ticket_is_valid_only_for_its_own_call_and_survives_wrong_attempts() {
    let gateway = Gateway::with(&legacy()).await;
    let client = connect(&gateway, None).await;
    let asked = ask(&client, "one").await;
    assert_eq!(come_back(&client, "another", &asked).await.code(), -32602);
    let mut forged = asked.clone();
    forged["requestState"] = json!("kitbag-call-0123456789");
    assert_eq!(come_back(&client, "one", &forged).await.code(), -32602);
    assert!(
        come_back(&client, "one", &asked)
            .await
            .text()
            .contains("accept")
    );
}

#[tokio::test]
async fn a_ticket_is_valid_for_no_other_caller() {
    let home = Home::new(&legacy());
    let key = async |tenant: &str| {
        home.kitbag(&["key", "create", "--tenant", tenant])
            .await
            .stdout
            .trim()
            .to_owned()
    };
    let (ours, colleagues, strangers) = (key("acme").await, key("acme").await, key("globex").await);
    let gateway = home.serve().await;
    let client = connect(&gateway, Some(&ours)).await;
    let asked = ask(&client, "one").await;
    for other in [Some(strangers.as_str()), Some(colleagues.as_str()), None] {
        let thief = connect(&gateway, other).await;
        let refused = come_back(&thief, "one", &asked).await;
        assert_eq!(refused.code(), -32602, "{}", refused.raw());
    }
    assert!(
        come_back(&client, "one", &asked)
            .await
            .text()
            .contains("accept")
    );
}

#[tokio::test]
async fn a_missing_answer_is_requested_again() {
    let gateway = Gateway::with(&legacy()).await;
    let client = connect(&gateway, None).await;
    let asked = ask(&client, "one").await;
    let params = json!({
        "name": TOOL, "arguments": { "message": "one" },
        "inputResponses": {}, "requestState": asked["requestState"],
    });
    let again = client.request("tools/call", &params).await.result();
    assert_eq!(again["inputRequests"], asked["inputRequests"]);
    assert_ne!(
        again["requestState"], asked["requestState"],
        "the old ticket is spent"
    );
    assert!(
        come_back(&client, "one", &again)
            .await
            .text()
            .contains("accept")
    );
}

#[tokio::test]
async fn clients_that_never_return_block_nothing() {
    let testbed = Testbed::new("good")
        .era("legacy")
        .with("max_concurrent = 2")
        .with("max_queued = 1");
    let gateway = Gateway::with(&testbed.table()).await;
    let client = connect(&gateway, None).await;
    for number in 0..10 {
        ask(&client, &format!("never answered {number}")).await;
    }
    assert_eq!(client.call("good__echo", &json!({})).await.text(), "{}");
    let asked = ask(&client, "answered").await;
    assert!(
        come_back(&client, "answered", &asked)
            .await
            .text()
            .contains("answered")
    );
    assert!(gateway.stop().await.success());
}

#[tokio::test]
async fn a_ticket_for_a_modern_server_is_its_own_and_passes_untouched() {
    let world = World::new().await;
    let prepare =
        |it: crate::harness::client::ClientBuilder| it.capabilities(json!({ "elicitation": {} }));
    for endpoint in Endpoint::ALL {
        for way in world.ways_through(endpoint, Era::Modern, prepare).await {
            if way.server.era == Era::Legacy {
                continue;
            }
            let tool = "test_input_required_result_tampered_state";
            let asked = way.call(tool, &json!({})).await.result();
            let state = asked["requestState"].as_str().unwrap().to_owned();
            let back = async |state: &str| {
                let answer =
                    json!({ "confirm": { "action": "accept", "content": { "ok": true } } });
                let params = json!({ "name": way.name(tool), "arguments": {}, "inputResponses": answer, "requestState": state });
                way.client.request("tools/call", &params).await
            };
            assert_eq!(
                back(&format!("{state}x")).await.code(),
                -32602,
                "the server sees what was done to it"
            );
            assert_eq!(back(&state).await.text(), "state-ok, confirmed: true");
        }
    }
}
