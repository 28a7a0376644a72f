//! `kitbag audit` and `GET /v1/audit`: who may read which rows.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};

use super::rows;
use crate::harness::{Era, Gateway, Home, Testbed, until};

const RULES: &str =
    "[tenants.acme]\ndeny_tools = [\"*/exotic\"]\n[tenants.globex]\ndeny_tools = [\"*/exotic\"]\n";

/// A gateway that two tenants have used, with their keys and an operator key.
struct Used {
    home: Arc<Home>,
    gateway: Gateway,
    acme: String,
    operator: String,
}

impl Used {
    async fn new() -> Self {
        let home = Home::new(&format!("{RULES}{}", Testbed::new("good").table()));
        let acme = super::key(&home, "acme").await;
        let globex = super::key(&home, "globex").await;
        let output = home
            .kitbag(&["key", "create", "--role", "operator", "--json"])
            .await;
        let operator: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let gateway = home.serve().await;
        for key in [&acme, &globex] {
            let client = gateway
                .client_at("/mcp/all", Era::Modern)
                .key(key)
                .named("=cmd()")
                .connect()
                .await;
            client.knows("good__echo").await;
            client.call("good__echo", &json!({})).await;
            client.call("good__test_error_handling", &json!({})).await;
            client.call("good__exotic", &json!({})).await;
            client.call("good__missing", &json!({})).await;
        }
        // Eight calls, and the creation of three keys.
        rows(&home, 11).await;
        Self {
            home,
            gateway,
            acme,
            operator: operator["key"].as_str().unwrap().to_owned(),
        }
    }

    /// The rows that `kitbag audit` prints with these arguments.
    async fn audit(&self, words: &[&str]) -> Vec<Value> {
        let words: Vec<_> = ["audit", "--json"].iter().chain(words).copied().collect();
        let output = self.home.kitbag(&words).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        output
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    async fn get(&self, query: &str, key: Option<&str>) -> (u16, Value) {
        let request = reqwest::Client::new().get(format!("{}/v1/audit{query}", self.gateway.base));
        let request = key
            .into_iter()
            .fold(request, reqwest::RequestBuilder::bearer_auth);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (
            status,
            serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default(),
        )
    }
}

fn names(rows: &[Value]) -> String {
    rows.iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn the_audit_can_be_filtered_in_every_documented_way() {
    let used = Used::new().await;
    assert_eq!(used.audit(&[]).await.len(), 11);
    let acme = used.audit(&["--tenant", "acme", "--event", "call"]).await;
    assert_eq!(
        names(&acme),
        "echo test_error_handling exotic good__missing",
        "as it happened"
    );
    assert_eq!(
        used.audit(&["--tenant", "acme", "-n", "1"]).await[0]["name"],
        "good__missing"
    );
    assert_eq!(
        names(
            &used
                .audit(&["--tenant", "acme", "--outcome", "failed"])
                .await
        ),
        "test_error_handling"
    );
    assert_eq!(
        names(&used.audit(&["--outcome", "denied"]).await),
        "exotic exotic"
    );
    assert_eq!(
        names(&used.audit(&["--tool", "good__ech?"]).await),
        "echo echo"
    );
    assert_eq!(
        used.audit(&["--server", "good", "--since", "1h"])
            .await
            .len(),
        8
    );
    assert_eq!(used.audit(&["--until", "1h"]).await.len(), 0);
    let key = acme[0]["key"].as_str().unwrap();
    assert_eq!(
        used.audit(&["--key", key, "--event", "call"]).await.len(),
        4
    );
    let created = used.audit(&["--event", "key_created"]).await;
    assert_eq!(created.len(), 3);
    assert!(
        created
            .iter()
            .all(|row| row["actor"].is_string() && row["client"] == "kitbag key create")
    );
    for row in used.audit(&[]).await {
        let (tenant, text) = (row["tenant"].as_str().unwrap_or_default(), row.to_string());
        assert!(
            !text.contains(&used.acme) && !text.contains(&used.operator),
            "{tenant}: {text}"
        );
    }

    let output = used.home.kitbag(&["audit", "--tenant", "acme"]).await;
    for text in [
        "WHEN",
        "good/echo",
        "tool error",
        "acme key",
        "127.0.0.1",
        "key created",
    ] {
        assert!(output.stdout.contains(text), "no {text}: {}", output.stdout);
    }
    let wrong = used.home.kitbag(&["audit", "--outcome", "fine"]).await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("timed_out"), "{}", wrong.stderr);
}

#[tokio::test]
async fn an_export_contains_every_row_and_no_formula() {
    let used = Used::new().await;
    let (csv, lines) = (used.home.path("out.csv"), used.home.path("out.jsonl"));
    for (format, path) in [("csv", &csv), ("jsonl", &lines)] {
        let words = [
            "audit",
            "export",
            "--format",
            format,
            "--output",
            path.to_str().unwrap(),
        ];
        let output = used.home.kitbag(&words).await;
        assert!(
            output.code == Some(0) && output.stdout.contains("11 rows"),
            "{output:?}"
        );
        assert_eq!(
            used.home.kitbag(&words).await.code,
            Some(1),
            "a file that is there is not overwritten"
        );
    }
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 12);
    assert!(csv.starts_with("id,at,event,tenant,key,"), "{csv}");
    assert!(
        csv.contains(",'=cmd(),") && !csv.contains(",=cmd()"),
        "{csv}"
    );
    let lines = std::fs::read_to_string(lines).unwrap();
    let ids: Vec<i64> = lines
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_i64()
                .unwrap()
        })
        .collect();
    assert_eq!(ids.len(), 11);
    assert!(ids.is_sorted());
}

