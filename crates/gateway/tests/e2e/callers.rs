//! Who may come in, what they may do, and what is written down about it.

use serde_json::{Value, json};

use kitbag_domain::{Kind, Outcome};
use kitbag_store::{AuditQuery, Entry, Store, What};

use crate::harness::{Client, Gateway, Home, Manner, Testbed, until};

const RULES: &str = r#"
[tenants.acme]
deny_tools = ["*/exotic", "good/test://static-text", "good/test_simple_prompt"]
deny_servers = ["secret"]
"#;

fn servers() -> String {
    format!(
        "{}{}{RULES}",
        Testbed::named("good").table(),
        Testbed::named("secret").table()
    )
}

/// A new key: its id, and the key itself.
pub(crate) async fn key(home: &Home, tenant: &str) -> (String, String) {
    let told = home
        .kitbag(&["key", "create", "--tenant", tenant, "--json"])
        .await;
    let created: Value = serde_json::from_str(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    (
        created["id"].as_str().unwrap().to_owned(),
        created["key"].as_str().unwrap().to_owned(),
    )
}

async fn settled(gateway: &Gateway) {
    let client = gateway.client(Manner::Modern).await;
    client.knows("good__exotic").await;
    client.knows("secret__exotic").await;
}

#[tokio::test]
async fn what_a_tenant_may_not_use_is_neither_shown_to_it_nor_done_for_it() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    settled(&gateway).await;
    for manner in Manner::BOTH {
        let client = gateway
            .visitor("/mcp/all", manner)
            .key(&acme)
            .connect()
            .await;
        let tools = client.tool_names().await;
        assert!(tools.contains(&"good__echo".to_owned()));
        assert!(
            !tools
                .iter()
                .any(|tool| tool.ends_with("__exotic") || tool.starts_with("secret")),
            "{tools:?}"
        );
        for (method, key) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let listed = json!(client.list(method, key).await).to_string();
            assert!(
                !listed.contains("secret") && !listed.contains("test_simple_prompt"),
                "{listed}"
            );
            assert!(!listed.contains("test://static-text"), "{listed}");
        }
        for tool in ["good__exotic", "secret__exotic", "secret__echo"] {
            let refused = client.call(tool, &json!({})).await.error()["message"].to_string();
            assert!(
                refused.contains(&format!("there is no tool called `{tool}`")),
                "{refused}"
            );
        }
        for (method, params) in [
            ("prompts/get", json!({ "name": "good__test_simple_prompt" })),
            (
                "prompts/get",
                json!({ "name": "secret__test_simple_prompt" }),
            ),
            ("resources/read", json!({ "uri": "test://static-text" })),
            (
                "resources/read",
                json!({ "uri": "kitbag://server/secret/test://static-text" }),
            ),
            (
                "resources/read",
                json!({ "uri": "kitbag://server/secret/test://template/1/data" }),
            ),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "secret__test_prompt_with_arguments" }, "argument": { "name": "arg1", "value": "" } }),
            ),
        ] {
            let reply = client.request(method, &params).await;
            assert!(
                reply.error()["message"]
                    .as_str()
                    .unwrap()
                    .contains("there is no "),
                "{params}: {}",
                reply.raw()
            );
        }
        if manner == Manner::Legacy {
            for uri in [
                "test://static-text",
                "kitbag://server/secret/test://watched-resource",
            ] {
                let refused = client
                    .request("resources/subscribe", &json!({ "uri": uri }))
                    .await;
                assert!(
                    refused.error()["message"]
                        .as_str()
                        .unwrap()
                        .contains("there is no resource"),
                    "{}",
                    refused.raw()
                );
            }
        }
    }
}

#[tokio::test]
async fn the_route_of_one_server_follows_the_same_rules() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    for manner in Manner::BOTH {
        let client = gateway
            .visitor("/servers/good/mcp", manner)
            .key(&acme)
            .connect()
            .await;
        let tools = client.tool_names().await;
        assert!(
            tools.contains(&"echo".to_owned()) && !tools.contains(&"exotic".to_owned()),
            "{tools:?}"
        );
        let called = client.call("exotic", &json!({})).await;
        assert!(
            called.error()["message"]
                .as_str()
                .unwrap()
                .contains("there is no tool called `exotic`")
        );
        let read = client
            .request("resources/read", &json!({ "uri": "test://static-text" }))
            .await;
        assert!(
            read.error()["message"]
                .as_str()
                .unwrap()
                .contains("there is no resource")
        );

        let hidden = gateway
            .visitor("/servers/secret/mcp", manner)
            .key(&acme)
            .unannounced();
        let none = gateway
            .visitor("/servers/nobody/mcp", manner)
            .key(&acme)
            .unannounced();
        for method in ["initialize", "server/discover", "tools/list"] {
            let (hidden, none) = (
                hidden.request(method, &json!({})).await,
                none.request(method, &json!({})).await,
            );
            assert_eq!((hidden.status, none.status), (404, 404));
            let as_if = none.raw().replace("nobody", "secret");
            assert_eq!(
                hidden.raw(),
                as_if,
                "a hidden server looks like one that is not there"
            );
        }
    }
}

