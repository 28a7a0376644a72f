//! `/metrics`: a page that strict parsers accept, and who sees which metrics; and `/ready`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::harness::{Era, Gateway, Home, Testbed, until};

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0";
const TENANTS: &str = "[tenants.acme]\nallow_tools = [\"bed/*\"]\n[tenants.globex]\n";

async fn key(home: &Home, words: &[&str]) -> String {
    home.kitbag(&[&["key", "create"], words].concat())
        .await
        .stdout
        .trim()
        .to_owned()
}

async fn scrape(gateway: &Gateway, key: Option<&str>, accept: Option<&str>) -> (String, String) {
    let mut request = reqwest::Client::new().get(format!("{}/metrics", gateway.base));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    (kind, response.text().await.unwrap())
}

/// Checks a page against the parts of OpenMetrics that we use: metadata before samples, no family twice
/// or interrupted, names that match their type, and consistent histograms.
fn check_open_metrics(page: &str) -> BTreeMap<String, String> {
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    let (mut family, mut samples_begun) = (String::new(), false);
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "# EOF" {
            assert!(
                lines.peek().is_none() && page.ends_with('\n'),
                "something follows the end"
            );
            return types;
        }
        if let Some(metadata) = line.strip_prefix("# ") {
            let (keyword, rest) = metadata.split_once(' ').unwrap();
            let (name, value) = rest.split_once(' ').unwrap();
            match keyword {
                "TYPE" => {
                    let before = types.insert(name.to_owned(), value.to_owned());
                    assert_eq!(before, None, "{name} comes twice");
                    (family, samples_begun) = (name.to_owned(), false);
                }
                "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{line}"),
                "HELP" => {}
                other => panic!("{other} is no metadata"),
            }
            assert!(name == family && !samples_begun, "out of order: {line}");
            continue;
        }
        samples_begun = true;
        let (series, value) = line.rsplit_once(' ').unwrap();
        value
            .parse::<f64>()
            .unwrap_or_else(|_| panic!("not a number: {line}"));
        let name = series.split('{').next().unwrap();
        let suffix = name
            .strip_prefix(family.as_str())
            .unwrap_or_else(|| panic!("{line} is not of {family}"));
        let fits = match types[&family].as_str() {
            "counter" => suffix == "_total",
            "gauge" => suffix.is_empty(),
            "info" => suffix == "_info",
            "histogram" => ["_bucket", "_sum", "_count"].contains(&suffix),
            other => panic!("no such type: {other}"),
        };
        assert!(fits, "{line} does not fit {} {}", types[&family], family);
    }
    panic!("the page does not end with # EOF");
}

/// Every histogram has its `+Inf` bucket, which counts everything.
fn check_histograms(page: &str) {
    let counts: BTreeSet<(String, String)> = page
        .lines()
        .filter(|line| line.contains("_seconds_count{"))
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (
                series
                    .replace("_count{", "_bucket{")
                    .trim_end_matches('}')
                    .to_owned(),
                value.to_owned(),
            )
        })
        .collect();
    assert!(!counts.is_empty(), "{page}");
    for (series, value) in counts {
        assert!(
            page.contains(&format!("{series},le=\"+Inf\"}} {value}\n")),
            "{series} has no +Inf: {page}"
        );
    }
}

