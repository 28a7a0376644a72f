//! The access log: one line per HTTP request, without secrets.

use serde_json::{Value, json};

use super::key;
use crate::harness::{Era, Gateway, Home, Testbed, until};

async fn lines(gateway: &Gateway, at_least: usize) -> Vec<String> {
    until("the lines are written", async || {
        let log = gateway.log();
        let lines: Vec<_> = log
            .lines()
            .filter(|line| line.contains("kitbag::access"))
            .map(str::to_owned)
            .collect();
        (lines.len() >= at_least).then_some(lines)
    })
    .await
}

#[tokio::test]
async fn the_access_log_has_a_line_for_each_http_request() {
    let home = Home::new("");
    home.export("KITBAG_LOG_FORMAT", "json");
    home.configure(&format!(
        "[serve]\nbind = \"127.0.0.1:0\"\naccess_log = true\n[tenants.acme]\ndeny_tools = [\"*/exotic\"]\n{}",
        Testbed::new("good").table()
    ));
    let token = key(&home, "acme").await;
    let gateway = home.serve().await;
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .key(&token)
        .without_handshake();
    client
        .call("good__echo", &json!({ "message": "s3cret-argument" }))
        .await;
    reqwest::get(format!(
        "{}/nothing/here?token=s3cret-in-query",
        gateway.base
    ))
    .await
    .unwrap();
    let lines = lines(&gateway, 2).await;
    let line = |path: &str| -> Value {
        let found = lines.iter().find(|line| line.contains(path));
        serde_json::from_str(found.unwrap_or_else(|| panic!("no {path}: {lines:?}"))).unwrap()
    };
    let call = line("/mcp/all");
    let text = call.to_string();
    for part in ["POST", "\"200\"", "acme", "127.0.0.1", "request"] {
        assert!(
            text.contains(part) || text.contains(&part.replace('"', "")),
            "no {part}: {text}"
        );
    }
    assert!(line("/nothing/here").to_string().contains("404"));
    let log = lines.join("\n");
    for secret in [token.as_str(), "s3cret-argument", "s3cret-in-query"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn without_the_setting_there_is_no_access_log() {
    let gateway = Gateway::with(&Testbed::new("good").table()).await;
    gateway.client(Era::Modern).await.knows("good__echo").await;
    assert!(!gateway.log().contains("kitbag::access"));
}
