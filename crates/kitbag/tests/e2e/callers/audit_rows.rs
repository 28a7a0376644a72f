//! Each call has an audit row.

use kitbag_domain::{Kind, Outcome};
use kitbag_store::{AuditQuery, AuditRowContent, AuditRowKind, Store};
use serde_json::json;

use super::{key, servers, wait_until_listed};
use crate::harness::{Era, Home, Testbed, until};

#[tokio::test]
async fn every_call_has_a_row_with_its_caller_subject_and_outcome() {
    let broken = Testbed::new("broken")
        .era("modern")
        .manner("crash-at-start")
        .table();
    let slow = Testbed::new("slow")
        .era("legacy")
        .with("call_timeout = \"200ms\"")
        .table();
    let home = Home::new(&format!("{broken}{slow}{}", servers()));
    let (id, token) = key(&home, "acme").await;
    let gateway = home.serve().await;
    wait_until_listed(&gateway).await;
    let prepare = |path: &str| {
        gateway
            .client_at(path, Era::Modern)
            .capabilities(json!({ "elicitation": {} }))
            .named("auditor")
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
    let store = Store::open(home.store_address()).await.unwrap();
    let query = AuditQuery {
        kinds: vec![AuditRowKind::Call],
        ..AuditQuery::newest(100)
    };
    let rows = until("the rows are written", async || {
        let rows = store.read_audit(&query).await.unwrap();
        (rows.len() >= RECORDED.len()).then_some(rows)
    })
    .await;
    let mut seen = rows;
    seen.sort_by_key(|it| it.at.0);
    for (seen, (tenant, server, kind, name, outcome)) in seen.iter().zip(RECORDED) {
        let AuditRowContent::Call {
            capability,
            latency,
            ..
        } = &seen.content
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
    let everything = home.path("everything.db");
    store.back_up(&everything, |_| {}).await.unwrap();
    let bytes = std::fs::read(everything).unwrap();
    assert!(
        !String::from_utf8_lossy(&bytes).contains("not to be written down"),
        "arguments are not recorded"
    );
}

/// Tenant, server, kind and name of the called capability, and the outcome.
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