#[tokio::test]
async fn the_page_is_classic_text_and_open_metrics_to_the_letter_for_a_reader_that_names_it() {
    let home = Home::new(&Testbed::new("bed").table());
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("bed__echo").await;
    client
        .call("bed__echo", &json!({ "message": "hello" }))
        .await
        .result();
    let (kind, page) = scrape(&gateway, None, Some(OPEN_METRICS)).await;
    assert!(
        kind.starts_with("application/openmetrics-text; version=1.0.0"),
        "{kind}"
    );
    let types = check_open_metrics(&page);
    check_histograms(&page);
    for (family, wanted) in [
        ("kitbag_build", "info"),
        ("kitbag_calls", "counter"),
        ("kitbag_call_duration_seconds", "histogram"),
        ("kitbag_keys_refused", "counter"),
        ("kitbag_upstream_running", "gauge"),
        ("kitbag_upstream_restarts", "counter"),
        ("kitbag_upstream_calls_waiting", "gauge"),
        ("kitbag_audit_lost", "counter"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_open_fds", "gauge"),
        ("process_cpu_seconds", "counter"),
        ("process_start_time_seconds", "gauge"),
    ] {
        assert_eq!(
            types.get(family).map(String::as_str),
            Some(wanted),
            "{family} in\n{page}"
        );
    }
    for accept in [None, Some("*/*"), Some("text/plain")] {
        let (kind, classic) = scrape(&gateway, None, accept).await;
        assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
        assert!(
            classic.contains("# TYPE kitbag_calls_total counter\n"),
            "{classic}"
        );
        assert!(
            !classic.contains("# EOF") && !classic.contains(" info\n"),
            "{classic}"
        );
        check_histograms(&classic);
    }
}

#[tokio::test]
async fn a_tenant_is_shown_no_other_tenant_no_hidden_server_and_nothing_of_the_gateway() {
    let servers = format!(
        "{}{}",
        Testbed::new("bed").table(),
        Testbed::new("vault").table()
    );
    let home = Home::new(&format!("{servers}{TENANTS}"));
    let (acme, globex) = (
        key(&home, &["--tenant", "acme"]).await,
        key(&home, &["--tenant", "globex"]).await,
    );
    let operator = key(&home, &["--role", "operator"]).await;
    let gateway = home.serve().await;
    for key in [&acme, &globex] {
        let client = gateway
            .client_at("/mcp/all", Era::Modern)
            .key(key)
            .connect()
            .await;
        client.knows("bed__echo").await;
        client
            .call("bed__echo", &json!({ "message": "hello" }))
            .await
            .result();
        client
            .call("vault__echo", &json!({ "message": "hello" }))
            .await;
    }
    let (_, own) = scrape(&gateway, Some(&acme), Some(OPEN_METRICS)).await;
    check_open_metrics(&own);
    for hidden in [
        "vault",
        "globex",
        "denied",
        "process_",
        "kitbag_keys_refused",
        "kitbag_upstream_running",
    ] {
        assert!(!own.contains(hidden), "{hidden} in\n{own}");
    }
    assert!(
        own.contains(r#"kitbag_upstream_up{server="bed"} 1"#),
        "{own}"
    );
    let indexed = |page: &str| {
        let line = page
            .lines()
            .find(|line| line.starts_with("kitbag_index_tools "))
            .unwrap();
        line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()
    };
    let (all, _) = until("everything is indexed", async || {
        let (_, page) = scrape(&gateway, Some(&operator), None).await;
        let (_, narrow) = scrape(&gateway, Some(&acme), None).await;
        (indexed(&narrow) * 2 == indexed(&page) && indexed(&narrow) > 0).then_some((page, ()))
    })
    .await;
    for line in [
        r#"kitbag_calls_total{tenant="acme",server="bed",outcome="ok"} 1"#,
        r#"kitbag_calls_total{tenant="globex",server="bed",outcome="ok"} 1"#,
        r#"kitbag_calls_total{tenant="acme",server="vault",outcome="denied"} 1"#,
        r#"kitbag_upstream_running{server="vault"} 1"#,
    ] {
        assert!(all.contains(line), "no {line} in\n{all}");
    }
}

#[tokio::test]
async fn every_tool_has_its_series_if_the_operator_enables_that() {
    let telemetry = "[telemetry]\nmetrics_per_tool = true\n";
    let gateway = Gateway::with(&format!("{telemetry}{}", Testbed::new("bed").table())).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("bed__echo").await;
    client
        .call("bed__echo", &json!({ "message": "hello" }))
        .await
        .result();
    let (_, page) = scrape(&gateway, None, None).await;
    let line = r#"kitbag_calls_total{tenant="local",server="bed",tool="bed__echo",outcome="ok"} 1"#;
    assert!(page.contains(line), "{page}");
    check_histograms(&page);
}

#[tokio::test]
async fn failures_are_counted() {
    let home = Home::new(&Testbed::new("bed").table());
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("bed__echo").await;
    let refused = reqwest::Client::new()
        .get(format!("{}/metrics", gateway.base))
        .bearer_auth("kb_wrong");
    assert_eq!(refused.send().await.unwrap().status().as_u16(), 401);
    client.call("bed__crash", &json!({})).await;
    client
        .call("bed__echo", &json!({ "message": "again" }))
        .await
        .result();
    let (_, page) = scrape(&gateway, None, None).await;
    for line in [
        r#"kitbag_keys_refused_total{reason="unknown"} 1"#,
        // Once to be listed, once for the first call, and once after the crash.
        r#"kitbag_upstream_starts_total{server="bed"} 3"#,
        r#"kitbag_upstream_restarts_total{server="bed"} 1"#,
        "kitbag_sessions 1",
    ] {
        assert!(page.contains(line), "no {line} in\n{page}");
    }
}

#[tokio::test]
async fn a_caller_without_a_key_only_learns_whether_the_gateway_is_ready() {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n";
    let home = Home::new(&format!("{serve}{}", Testbed::new("bed").table()));
    key(&home, &[]).await;
    let gateway = home.serve().await;
    let output = until("the gateway is ready", async || {
        let answer = reqwest::get(format!("{}/ready", gateway.base))
            .await
            .unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
        assert!(
            status == 200 || (status == 503 && text.starts_with("not ready: ")),
            "{status} {text}"
        );
        (status == 200).then_some(text)
    })
    .await;
    assert_eq!(output, "ready\n");
}

#[tokio::test]
async fn a_gateway_is_found_at_whatever_address_it_was_started() {
    // The harness picks a port that is not in the configuration.
    let home = Home::new("");
    let gateway = home.serve().await;
    let output = home.kitbag(&["health"]).await;
    assert_eq!(
        output.stdout,
        format!("{}/health answers\n", gateway.base),
        "{output:?}"
    );
    let found = home.kitbag(&["doctor", "--offline"]).await.stdout;
    assert!(
        found.contains(gateway.base.trim_start_matches("http://")),
        "{found}"
    );
    gateway.stop().await;
    let output = home.kitbag(&["health"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
}