#[tokio::test]
async fn a_name_written_twice_slips_past_no_rule() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    settled(&gateway).await;
    for (path, allowed, denied) in [
        ("/servers/good/mcp", "echo", "exotic"),
        ("/mcp/all", "good__echo", "good__exotic"),
    ] {
        let client = gateway
            .visitor(path, Manner::Legacy)
            .key(&acme)
            .connect()
            .await;
        let headers = client.headers("", &Value::Null);
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        for (first, last) in [(allowed, denied), (denied, allowed)] {
            for member in ["name", r"n\u0061me"] {
                let params =
                    format!(r#"{{"name":"{first}","arguments":{{}},"{member}":"{last}"}}"#);
                let body = client.body(1, "tools/call", &params);
                let reply = gateway.post(path, &headers, body).await;
                assert!(
                    !reply.raw().contains("hologram"),
                    "{params} ran what was denied: {}",
                    reply.raw()
                );
            }
        }
    }
}

#[tokio::test]
async fn only_the_key_says_who_the_tenant_is() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    settled(&gateway).await;
    let claims = [
        ("x-tenant", "local"),
        ("x-kitbag-tenant", "local"),
        ("tenant", "local"),
        ("forwarded", "for=127.0.0.1"),
        ("x-forwarded-for", "127.0.0.1"),
    ];
    let params = json!({
        "name": "good__exotic",
        "arguments": { "tenant": "local" },
        "tenant": "local",
        "_meta": { "tenant": "local", "io.kitbag/tenant": "local" },
    });
    let send = async |client: &Client| {
        let mut headers = client.headers("tools/call", &params);
        headers.extend(claims.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway
            .post(
                "/mcp/all?tenant=local",
                &headers,
                client.body(1, "tools/call", &params.to_string()),
            )
            .await
    };
    for manner in Manner::BOTH {
        let client = gateway
            .visitor("/mcp/all", manner)
            .key(&acme)
            .connect()
            .await;
        assert!(
            send(&client).await.error()["message"]
                .to_string()
                .contains("there is no tool")
        );
        let local = gateway.client(manner).await;
        assert!(
            send(&local).await.raw().contains("hologram"),
            "the tenant `local` has no such rule"
        );
    }
}

