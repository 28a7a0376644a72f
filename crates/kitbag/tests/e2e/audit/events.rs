//! Audit rows other than calls: rejected keys, and changes by users.

use kitbag_domain::Action;
use kitbag_store::{AuditRow, AuditRowContent};
use serde_json::json;

use super::{key, rows};
use crate::harness::{Era, Gateway, Home, Testbed, until};

fn events(rows: &[AuditRow], wanted: Action) -> Vec<(String, String, &AuditRow)> {
    let found = rows.iter().filter_map(|row| match &row.content {
        AuditRowContent::Event {
            action,
            subject,
            detail,
        } if *action == wanted => Some((subject.clone(), detail.clone().unwrap_or_default(), row)),
        _ => None,
    });
    found.collect()
}

async fn knock(gateway: &Gateway, authorization: &str) -> u16 {
    let request = reqwest::Client::new().get(format!("{}/v1/tokens", gateway.base));
    request
        .header("authorization", authorization)
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_rejected_key_is_audited_with_its_origin_but_without_the_key() {
    let home = Home::new("");
    let good = key(&home, "local").await;
    let gateway = home.serve().await;
    let almost = format!("{good}x");
    for authorization in [
        format!("Bearer {almost}"),
        "Basic dXNlcjpzM2NyZXQ=".to_owned(),
    ] {
        assert_eq!(knock(&gateway, &authorization).await, 401);
    }
    let rows = rows(&home, 3).await;
    let refused = events(&rows, Action::KeyRefused);
    assert_eq!(refused.len(), 2);
    for (_, _, row) in &refused {
        assert_eq!(
            (row.address.as_deref(), &row.tenant),
            (Some("127.0.0.1"), &None)
        );
        assert_eq!(row.outcome, kitbag_domain::Outcome::Denied);
        let written = format!("{row:?}");
        assert!(
            !written.contains(&good[10..]) && !written.contains("dXNlcjpz"),
            "{written}"
        );
    }
}

#[tokio::test]
async fn a_flood_of_rejected_keys_does_not_fill_the_audit() {
    let home = Home::new("");
    let gateway = home.serve().await;
    for _ in 0..300 {
        assert_eq!(knock(&gateway, "Bearer kb_wrong").await, 401);
    }
    let rows = rows(&home, 20).await;
    assert!(
        events(&rows, Action::KeyRefused).len() < 60,
        "{}",
        rows.len()
    );
}

#[tokio::test]
async fn changes_of_keys_and_secrets_are_audited_with_their_actor() {
    let home = Home::new("");
    let output = home
        .kitbag(&["key", "create", "--tenant", "acme", "--json"])
        .await;
    let created: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let id = created["id"].as_str().unwrap().to_owned();
    home.kitbag(&["key", "revoke", &id]).await;
    let mut set = home.command(&["secret", "set", "token"]);
    let mut child = set
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"v3ry-s3cret").unwrap();
    assert!(child.wait().unwrap().success());
    home.kitbag(&["secret", "remove", "token"]).await;
    let rows = rows(&home, 4).await;
    for (action, subject, tenant) in [
        (Action::KeyCreated, id.as_str(), Some("acme")),
        (Action::KeyRevoked, id.as_str(), Some("acme")),
        (Action::SecretSet, "token", None),
        (Action::SecretRemoved, "token", None),
    ] {
        let found = events(&rows, action);
        let (about, _, row) = &found[0];
        assert_eq!(
            (
                about.as_str(),
                row.tenant.as_ref().map(kitbag_domain::Tenant::as_str)
            ),
            (subject, tenant)
        );
        assert!(
            row.actor.as_ref().is_some_and(|actor| !actor.is_empty()),
            "{row:?}"
        );
    }
    assert!(!format!("{rows:?}").contains("v3ry-s3cret"));
}

#[tokio::test]
async fn a_configuration_change_is_audited_when_made_and_when_effective() {
    let home = Home::new(&Testbed::new("good").table());
    let gateway = home.serve().await;
    let output = home.kitbag(&["servers", "remove", "good"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    until("the gateway has taken it over", async || {
        gateway
            .log()
            .contains("configuration reloaded")
            .then_some(())
    })
    .await;
    home.configure("[policy]\ndeny_tools = [\"*/exotic\"]\n");
    until("the rules, too", async || {
        (gateway.log().matches("configuration reloaded").count() == 2).then_some(())
    })
    .await;
    let rows = rows(&home, 3).await;
    let edited = events(&rows, Action::ConfigurationEdited);
    assert_eq!(edited.len(), 1);
    let (path, changes, row) = &edited[0];
    assert!(
        path.ends_with("kitbag.toml") && changes == "removed servers.good",
        "{path} {changes}"
    );
    assert_eq!(row.client.as_deref(), Some("kitbag servers remove"));
    let details: Vec<_> = events(&rows, Action::ConfigurationLoaded)
        .into_iter()
        .map(|(_, detail, _)| detail)
        .collect();
    assert_eq!(details, ["sections policy", "removed good"]);
}

#[tokio::test]
async fn the_calls_of_one_request_share_its_id_and_the_trace_of_the_client_is_kept() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let gateway = Gateway::with(&Testbed::new("good").table()).await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    gateway.client(Era::Modern).await.knows("good__echo").await;
    let calls = json!({ "calls": [{ "tool": "good__echo" }, { "tool": "good__echo" }] });
    let params =
        json!({ "name": "batch_execute", "arguments": calls, "_meta": { "traceparent": parent } });
    client.request("tools/call", &params).await;

    let params = json!({ "name": "call_api", "arguments": { "tool": "good__echo" } });
    let mut headers = client.headers("tools/call", &params);
    headers.push(("traceparent".to_owned(), parent.clone()));
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let reply = gateway
        .post(
            "/mcp",
            &headers,
            client.body(9, "tools/call", &params.to_string()),
        )
        .await;

    let rows = rows(&gateway.home, 3).await;
    assert!(
        rows.iter().all(|row| row.trace.as_deref() == Some(TRACE)),
        "{rows:?}"
    );
    assert_eq!(rows[1].request, rows[2].request);
    assert_ne!(rows[0].request, rows[1].request);
    let output = reply.headers.get("x-request-id").unwrap().to_str().unwrap();
    assert_eq!(
        rows[0].request.as_deref(),
        Some(output),
        "the client can name the row"
    );
}
