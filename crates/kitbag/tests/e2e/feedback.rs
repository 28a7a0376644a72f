//! Reports of agents: who reads them, and how an operator resolves them.

use kitbag_domain::{KeyId, ShortText, Timestamp};
use kitbag_store::{FeedbackLimits, NewFeedback, Store};
use serde_json::{Value, json};

use crate::harness::{Gateway, Home};

/// A report as `submit_feedback` stores it.
fn report(tenant: &str, kind: &str, summary: &str) -> NewFeedback {
    NewFeedback {
        tenant: tenant.parse().unwrap(),
        key: Some(KeyId("k1".to_owned())),
        client: Some(ShortText::truncate("claude")),
        at: Timestamp(1_794_787_200_000),
        kind: kind.to_owned(),
        severity: None,
        tool: None,
        summary: summary.to_owned(),
        details: Some("I tried three tools.".to_owned()),
    }
}

async fn leave_reports(home: &Home) {
    let store = Store::open(home.store_address()).await.unwrap();
    let limits = FeedbackLimits {
        open: 9,
        resolved: 9,
    };
    for report in [
        report("acme", "missing_capability", "No tool reads CAD files."),
        report("acme", "bug", "The log is empty."),
        report("globex", "bug", "The clock is slow."),
    ] {
        store.add_feedback(&report, limits).await.unwrap();
    }
    store.close().await;
}

async fn key(home: &Home, words: &[&str]) -> String {
    let words = [&["key", "create", "--json"], words].concat();
    let output = home.kitbag(&words).await;
    let created: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    created["key"].as_str().unwrap().to_owned()
}

async fn get(gateway: &Gateway, query: &str, key: &str) -> (u16, Value) {
    let url = format!("{}/admin/feedback{query}", gateway.base);
    let request = reqwest::Client::new().get(url).bearer_auth(key);
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_default())
}

fn ids(page: &Value) -> String {
    let rows = page["feedback"].as_array().unwrap().iter();
    let ids: Vec<String> = rows.map(|row| row["id"].to_string()).collect();
    ids.join(" ")
}

#[tokio::test]
async fn an_operator_reads_all_reports_and_resolves_them_and_no_tenant_does() {
    let home = Home::new("[tenants.acme]\n");
    leave_reports(&home).await;
    let acme = key(&home, &["--tenant", "acme"]).await;
    let operator = key(&home, &["--role", "operator"]).await;
    let gateway = home.serve().await;
    assert_eq!(get(&gateway, "", &acme).await.0, 403);
    assert_eq!(get(&gateway, "", "kb_no").await.0, 401);
    assert_eq!(get(&gateway, "?kind=rant", &operator).await.0, 400);
    for (query, expected) in [
        ("", "3 2 1"),
        ("?kind=bug&tenant=acme", "2"),
        ("?limit=2", "3 2"),
    ] {
        let (status, page) = get(&gateway, query, &operator).await;
        assert_eq!((status, ids(&page).as_str()), (200, expected), "{query}");
    }
    let (_, first) = get(&gateway, "?limit=2", &operator).await;
    let next = first["next"].as_str().unwrap();
    let (_, second) = get(&gateway, &format!("?limit=2&cursor={next}"), &operator).await;
    assert_eq!(
        (ids(&second).as_str(), &second["next"]),
        ("1", &Value::Null)
    );

    let shown = home.kitbag(&["feedback", "show", "1"]).await;
    for text in [
        "No tool reads CAD files. (missing_capability, open)",
        "client: claude",
        "three tools",
    ] {
        assert!(shown.stdout.contains(text), "{shown:?}");
    }
    let resolved = home
        .kitbag(&["feedback", "resolve", "1", "--note", "cad reads them"])
        .await;
    assert_eq!(resolved.stdout.trim(), "Resolved 1", "{resolved:?}");
    let missing = home.kitbag(&["feedback", "resolve", "77"]).await;
    assert!(
        missing.stderr.contains("no report with ID 77"),
        "{missing:?}"
    );
    let (_, page) = get(&gateway, "?status=resolved", &operator).await;
    assert_eq!(page["feedback"][0]["resolution"], "cad reads them");
    let open = home.kitbag(&["feedback", "list", "--json"]).await;
    let open: Value = serde_json::from_str(&open.stdout).unwrap();
    assert_eq!(ids(&json!({ "feedback": open })), "3 2");
    let audit = home
        .kitbag(&["audit", "--event", "feedback_resolved"])
        .await;
    assert!(audit.stdout.contains("report 1"), "{audit:?}");
}
