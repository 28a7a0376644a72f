//! Searches, discoveries and group changes are audited like calls, with their cost and without secrets.

use serde_json::{Value, json};

use super::rows;
use crate::harness::{Era, Home, Testbed};

const CONFIG: &str =
    "[audit]\narguments = \"redacted\"\n[tools.\"good__echo\"]\ncost_usd = 0.002\n";

#[tokio::test]
async fn every_search_discovery_and_group_change_is_audited_with_its_cost() {
    let home = Home::new(&format!("{CONFIG}{}", Testbed::new("good").table()));
    let gateway = home.serve().await;
    let all = gateway.client_at("/mcp/all", Era::Modern).connect().await;
    all.knows("good__echo").await;
    let client = gateway
        .client_at("/mcp/adaptive", Era::Modern)
        .named("asker")
        .connect()
        .await;
    let query = "repeat a message, password: hunter2";
    for (tool, arguments) in [
        ("search_available_tools", json!({ "query": query })),
        ("discover_apis", json!({ "tool": "good__echo" })),
        ("discover_apis", json!({ "tool": "good__nothing" })),
        ("enable_tool_group", json!({ "group": "good" })),
        (
            "call_api",
            json!({ "tool": "good__echo", "arguments": { "message": "hello", "token": "hunter2" } }),
        ),
    ] {
        client.call(tool, &arguments).await;
    }
    let body = json!({ "intent": "repeat a message" }).to_string();
    let post = reqwest::Client::new().post(format!("{}/v1/retrieve", gateway.base));
    post.body(body).send().await.unwrap();
    rows(&home, 6).await;

    let shown = async |words: &[&str]| -> Vec<Value> {
        let output = home.kitbag(&[&["audit", "--json"], words].concat()).await;
        let lines = output.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let output = shown(&[]).await;
    let found: Vec<_> = output
        .iter()
        .map(|row| ["event", "name", "outcome"].map(|field| row[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ["search", "search_available_tools", "ok"],
            ["discovery", "good__echo", "ok"],
            ["discovery", "good__nothing", "invalid"],
            ["group_change", "good", "ok"],
            ["call", "echo", "ok"],
            ["search", "/v1/retrieve", "ok"],
        ]
    );
    for row in &output {
        assert!(row["latency_ms"].as_f64() > Some(0.0), "{row:#}");
        assert_eq!(row["tenant"], "local", "{row:#}");
        assert_eq!(
            row["tokens"].as_f64() > Some(0.0),
            row["outcome"] == "ok",
            "{row:#}"
        );
    }
    assert_eq!(output[0]["client"], "asker");
    assert_eq!(
        (&output[4]["cost_usd"], &output[0]["cost_usd"]),
        (&json!(0.002), &Value::Null)
    );
    assert_eq!(
        output[0]["arguments"],
        r#"{"query":"repeat a message, password: •••"}"#
    );
    assert_eq!(
        output[4]["arguments"],
        r#"{"message":"hello","token":"•••"}"#
    );
    assert_eq!(shown(&["--event", "search"]).await.len(), 2);

    let csv = home.kitbag(&["audit", "export", "--format", "csv"]).await;
    let head = csv.stdout.lines().next().unwrap();
    assert!(head.contains("latency_ms,tokens,cost_usd"), "{head}");
    assert_eq!(csv.stdout.lines().count(), 7);
    assert!(!csv.stdout.contains("hunter2"), "{}", csv.stdout);
}