#[tokio::test]
async fn a_key_that_is_unknown_or_no_key_at_all_is_turned_away() {
    let home = Home::new(&servers());
    let (_, good) = key(&home, "acme").await;
    let gateway = home.serve().await;
    let client = gateway.visitor("/mcp/all", Manner::Modern).unannounced();
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
async fn a_revoked_key_no_longer_opens_the_door() {
    let home = Home::new(&servers());
    let (id, token) = key(&home, "acme").await;
    let (_, other) = key(&home, "acme").await;
    let gateway = home.serve().await;
    let mut clients = Vec::new();
    for manner in Manner::BOTH {
        clients.push(
            gateway
                .visitor("/mcp/all", manner)
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
        revoked.elapsed().as_secs() < 3,
        "it took {:?}",
        revoked.elapsed()
    );
    let still = gateway
        .visitor("/mcp/all", Manner::Modern)
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
        .visitor("/mcp/all", Manner::Legacy)
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
async fn a_gateway_that_wants_keys_wants_them_from_this_machine_too() {
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
    for manner in Manner::BOTH {
        let stranger = gateway.visitor("/mcp/all", manner).unannounced();
        let reply = stranger.request("tools/list", &json!({})).await;
        assert_eq!(reply.status, 401);
        assert!(reply.raw().contains("kitbag key create"), "{}", reply.raw());
        let client = gateway
            .visitor("/mcp/all", manner)
            .key(&token)
            .connect()
            .await;
        client.knows("good__exotic").await;
    }
}

#[tokio::test]
async fn nobody_listens_to_the_world_without_a_lock_on_the_door() {
    let home = Home::new(&servers());
    for bind in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let refused = home.kitbag(&["serve", "--bind", bind]).await;
        assert_ne!(refused.code, Some(0), "{bind}");
        assert!(
            refused.stderr.contains("anyone who reaches this machine"),
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
async fn pages_from_elsewhere_and_names_that_are_not_ours_are_turned_away() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nallowed_origins = [\"https://app.example\"]\n";
    let gateway = Gateway::with(&format!("{serve}{}", servers())).await;
    let client = gateway.visitor("/mcp/all", Manner::Modern).unannounced();
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

#[tokio::test]
async fn every_call_leaves_a_row_that_says_who_what_and_how_it_ended() {
    let broken = Testbed::named("broken")
        .era("modern")
        .manner("crash-at-start")
        .table();
    let slow = Testbed::named("slow")
        .era("legacy")
        .with("call_timeout = \"200ms\"")
        .table();
    let home = Home::new(&format!("{broken}{slow}{}", servers()));
    let (id, token) = key(&home, "acme").await;
    let gateway = home.serve().await;
    settled(&gateway).await;
    let prepare = |path: &str| {
        gateway
            .visitor(path, Manner::Modern)
            .capabilities(json!({ "elicitation": {} }))
            .called("auditor")
    };
    let acme = prepare("/mcp/all").key(&token).connect().await;
    acme.call("good__echo", &json!({ "secret": "not to be written down" }))
        .await;
    acme.call("good__test_error_handling", &json!({})).await;
    acme.call("good__exotic", &json!({})).await;
    acme.call("good__exotic_error", &json!({})).await;
    acme.call("good__nothing_like_it", &json!({})).await;
    acme.call("nonsense", &json!({})).await;
    acme.call("good__echo", &json!("not an object")).await;
    acme.call("good__test_elicitation", &json!({ "message": "?" }))
        .await;
    acme.request(
        "prompts/get",
        &json!({ "name": "good__test_prompt_with_image" }),
    )
    .await;
    acme.request(
        "resources/read",
        &json!({ "uri": "kitbag://server/good/test://static-binary" }),
    )
    .await;
    let local = prepare("/servers/broken/mcp").connect().await;
    local.call("anything", &json!({})).await;
    let local = prepare("/servers/slow/mcp").connect().await;
    local.call("slow", &json!({ "ms": 10_000 })).await;
    let store = Store::open(&home.path("kitbag.db")).await.unwrap();
    let query = AuditQuery {
        entries: vec![Entry::Call],
        ..AuditQuery::newest(100)
    };
    let rows = until("the rows are written", async || {
        let rows = store.audit(&query).await.unwrap();
        (rows.len() >= RECORDED.len()).then_some(rows)
    })
    .await;
    let mut seen = rows;
    seen.sort_by_key(|it| it.at.0);
    for (seen, (tenant, server, kind, name, outcome)) in seen.iter().zip(RECORDED) {
        let What::Call {
            capability,
            latency,
            ..
        } = &seen.what
        else {
            panic!("{seen:?}")
        };
        assert_eq!(
            (
                capability.server.as_str(),
                capability.kind,
                capability.name.as_str()
            ),
            (server, kind, name)
        );
        assert_eq!(seen.outcome, outcome, "{name}");
        let key = (tenant == "acme").then(|| kitbag_domain::KeyId(id.clone()));
        assert_eq!(
            (&seen.tenant, &seen.key),
            (&tenant.parse().ok(), &key),
            "{name}"
        );
        assert_eq!(seen.address.as_deref(), Some("127.0.0.1"));
        assert!(
            seen.request.as_ref().is_some_and(|id| id.len() == 16),
            "{:?}",
            seen.request
        );
        assert_eq!(seen.client.as_deref(), Some("auditor"));
        if outcome == Outcome::Ok {
            assert!(
                !latency.is_zero() && latency.as_secs() < 10,
                "{name}: {latency:?}"
            );
        }
        if outcome == Outcome::TimedOut {
            assert!(latency.as_millis() >= 200, "{latency:?}");
        }
    }
    assert_eq!(seen.len(), RECORDED.len());
    let bytes = std::fs::read(home.path("kitbag.db")).unwrap();
    assert!(
        !String::from_utf8_lossy(&bytes).contains("not to be written down"),
        "arguments are nobody's business"
    );
}

/// Tenant, server, kind and name of what was called, and how it ended.
const RECORDED: [(&str, &str, Kind, &str, Outcome); 12] = [
    ("acme", "good", Kind::Tool, "echo", Outcome::Ok),
    (
        "acme",
        "good",
        Kind::Tool,
        "test_error_handling",
        Outcome::ToolError,
    ),
    ("acme", "good", Kind::Tool, "exotic", Outcome::Denied),
    ("acme", "good", Kind::Tool, "exotic_error", Outcome::Refused),
    (
        "acme",
        "good",
        Kind::Tool,
        "good__nothing_like_it",
        Outcome::Invalid,
    ),
    ("acme", "unknown", Kind::Tool, "nonsense", Outcome::Invalid),
    ("acme", "good", Kind::Tool, "echo", Outcome::Invalid),
    (
        "acme",
        "good",
        Kind::Tool,
        "test_elicitation",
        Outcome::InputRequired,
    ),
    (
        "acme",
        "good",
        Kind::Prompt,
        "test_prompt_with_image",
        Outcome::Ok,
    ),
    (
        "acme",
        "good",
        Kind::Resource,
        "test://static-binary",
        Outcome::Ok,
    ),
    (
        "local",
        "broken",
        Kind::Tool,
        "anything",
        Outcome::Unavailable,
    ),
    ("local", "slow", Kind::Tool, "slow", Outcome::TimedOut),
];
