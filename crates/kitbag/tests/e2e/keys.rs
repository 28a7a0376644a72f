//! Roles, expiry and revocation of keys.

use serde_json::{Value, json};

use crate::harness::{Era, Gateway, Home, Testbed, until};

/// The JSON output of `kitbag key create`.
async fn create_key(home: &Home, words: &[&str]) -> Value {
    let output = home
        .kitbag(&[&["key", "create", "--json"], words].concat())
        .await;
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn token(created: &Value) -> &str {
    created["key"].as_str().unwrap()
}

async fn get(gateway: &Gateway, path: &str, key: &str) -> (u16, String) {
    let request = reqwest::Client::new()
        .get(format!("{}{path}", gateway.base))
        .bearer_auth(key);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn an_operators_key_reads_the_figures_of_every_tenant_and_calls_nothing() {
    let home = Home::new(&format!(
        "{}[tenants.acme]\n[tenants.globex]\n",
        Testbed::new("bed").table()
    ));
    let operator = create_key(&home, &["--role", "operator"]).await;
    assert_eq!(
        (&operator["tenant"], &operator["role"]),
        (&Value::Null, &json!("operator"))
    );
    let gateway = home.serve().await;
    for tenant in ["acme", "globex"] {
        let key = create_key(&home, &["--tenant", tenant]).await;
        let client = gateway
            .client_at("/mcp/all", Era::Modern)
            .key(token(&key))
            .connect()
            .await;
        client.knows("bed__echo").await;
        client
            .call("bed__echo", &json!({ "message": "hello" }))
            .await
            .result();
    }
    let operator = token(&operator);
    for path in ["/metrics", "/v1/tokens"] {
        let (status, text) = get(&gateway, path, operator).await;
        assert_eq!(status, 200, "{text}");
        assert!(
            text.contains("acme") && text.contains("globex"),
            "{path}: {text}"
        );
    }
    for path in [
        "/mcp",
        "/mcp/all",
        "/mcp/search",
        "/servers/bed/mcp",
        "/v1/retrieve",
    ] {
        for era in Era::each() {
            let client = gateway
                .client_at(path, era)
                .key(operator)
                .without_handshake();
            let refused = client
                .request("tools/call", &json!({ "name": "bed__echo" }))
                .await;
            assert_eq!(refused.status, 403, "{path}: {}", refused.raw());
            assert!(
                refused.raw().contains("operator's key"),
                "{}",
                refused.raw()
            );
            assert!(
                refused.raw().contains("kitbag key create --tenant NAME"),
                "{}",
                refused.raw()
            );
        }
    }
}

#[tokio::test]
async fn an_expired_key_is_rejected_like_a_revoked_one_and_the_log_says_why() {
    let home = Home::new("[tenants.acme]\n");
    let (brief, other) = (
        create_key(&home, &["--tenant", "acme", "--expires", "1s"]).await,
        create_key(&home, &["--tenant", "acme"]).await,
    );
    let gateway = home.serve().await;
    let refused = until("the key is refused", async || {
        let (status, text) = get(&gateway, "/metrics", token(&brief)).await;
        (status == 401).then_some(text)
    })
    .await;
    home.kitbag(&["key", "revoke", other["id"].as_str().unwrap()])
        .await;
    let revoked = until("the other key is refused", async || {
        let (status, text) = get(&gateway, "/metrics", token(&other)).await;
        (status == 401).then_some(text)
    })
    .await;
    assert_eq!(refused, revoked);
    let log = until("both refusals are in the log", async || {
        let log = gateway.log();
        log.contains("rejected a revoked key").then_some(log)
    })
    .await;
    assert!(
        log.contains("rejected an expired key") && log.contains(brief["id"].as_str().unwrap()),
        "{log}"
    );
    assert!(!log.contains(token(&brief)), "{log}");
    let listed = home.kitbag(&["key", "list"]).await.stdout;
    assert!(
        listed.contains("expired 20") && listed.contains("revoked 20"),
        "{listed}"
    );
}

#[tokio::test]
async fn a_key_that_was_used_is_listed_with_when() {
    let home = Home::new("[tenants.acme]\n");
    let (used, unused) = (
        create_key(&home, &["--tenant", "acme"]).await,
        create_key(&home, &["--tenant", "acme"]).await,
    );
    let gateway = home.serve().await;
    assert_eq!(get(&gateway, "/v1/tokens", token(&used)).await.0, 200);
    let listed = until("its use is written down", async || {
        let output = home.kitbag(&["key", "list", "--json"]).await;
        let keys: Value = serde_json::from_str(&output.stdout).unwrap();
        let find = |it: &Value| {
            keys.as_array()
                .unwrap()
                .iter()
                .find(|key| key["id"] == it["id"])
                .cloned()
        };
        let (used, unused) = (find(&used).unwrap(), find(&unused).unwrap());
        used["last_used_at"].is_string().then_some(unused)
    })
    .await;
    assert_eq!(listed["last_used_at"], Value::Null);
    let shown = home.kitbag(&["key", "list"]).await.stdout;
    assert!(shown.contains("never"), "{shown}");
}

#[tokio::test]
async fn a_rotated_key_works_during_its_grace_period() {
    let home = Home::new("[tenants.acme]\n");
    let former = create_key(&home, &["--tenant", "acme", "--label", "laptop"]).await;
    let id = former["id"].as_str().unwrap();
    let output = home.kitbag(&["key", "rotate", id, "--json"]).await;
    let new: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(
        (&new["tenant"], &new["label"]),
        (&json!("acme"), &json!("laptop"))
    );
    let gateway = home.serve().await;
    assert_eq!(get(&gateway, "/v1/tokens", token(&former)).await.0, 200);
    assert_eq!(get(&gateway, "/v1/tokens", token(&new)).await.0, 200);
    let again = home
        .kitbag(&[
            "key",
            "rotate",
            new["id"].as_str().unwrap(),
            "--grace",
            "0s",
        ])
        .await;
    assert!(again.stderr.contains("no longer works"), "{again:?}");
    until("the rotated key is refused", async || {
        (get(&gateway, "/v1/tokens", token(&new)).await.0 == 401).then_some(())
    })
    .await;
    assert_eq!(
        get(&gateway, "/v1/tokens", again.stdout.trim()).await.0,
        200
    );
}

#[tokio::test]
async fn sessions_and_streams_of_a_key_end_when_the_key_does() {
    let home = Home::new(&format!("{}[tenants.acme]\n", Testbed::new("bed").table()));
    let living = create_key(&home, &["--tenant", "acme"]).await;
    let gateway = home.serve().await;
    let other = gateway
        .client_at("/mcp/all", Era::Legacy)
        .key(token(&living))
        .connect()
        .await;
    other.knows("bed__echo").await;
    for era in Era::each() {
        for ending in [["revoke"].as_slice(), &["rotate", "--grace", "1s"]] {
            let key = create_key(&home, &["--tenant", "acme"]).await;
            let client = gateway
                .client_at("/mcp/all", era)
                .key(token(&key))
                .connect()
                .await;
            let mut stream = client.listen().await;
            let slow = json!({ "name": "bed__slow", "arguments": { "ms": 25_000 } });
            let (ended, called) = tokio::join!(
                async {
                    let (verb, rest) = ending.split_first().unwrap();
                    let words = [&["key", verb, key["id"].as_str().unwrap()], rest].concat();
                    let output = home.kitbag(&words).await;
                    assert_eq!(output.code, Some(0), "{output:?}");
                    // Nothing arrives on it any more except its end.
                    while let Some(message) = stream.next().await {
                        assert!(!message.contains("list_changed"), "{message}");
                    }
                },
                client.request("tools/call", &slow)
            );
            let ((), called) = (ended, called);
            // Either the call or the end of the key may come first.
            assert!(
                called.status == 401 || !called.raw().contains("\"result\":{\"content\""),
                "{}",
                called.raw()
            );
            let refused = client.request("tools/list", &json!({})).await;
            assert_eq!(refused.status, 401, "{}", refused.raw());
        }
    }
    assert_eq!(
        other.request("tools/list", &json!({})).await.status,
        200,
        "another key's session goes on"
    );
}