#[tokio::test]
async fn new_rows_are_shown_while_the_audit_is_followed() {
    let used = Used::new().await;
    let mut command = used
        .home
        .command(&["audit", "-f", "--json", "-n", "1", "--tenant", "acme"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let first = tokio::task::spawn_blocking(move || (shown.next(), shown))
        .await
        .unwrap();
    assert!(first.0.unwrap().contains("good__missing"));
    let client = used
        .gateway
        .client_at("/mcp/all", Era::Modern)
        .key(&used.acme)
        .connect()
        .await;
    client.call("good__echo", &json!({ "new": true })).await;
    let mut rest = first.1;
    let next = tokio::task::spawn_blocking(move || rest.next())
        .await
        .unwrap()
        .unwrap();
    assert!(next.contains("\"echo\""), "{next}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn over_http_an_operator_reads_everything_and_a_tenant_its_own_calls() {
    let used = Used::new().await;
    for key in [None, Some(used.operator.as_str())] {
        let (status, page) = used.get("", key).await;
        assert_eq!(
            (status, page["rows"].as_array().unwrap().len()),
            (200, 11),
            "{page}"
        );
        let (_, page) = used.get("?tenant=globex&outcome=ok&event=call", key).await;
        assert_eq!(names(page["rows"].as_array().unwrap()), "echo");
    }
    let own = async |query: &str| {
        used.get(query, Some(&used.acme)).await.1["rows"]
            .as_array()
            .unwrap()
            .clone()
    };
    let all = own("").await;
    let tenants: BTreeSet<_> = all.iter().map(|row| row["tenant"].to_string()).collect();
    assert_eq!(tenants, ["\"acme\"".to_owned()].into());
    assert!(all.iter().all(|row| row["actor"].is_null()));
    let called: Vec<_> = all
        .into_iter()
        .filter(|row| row["event"] == "call")
        .collect();
    assert_eq!(
        names(&called),
        "test_error_handling echo",
        "hidden and missing things look alike"
    );
    for foreign in [
        "?tenant=globex",
        "?outcome=denied",
        "?outcome=invalid",
        "?tool=exotic",
        "?event=secret_set",
    ] {
        assert_eq!(own(foreign).await, Vec::<Value>::new(), "{foreign}");
    }
    let (status, _) = used.get("", Some("kb_wrong")).await;
    assert_eq!(status, 401);
    let (status, output) = used.get("?tennant=acme", None).await;
    assert!(
        status == 400
            && output["error"]
                .as_str()
                .unwrap()
                .contains("unknown parameter `tennant`"),
        "{output}"
    );
}

#[tokio::test]
async fn pages_over_http_lead_from_one_to_the_next_up_to_the_last() {
    let used = Used::new().await;
    let (mut query, mut ids) = ("?limit=4".to_owned(), Vec::new());
    let pages = until("the last page", async || {
        let (_, page) = used.get(&query, None).await;
        ids.extend(
            page["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].as_i64().unwrap()),
        );
        match page["next"].as_str() {
            Some(next) => query = format!("?limit=4&cursor={next}"),
            None => return Some(ids.clone()),
        }
        None
    })
    .await;
    assert_eq!(
        (pages.len(), pages.iter().collect::<BTreeSet<_>>().len()),
        (11, 11)
    );
}
