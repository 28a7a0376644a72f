//! The audit log and calls while the disk is full.

use std::time::{Duration, Instant};

use futures::StreamExt;
use kitbag_domain::Outcome;
use kitbag_store::AuditRow;
use serde_json::json;

use super::small_disk::SmallDisk;
use super::{figure, key, rows_in};
use crate::harness::api::Api;
use crate::harness::{Era, Gateway, Home, Testbed, until};

/// A gateway with its database on a separate disk.
struct FullDiskGateway {
    // Dropped before its disk.
    gateway: Gateway,
    disk: SmallDisk,
}

impl FullDiskGateway {
    async fn with(config: &str) -> Option<Self> {
        let home = Home::new("");
        let disk = SmallDisk::mount(home.path("small"), 8)?;
        home.configure(&format!("[store]\npath = \"small/kitbag.db\"\n{config}"));
        let gateway = home.serve().await;
        Some(Self { gateway, disk })
    }

    async fn wait_for_log(&self, text: &str) {
        until(text, async || {
            self.gateway.log().contains(text).then_some(())
        })
        .await;
    }

    async fn calls(&self) -> Vec<Outcome> {
        let rows = rows_in(&self.disk.path().join("kitbag.db"), 0).await;
        rows.iter()
            .filter(|row| row.capability().is_some())
            .map(|row| row.outcome)
            .collect()
    }
}

#[tokio::test]
async fn calls_during_a_full_disk_are_audited_once_there_is_space() {
    let Some(gateway_on_disk) = FullDiskGateway::with(&Testbed::new("good").table()).await else {
        return;
    };
    let client = gateway_on_disk.gateway.client(Era::Modern).await;
    client.knows("good__echo").await;
    // Twice, since the first failure must leave nothing behind that affects the next.
    for round in 1..=2 {
        gateway_on_disk.disk.fill();
        for number in 0..50 {
            let result = client
                .call("good__echo", &json!({ "text": number }))
                .await
                .result();
            assert_ne!(result["isError"], true, "calls go on");
        }
        until("the disk is noticed to be full", async || {
            (figure(&gateway_on_disk.gateway, "kitbag_audit_waiting").await > 0.0).then_some(())
        })
        .await;
        gateway_on_disk
            .wait_for_log("the audit cannot be written")
            .await;
        gateway_on_disk.disk.clear();
        until("every call is on record", async || {
            (gateway_on_disk.calls().await.len() == 51 * round - 1).then_some(())
        })
        .await;
        gateway_on_disk
            .wait_for_log("the audit can be written again")
            .await;
        client.call("good__echo", &json!({ "text": "after" })).await;
        until("later ones are, too", async || {
            (gateway_on_disk.calls().await.len() == 51 * round).then_some(())
        })
        .await;
    }
    assert_eq!(
        figure(&gateway_on_disk.gateway, "kitbag_audit_lost_total").await,
        0.0
    );
}

#[tokio::test]
async fn a_required_audit_that_cannot_be_written_stops_calls_before_a_server_is_touched() {
    let api = Api::start().await;
    let settings = "allow_addresses = [\"127.0.0.1\"]";
    let tables = format!(
        "{}{}",
        api.table("api", settings),
        Testbed::new("good").table()
    );
    let Some(gateway_on_disk) =
        FullDiskGateway::with(&format!("[audit]\nrequired = true\n{tables}")).await
    else {
        return;
    };
    let all = gateway_on_disk.gateway.client(Era::Legacy).await;
    all.knows("good__echo").await;
    let search = gateway_on_disk
        .gateway
        .client_at("/mcp", Era::Modern)
        .connect()
        .await;
    let ask = json!({ "provider": "api", "path": "/items" });
    assert!(
        !search
            .call("call_api", &ask)
            .await
            .raw()
            .contains("must record every call")
    );
    assert_eq!(api.requests().len(), 1);

    gateway_on_disk.disk.fill();
    for era in Era::each() {
        let one = gateway_on_disk
            .gateway
            .client_at("/servers/good/mcp", era)
            .connect()
            .await;
        for reply in [
            one.call("echo", &json!({})).await,
            all.call("good__echo", &json!({})).await,
        ] {
            let output = reply.tool_error();
            assert!(
                output.contains("must record every call") && output.contains("operator"),
                "{output}"
            );
            assert!(
                !output.contains("small/") && !output.to_lowercase().contains("sql"),
                "{output}"
            );
        }
        let prompt = one
            .request("prompts/get", &json!({ "name": "test_simple_prompt" }))
            .await;
        assert!(
            prompt.error()["message"]
                .as_str()
                .unwrap()
                .contains("must record every call")
        );
    }
    let batch =
        json!({ "calls": [{ "tool": "good__echo" }, { "provider": "api", "path": "/items" }] });
    assert!(
        search
            .call("batch_execute", &batch)
            .await
            .raw()
            .contains("must record every call")
    );
    assert!(
        search
            .call("call_api", &ask)
            .await
            .tool_error()
            .contains("must record every call")
    );
    assert_eq!(api.requests().len(), 1, "nothing went out");

    gateway_on_disk.disk.clear();
    until("calls are made again", async || {
        (!search
            .call("call_api", &ask)
            .await
            .raw()
            .contains("must record every call"))
        .then_some(())
    })
    .await;
    until("each call that went out is on record", async || {
        let made = gateway_on_disk
            .calls()
            .await
            .into_iter()
            .filter(|it| *it == Outcome::Ok)
            .count();
        (made == api.requests().len()).then_some(())
    })
    .await;
}

