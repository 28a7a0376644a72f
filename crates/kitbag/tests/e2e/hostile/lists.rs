//! Endless lists are truncated, and the truncation is reported.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{assert_memory, beside_a_good_one, watch};
use crate::harness::{Era, Gateway, Home, Testbed, until};

const MOST_ENTRIES: usize = 10_000;
const TOO_LONG: &str = "the list is too long";

#[tokio::test]
async fn a_million_tools_are_truncated_and_the_neighbour_does_not_wait_for_them() {
    let (gateway, client) = beside_a_good_one(&Testbed::new("evil").manner("many-tools")).await;
    watch(&gateway, &client).await;
    let output = until("it is said that the list was cut", async || {
        gateway
            .log()
            .lines()
            .find(|line| line.contains(TOO_LONG))
            .map(str::to_owned)
    })
    .await;
    assert!(
        output.contains("WARN") && output.contains("evil"),
        "{output}"
    );
    client.knows_of("evil__tool1").await;
    let names = client.tool_names().await;
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with("evil__"))
            .count(),
        MOST_ENTRIES
    );
    assert_memory(&gateway);
}

#[tokio::test]
async fn a_hundred_thousand_templates_cost_neither_now_nor_at_the_next_start() {
    let home = Home::new("");
    let evil = Testbed::new("evil").manner("many-templates");
    home.configure(&(evil.table() + &Testbed::new("good").table()));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows_of("good__echo").await;
    watch(&gateway, &client).await;
    until("the templates are there", async || {
        (templates(&gateway).await >= MOST_ENTRIES).then_some(())
    })
    .await;
    gateway.stop().await;

    let started = Instant::now();
    let again = home.serve().await;
    assert!(again.is_healthy().await);
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "the start took {:?}",
        started.elapsed()
    );
    assert_eq!(
        templates(&again).await,
        MOST_ENTRIES + 1,
        "all that were kept, and the one of the neighbour"
    );
    watch(&again, &again.client(Era::Legacy).await).await;
}

async fn templates(gateway: &Gateway) -> usize {
    let client = gateway.client(Era::Legacy).await;
    client
        .list("resources/templates/list", "resourceTemplates")
        .await
        .len()
}

#[tokio::test]
async fn servers_test_reports_omitted_entries() {
    let home = Home::new(&Testbed::new("evil").manner("many-templates").table());
    let output = home.kitbag(&["servers", "test", "evil"]).await;
    assert!(output.stdout.contains(TOO_LONG), "{output:?}");
    let output = home.kitbag(&["doctor", "--json"]).await;
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let findings = json!(report["findings"]).to_string();
    assert!(findings.contains(TOO_LONG), "{findings}");
}
