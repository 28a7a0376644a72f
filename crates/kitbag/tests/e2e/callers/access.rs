//! Keys, sessions, addresses and origins: which requests are accepted.

use serde_json::{Value, json};

use super::{key, servers};
use crate::harness::{Era, Gateway, Home, until};

#[tokio::test]
async fn an_unknown_or_missing_key_is_rejected() {
    let home = Home::new(&servers());
    let (_, good) = key(&home, "acme").await;
    let gateway = home.serve().await;
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .without_handshake();
    let body = client.body(1, "tools/list", "{}");
    let mut almost = good.clone();
    almost.pop();
    for authorization in [
        "Bearer garbage".to_owned(),
        "Bearer kb_".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Basic dXNlcjpwYXNz".to_owned(),
        String::new(),
        good.clone(),
        format!("Bearer {almost}"),
        format!("Bearer {good}x"),
        format!("Bearer {}", good.to_uppercase()),
        format!("Bearer {}", "x".repeat(5000)),
        format!("Bearer {good} {good}"),
    ] {
        let mut headers = client.headers("tools/list", &Value::Null);
        headers.push(("authorization".to_owned(), authorization.clone()));
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let reply = gateway.post("/mcp/all", &headers, body.clone()).await;
        assert_eq!(reply.status, 401, "{authorization}");
        assert!(reply.headers.contains_key("www-authenticate"));
        assert!(!reply.raw().contains(&good), "a refusal repeats no secret");
    }
    assert!(!gateway.log().contains(&good), "the log holds no secret");
}

#[tokio::test]
async fn a_revoked_key_is_no_longer_accepted() {
    let home = Home::new(&servers());
    let (id, token) = key(&home, "acme").await;
    let (_, other) = key(&home, "acme").await;
    let gateway = home.serve().await;
    let mut clients = Vec::new();
    for era in Era::each() {
        clients.push(
            gateway
                .client_at("/mcp/all", era)
                .key(&token)
                .connect()
                .await,
        );
    }
    assert_eq!(home.kitbag(&["key", "revoke", &id]).await.code, Some(0));
    let revoked = std::time::Instant::now();
    for client in &clients {
        until("the key is refused", async || {
            (client.request("tools/list", &json!({})).await.status == 401).then_some(())
        })
        .await;
    }
    assert!(
        revoked.elapsed().as_secs() < 20,
        "it took {:?}",
        revoked.elapsed()
    );
    let still = gateway
        .client_at("/mcp/all", Era::Modern)
        .key(&other)
        .connect()
        .await;
    assert_eq!(still.request("tools/list", &json!({})).await.status, 200);
}

#[tokio::test]
async fn a_session_belongs_to_the_key_that_opened_it() {
    let home = Home::new(&servers());
    let ((_, one), (_, two)) = (key(&home, "acme").await, key(&home, "acme").await);
    let gateway = home.serve().await;
    let client = gateway
        .client_at("/mcp/all", Era::Legacy)
        .key(&one)
        .connect()
        .await;
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let with = async |authorization: Option<String>| {
        let mut headers = client.headers("", &Value::Null);
        headers.retain(|(name, _)| name != "authorization");
        headers.extend(authorization.map(|it| ("authorization".to_owned(), it)));
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway.post("/mcp/all", &headers, ping).await.status
    };
    assert_eq!(with(Some(format!("Bearer {one}"))).await, 200);
    assert_eq!(with(Some(format!("bearer {one}"))).await, 200);
    assert_eq!(with(Some(format!("Bearer {two}"))).await, 404);
    assert_eq!(with(None).await, 404);
}

#[tokio::test]
async fn a_gateway_that_requires_keys_requires_them_from_this_machine_too() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n";
    let home = Home::new(&format!("{serve}{}", servers()));
    let refused = home.kitbag(&["serve"]).await;
    assert_ne!(refused.code, Some(0));
    assert!(
        refused.stderr.contains("kitbag key create"),
        "{}",
        refused.stderr
    );

    let (_, token) = key(&home, "local").await;
    let gateway = home.serve().await;
    for era in Era::each() {
        let stranger = gateway.client_at("/mcp/all", era).without_handshake();
        let reply = stranger.request("tools/list", &json!({})).await;
        assert_eq!(reply.status, 401);
        assert!(reply.raw().contains("kitbag key create"), "{}", reply.raw());
        let client = gateway
            .client_at("/mcp/all", era)
            .key(&token)
            .connect()
            .await;
        client.knows("good__exotic").await;
    }
}

#[tokio::test]
async fn a_gateway_without_keys_does_not_listen_beyond_this_machine() {
    let home = Home::new(&servers());
    for bind in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = home.kitbag(&["serve", "--bind", bind]).await;
        assert_ne!(refused.code, Some(0), "{bind}");
        assert!(
            refused.stderr.contains("anyone who can reach this machine"),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("--require-key"),
            "{}",
            refused.stderr
        );
        let without_key = home
            .kitbag(&["serve", "--bind", bind, "--require-key"])
            .await;
        assert_ne!(without_key.code, Some(0), "{bind}");
        assert!(
            without_key.stderr.contains("kitbag key create"),
            "{}",
            without_key.stderr
        );
    }
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_rejected() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nallowed_origins = [\"https://app.example\"]\n";
    let gateway = Gateway::with(&format!("{serve}{}", servers())).await;
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .without_handshake();
    let port = gateway.base.rsplit(':').next().unwrap();
    let knock = async |extra: &[(&str, &str)]| {
        let mut headers = client.headers("tools/list", &Value::Null);
        headers.extend(
            extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway
            .post("/mcp/all", &headers, client.body(1, "tools/list", "{}"))
            .await
    };
    for (host, origin, status) in [
        ("evil.example", None, 403),
        ("evil.example:7420", None, 403),
        ("127.0.0.1.evil.example", None, 403),
        ("localhost.evil.example", None, 403),
        ("192.0.2.1", None, 403),
        ("127.0.0.1", Some("http://evil.example"), 403),
        ("127.0.0.1", Some("null"), 403),
        ("127.0.0.1", Some("http://localhost@evil.example"), 403),
        ("127.0.0.1", Some("https://app.example.evil.example"), 403),
        ("evil.example", Some("http://localhost"), 403),
        ("localhost", None, 200),
        ("LOCALHOST:1", None, 200),
        ("[::1]:5", None, 200),
        ("127.0.0.1", Some("http://localhost:3000"), 200),
        ("127.0.0.1", Some("https://app.example"), 200),
    ] {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let reply = knock(&headers).await;
        assert_eq!(reply.status, status, "{host} {origin:?}: {}", reply.raw());
        if status == 403 {
            assert!(
                reply.raw().contains("allowed_"),
                "it says what to change: {}",
                reply.raw()
            );
        }
    }
    assert_eq!(
        knock(&[("host", &format!("127.0.0.1:{port}"))])
            .await
            .status,
        200
    );
}