/// More than one batch of the writer, so that rejected calls fill it by themselves.
const MANY: usize = 1_300;

#[tokio::test]
async fn calls_under_a_required_audit_are_rejected_at_once_however_long_the_disk_has_been_full() {
    let config = format!("[audit]\nrequired = true\n{}", Testbed::new("good").table());
    let Some(gateway_on_disk) = FullDiskGateway::with(&config).await else {
        return;
    };
    let client = gateway_on_disk.gateway.client(Era::Modern).await;
    client.knows("good__echo").await;
    client.call("good__echo", &json!({})).await.result();
    gateway_on_disk.disk.fill();
    let refused = async || {
        let asked = Instant::now();
        let output = client.call("good__echo", &json!({})).await.tool_error();
        assert!(output.contains("must record every call"), "{output}");
        asked.elapsed()
    };
    let mut longest = Duration::ZERO;
    let all = futures::stream::iter(0..MANY).map(|_| refused());
    let mut all = all.buffer_unordered(64);
    while let Some(took) = all.next().await {
        longest = longest.max(took);
    }
    // The time that a call waits for its row without a failure.
    assert!(longest < Duration::from_secs(10), "{longest:?}");

    gateway_on_disk.disk.clear();
    until("calls are made again", async || {
        let answered = client.call("good__echo", &json!({})).await;
        (!answered.raw().contains("must record every call")).then_some(())
    })
    .await;
    until("the refused ones are on record, too", async || {
        (gateway_on_disk.calls().await.len() >= MANY + 2).then_some(())
    })
    .await;

    gateway_on_disk.disk.fill();
    refused().await;
    let FullDiskGateway { gateway, disk } = gateway_on_disk;
    let home = gateway.home.clone();
    assert!(gateway.stop().await.success());
    disk.clear();
    let rows = rows_in(&disk.path().join("kitbag.db"), 2).await;
    // The end of the last call may have hit the full disk.
    let made = |row: &&AuditRow| matches!(row.outcome, Outcome::Ok | Outcome::Unfinished);
    let made = rows.iter().filter(made).count();
    assert!(made >= 2, "acknowledged calls are on record: {made}");
    drop(home);
}

#[tokio::test]
async fn a_command_reports_a_full_disk_and_works_once_there_is_space() {
    let home = Home::new("");
    let Some(disk) = SmallDisk::mount(home.path("small"), 4) else {
        return;
    };
    home.configure("[store]\npath = \"small/kitbag.db\"\n");
    let list = async || home.kitbag(&["key", "list"]).await;
    assert_eq!(list().await.code, Some(0));
    disk.fill();
    let output = list().await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stderr.contains("is full; free some space"),
        "{output:?}"
    );
    disk.clear();
    assert_eq!(list().await.code, Some(0));
}

#[tokio::test]
async fn every_answer_under_a_required_audit_has_its_row_even_if_the_gateway_dies() {
    let home = Home::new(&format!(
        "[audit]\nrequired = true\n{}",
        Testbed::new("good").table()
    ));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("good__echo").await;
    for number in 0..20 {
        client.call("good__echo", &json!({ "text": number })).await;
    }
    gateway.kill().await;
    let rows = rows_in(home.store_address(), 20).await;
    assert_eq!(rows.len(), 20);
    assert!(
        rows.iter()
            .all(|row| matches!(row.outcome, Outcome::Ok | Outcome::Unfinished))
    );
}

#[tokio::test]
async fn a_tenant_cannot_fill_the_disk_with_small_calls() {
    let home = Home::new("");
    let Some(disk) = SmallDisk::mount(home.path("small"), 16) else {
        return;
    };
    let tenants = "[tenants.low]\ndeny_tools = [\"*/exotic\"]\n[tenants.high]\ndeny_tools = [\"*/nothing\"]\n";
    let store = "[store]\npath = \"small/kitbag.db\"\n";
    home.configure(&format!("{store}{tenants}{}", Testbed::new("good").table()));
    let (low, high) = (key(&home, "low").await, key(&home, "high").await);
    let gateway = home.serve().await;
    let (long, huge) = ("x".repeat(60_000), "x".repeat(3_000_000));
    let low = gateway
        .client_at("/servers/good/mcp", Era::Legacy)
        .key(&low)
        .named(&long)
        .connect()
        .await;
    for _ in 0..60 {
        low.call("echo", &json!({})).await;
    }
    // Seven such names are larger than the disk.
    for _ in 0..4 {
        low.call(&huge, &json!({})).await;
        low.request(
            "resources/read",
            &json!({ "uri": format!("test://{huge}") }),
        )
        .await;
    }
    let high = gateway
        .client_at("/servers/good/mcp", Era::Legacy)
        .key(&high)
        .connect()
        .await;
    for _ in 0..20 {
        high.call("exotic", &json!({})).await;
    }
    let database = disk.path().join("kitbag.db");
    let of_high = until("the calls of the other tenant are on record", async || {
        let rows = rows_in(&database, 0).await;
        let count = rows.iter().filter(|row| {
            row.tenant.as_ref().is_some_and(|it| it.as_str() == "high")
                && row.capability().is_some()
        });
        Some(count.count()).filter(|count| *count >= 20)
    })
    .await;
    assert_eq!(of_high, 20);
    drop(gateway);
}
