//! Declared and measured priors decide which tools pass the filters.

use std::time::Duration;

use kitbag_domain::{
    CallCost, Caller, Capability, Observation, Origin, Outcome, Purpose, Timestamp,
};
use kitbag_store::{AuditQuery, AuditRecord, Store};
use serde_json::{Value, json};

use super::{Listed, found_names, names, retrieve, tool, wait_until_embedded};
use crate::harness::{Era, Gateway, Home, Testbed, until};

const DECLARED: &str = "
[tools.\"shop__cheap\"]
cost_usd = 0.0002
p95_latency_ms = 380
success_rate = 0.97
tags = [\"bargain\"]
scopes = [\"till\"]
group = \"sales\"
[tools.\"shop__dear\"]
cost_usd = 2
p95_latency_ms = 90
p99_latency_ms = 5000
";

async fn shop(config: &str) -> Listed {
    let tools = [
        tool("cheap", "Sells a thing"),
        tool("dear", "Sells a thing"),
        tool("unknown", "Sells a thing"),
    ];
    Listed::with(&tools, config).await
}

async fn search_names(home: &Home, filter: &[&str]) -> String {
    let mut names = names(
        &home
            .kitbag(&[&["search", "sell a thing", "--json"], filter].concat())
            .await,
    );
    names.sort();
    names.join(" ").replace("shop__", "")
}

#[tokio::test]
async fn declared_costs_and_latencies_filter_on_the_command_line() {
    let listed = shop(DECLARED).await;
    let check = async |filter: &[&str], expected: &str| {
        assert_eq!(
            search_names(&listed.home, filter).await,
            expected,
            "{filter:?}"
        );
    };
    check(&[], "cheap dear unknown").await;
    check(&["--max-cost", "0.01"], "cheap").await;
    check(&["--max-cost", "0.01", "--unknown-cost"], "cheap unknown").await;
    check(&["--max-cost", "0.0001"], "").await;
    check(&["--max-latency", "1000"], "cheap unknown").await;
    check(&["--max-latency", "100"], "unknown").await;
    check(&["--tag", "bargain"], "cheap").await;
}

#[tokio::test]
async fn declared_values_filter_over_http_and_are_in_the_metadata() {
    let listed = shop(DECLARED).await;
    let gateway = listed.home.serve().await;
    wait_until_embedded(&gateway, 3).await;
    let ask = async |filter: Value| {
        let mut request = json!({ "intent": "sell a thing" });
        request
            .as_object_mut()
            .unwrap()
            .extend(filter.as_object().unwrap().clone());
        let (_, answer) = retrieve(&gateway, &request).await;
        let mut names: Vec<_> = found_names(&answer)
            .into_iter()
            .map(str::to_owned)
            .collect();
        names.sort();
        (names.join(" "), answer)
    };
    let (names, answer) = ask(json!({ "max_cost_usd": 0.01 })).await;
    assert_eq!(names, "shop__cheap");
    assert_eq!(
        answer["withheld"],
        json!({ "filter": 1, "unknown_cost": 1 }),
        "an unknown cost is not a low one"
    );
    let with_unknown = json!({ "max_cost_usd": 0.01, "include_unknown_cost": true });
    assert_eq!(ask(with_unknown).await.0, "shop__cheap shop__unknown");
    assert_eq!(
        ask(json!({ "max_latency_ms_p99": 100 })).await.0,
        "shop__unknown"
    );
    assert_eq!(ask(json!({ "scopes": ["till"] })).await.0, "shop__cheap");

    let (names, answer) = ask(json!({ "max_latency_ms_p99": 400, "tags": ["bargain"] })).await;
    assert_eq!(names, "shop__cheap");
    let candidate = &answer["candidates"][0];
    assert_eq!(
        candidate["latency_from_p95"], true,
        "only p95 is known of it"
    );
    let metadata = &candidate["metadata"];
    let priors =
        ["estimated_cost_usd", "p95_latency_ms", "success_rate"].map(|key| metadata[key].as_f64());
    assert_eq!(priors, [Some(0.0002), Some(380.0), Some(0.97)]);
    assert_eq!(metadata["group"], "sales");
}

#[tokio::test]
async fn a_declared_tool_that_no_server_has_is_a_warning() {
    let listed = shop("[tools.\"shop__chaep\"]\ncost_usd = 1.0\n").await;
    let gateway = listed.home.serve().await;
    until("the warning is logged", async || {
        gateway.log().contains("shop__chaep").then_some(())
    })
    .await;
    let output = listed.home.kitbag(&["index", "build"]).await;
    assert!(
        output.stderr.contains("shop__chaep") && output.stderr.contains("no server offers"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_run_over_the_audit_shows_how_fast_and_how_reliable_tools_are() {
    let config = "[priors]\nusd_per_million_tokens = 3\n";
    let gateway = Gateway::with(&format!("{config}{}", Testbed::new("bed").table())).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("bed__slow").await;
    client
        .call("bed__slow", &json!({ "ms": 60, "steps": 1 }))
        .await;
    client.call("bed__test_error_handling", &json!({})).await;
    let home = gateway.home.clone();
    let shown = async |words: &[&str]| -> Value {
        let output = home.kitbag(&[words, &["--json"]].concat()).await;
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let unseen = home
        .kitbag(&["learned", "priors", "show", "bed__slow"])
        .await;
    assert_eq!(unseen.code, Some(1), "{unseen:?}");
    until("both calls are counted", async || {
        shown(&["learned", "priors", "run"]).await;
        let tools = shown(&["learned", "priors", "show"]).await["tools"].clone();
        (tools.as_array().unwrap().len() == 2).then_some(())
    })
    .await;

    let one = shown(&["learned", "priors", "show", "bed__slow"]).await;
    let slow = &one["tools"][0];
    assert!(slow["p95_latency_ms"].as_f64() >= Some(60.0), "{one:#}");
    assert_eq!(
        (&slow["success_rate"], &slow["calls"]),
        (&json!(0.92), &json!(1.0))
    );
    assert!(slow["estimated_cost_usd"].as_f64() > Some(0.0), "{one:#}");
    let entry = shown(&["index", "show", "bed__slow"]).await;
    assert_eq!(entry["success_rate"], 0.92, "one call moves it a little");
    assert!(entry["last_updated_at"].as_i64() >= slow["last_updated_at"].as_i64());
    assert_eq!(
        entry["p99_latency_ms"],
        Value::Null,
        "one call says nothing of one in a hundred"
    );
    let failing = shown(&["index", "show", "bed__test_error_handling"]).await;
    assert_eq!(failing["success_rate"], 0.75);

    let words = ["search", "takes milliseconds and reports steps"];
    let output = home.kitbag(&[&words[..], &["--explain"]].concat()).await;
    for part in ["SUCCESS", "P95", "AS OF", "92 %"] {
        assert!(
            output.stdout.contains(part),
            "no {part} in\n{}",
            output.stdout
        );
    }
    let fast = home
        .kitbag(&[&words[..], &["--json", "--max-latency", "50"]].concat())
        .await;
    assert!(!names(&fast).contains(&"bed__slow".to_owned()));
    until("the gateway that serves has taken it over", async || {
        let request = json!({ "intent": "takes milliseconds and reports steps" });
        let (_, answer) = retrieve(&gateway, &request).await;
        (answer["candidates"][0]["metadata"]["success_rate"] == 0.92).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_tool_that_fails_loses_its_rank_with_the_next_run_and_gets_it_back_when_it_works() {
    let listed = shop("").await;
    let home = &listed.home;
    let store = Store::open(home.store_address()).await.unwrap();
    let ranked = async || names(&home.kitbag(&["search", "sell a thing", "--json"]).await);
    let before = ranked().await;
    let happened = async |outcome: Outcome, times: usize| {
        let call = Observation {
            at: Timestamp(jiff::Timestamp::now().as_millisecond()),
            outcome,
            ..call_of("shop", before[0].trim_start_matches("shop__"))
        };
        let calls = vec![AuditRecord::Call(call); times];
        store.record_all(&calls).await.unwrap();
        let output = home.kitbag(&["learned", "priors", "run"]).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        ranked().await
    };
    let failing = happened(Outcome::ToolError, 20).await;
    assert_eq!(failing.last(), before.first(), "{failing:?}");
    let mended = happened(Outcome::Ok, 400).await;
    assert_eq!(mended, before);
}

fn call_of(server: &str, tool: &str) -> Observation {
    Observation {
        at: Timestamp(0),
        caller: Caller::local(),
        client: None,
        origin: Origin::default(),
        purpose: Purpose::Use,
        capability: Capability::tool(server.parse().unwrap(), tool),
        outcome: Outcome::Ok,
        latency: Duration::from_millis(1),
        cost: CallCost::default(),
        arguments: None,
    }
}

#[tokio::test]
async fn old_priors_are_reported_and_a_missed_run_is_done_at_the_start() {
    let home = Home::new(&Testbed::new("bed").table());
    let store = Store::open(home.store_address()).await.unwrap();
    let namespace = "capability_index";
    let yesterday = jiff::Timestamp::now().as_millisecond() - 30 * 3_600_000;
    store
        .set_priors_updated_at(namespace, Timestamp(yesterday))
        .await
        .unwrap();
    // This gateway waits while another one appears to compute them.
    let elsewhere = store.lock_priors(namespace).await.unwrap();
    let gateway = home.serve().await;
    let ready = async |wanted: &str| {
        until(wanted, async || {
            let page = format!("{}/readyz", gateway.base);
            let answer = reqwest::get(page).await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            (status == 200 && text == wanted).then_some(())
        })
        .await;
    };
    ready("ready\ndegraded: the priors of tools were last computed 30 hours ago\n").await;
    let doctor = home.kitbag(&["doctor", "--offline"]).await;
    assert!(
        doctor.stdout.contains("last computed 30 hours ago")
            && doctor.stdout.contains("kitbag learned priors run"),
        "{doctor:?}"
    );
    drop(elsewhere);
    ready("ready\n").await;
    let at = store.priors_updated_at(namespace).await.unwrap();
    assert!(at > Some(Timestamp(yesterday)));
}

#[tokio::test]
async fn rows_older_than_keep_days_are_removed() {
    let home = Home::new("[audit]\nkeep_days = 2\n");
    let store = Store::open(home.store_address()).await.unwrap();
    let seen = |at: i64| Observation {
        at: Timestamp(at),
        ..call_of("bed", "echo")
    };
    let yesterday = jiff::Timestamp::now().as_millisecond() - 86_400_000;
    let rows: Vec<_> = (0..2_500)
        .map(seen)
        .chain([seen(yesterday)])
        .map(AuditRecord::Call)
        .collect();
    store.record_all(&rows).await.unwrap();
    let gateway = home.serve().await;
    until("old rows are gone", async || {
        let rows = store
            .read_audit(&AuditQuery::newest(u32::MAX))
            .await
            .unwrap();
        (rows.len() == 1 && rows[0].at.0 == yesterday).then_some(())
    })
    .await;
    gateway.stop().await;
}
