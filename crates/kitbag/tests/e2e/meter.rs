//! What tools cost a model, on the command line and while serving, and who may see it.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::post;
use serde_json::{Value, json};

use crate::harness::{Era, Gateway, Home, Testbed, until};

/// Text that must not appear in any metric.
const SECRET: &str = "only the tool may know this";

#[tokio::test]
async fn a_conversation_starts_with_at_most_five_hundred_tokens() {
    let home = Home::new(&Testbed::new("bed").table());
    for surface in ["search", "code"] {
        let output = home
            .kitbag(&["stats", "tokens", "--surface", surface, "--json"])
            .await;
        let tokens: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let number = |key: &str| tokens[key].as_u64().unwrap();
        assert!(number("shown") <= 500, "{tokens:#}");
        assert_eq!(number("saved"), number("catalog") - number("shown"));
        assert_eq!(tokens["servers"][0]["server"], "bed");
    }
    let output = home.kitbag(&["stats", "tokens", "--surface", "all"]).await;
    assert!(output.stdout.contains("0 saved (0.0 %)"), "{output:?}");
    assert!(output.stderr.contains("an estimate"), "{output:?}");
}

#[tokio::test]
async fn a_tenant_reads_its_own_token_counts() {
    let home = Home::new(&Testbed::new("bed").table());
    let (acme, globex) = (key(&home, "acme").await, key(&home, "globex").await);
    let gateway = home.serve().await;
    for era in Era::each() {
        let client = gateway.client_at("/mcp", era).key(&acme).connect().await;
        client.knows("search_available_tools").await;
        until("the tool is found", async || {
            let found = client
                .call("search_available_tools", &json!({ "query": "echo" }))
                .await;
            found
                .result()
                .to_string()
                .contains("bed__echo")
                .then_some(())
        })
        .await;
        let call = json!({ "tool": "bed__echo", "arguments": { "message": SECRET } });
        client.call("call_api", &call).await.result();
    }
    let (status, own) = get(&gateway, "/v1/tokens", Some(&acme)).await;
    assert_eq!(status, 200);
    let own: Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["surfaces"][0]["surface"], "search", "{own:#}");
    assert!(own["total"]["saved"].as_u64() > Some(1_000), "{own:#}");
    assert_eq!(
        own["clients"].as_array().unwrap().len(),
        2,
        "a session and a modern client: {own:#}"
    );
    let echo = own["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["tool"] == "bed__echo")
        .unwrap();
    assert_eq!(echo["answers"], 2);
    assert!(echo["returned"].as_u64() > Some(0));

    let (_, text) = get(&gateway, "/metrics", Some(&acme)).await;
    let calls = r#"kitbag_calls_total{tenant="acme",server="bed",outcome="ok"} 2"#;
    let took = r#"kitbag_call_duration_seconds_count{tenant="acme",server="bed"} 2"#;
    for line in [
        calls,
        took,
        r#"kitbag_upstream_up{server="bed"} 1"#,
        "kitbag_index_tools ",
    ] {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
    assert!(!text.contains(SECRET), "{text}");

    let (_, others) = get(&gateway, "/metrics", Some(&globex)).await;
    assert!(
        !others.contains("acme") && others.contains("kitbag_upstream_up"),
        "{others}"
    );
    let (_, all) = get(&gateway, "/metrics", None).await;
    assert!(
        all.contains(calls),
        "who needs no key sees everything:\n{all}"
    );
}

#[tokio::test]
async fn figures_require_a_key_like_all_endpoints() {
    let gateway = Gateway::with("[serve]\nbind = \"127.0.0.1:0\"\n").await;
    for path in ["/metrics", "/v1/tokens"] {
        assert_eq!(get(&gateway, path, Some("kb_wrong")).await.0, 401);
        let foreign = reqwest::Client::new().get(format!("{}{path}", gateway.base));
        let foreign = foreign
            .header("origin", "https://elsewhere.example")
            .send()
            .await
            .unwrap();
        assert_eq!(foreign.status().as_u16(), 403);
    }
}

#[tokio::test]
async fn a_collector_is_sent_a_span_for_each_call_and_the_figures() {
    let collector = Collector::start().await;
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.url);
    let home = Home::new(&format!("{telemetry}{}", Testbed::new("bed").table()));
    home.export("OTEL_BSP_SCHEDULE_DELAY", "50");
    home.export("OTEL_METRIC_EXPORT_INTERVAL", "50");
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp/all", Era::Modern).connect().await;
    client.knows("bed__echo").await;
    client
        .call("bed__echo", &json!({ "message": SECRET }))
        .await
        .result();
    for (signal, texts) in [
        ("traces", ["tools/call bed__echo", "kitbag.outcome"]),
        (
            "metrics",
            ["kitbag.tokens.returned", "kitbag.call.duration"],
        ),
        ("traces", ["kitbag.tool", "bed__echo"]),
    ] {
        until("the collector has it", async || {
            texts
                .iter()
                .all(|text| collector.has(signal, text))
                .then_some(())
        })
        .await;
        assert!(
            !collector.has(signal, SECRET),
            "no arguments go to the collector"
        );
    }
}

#[tokio::test]
async fn a_span_belongs_under_the_span_of_the_client_and_has_the_conventional_names() {
    let collector = Collector::start().await;
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.url);
    let home = Home::new(&format!("{telemetry}{}", Testbed::new("bed").table()));
    home.export("OTEL_BSP_SCHEDULE_DELAY", "50");
    let gateway = home.serve().await;
    let ids = |round: u8| ([0xa0 + round; 16], [0xb0 + round; 8]);
    let parent = |round: u8| format!("00-{}-{}-01", hex(&ids(round).0), hex(&ids(round).1));
    let mut round = 0;
    for era in Era::each() {
        let client = gateway.client(era).await;
        client.knows("bed__echo").await;
        let params = json!({ "name": "bed__echo", "arguments": {}, "_meta": { "traceparent": parent(round) } });
        client.request("tools/call", &params).await;
        let params = json!({ "name": "bed__echo", "arguments": {} });
        let mut headers = client.headers("tools/call", &params);
        headers.push(("traceparent".to_owned(), parent(round + 1)));
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway
            .post(
                "/mcp/all",
                &headers,
                client.body(99, "tools/call", &params.to_string()),
            )
            .await;
        round += 2;
    }
    for round in 0..round {
        let (trace, span) = ids(round);
        until("the span has its parent", async || {
            (collector.has_bytes("traces", &trace) && collector.has_bytes("traces", &span))
                .then_some(())
        })
        .await;
    }
    for text in [
        "mcp.method.name",
        "gen_ai.tool.name",
        "execute_tool",
        "client.address",
    ] {
        assert!(collector.has("traces", text), "{text}");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn an_unreachable_collector_affects_no_client_and_is_logged_once() {
    let telemetry = "[telemetry]\notlp_endpoint = \"http://127.0.0.1:9\"\n";
    let home = Home::new(&format!("{telemetry}{}", Testbed::new("bed").table()));
    home.export("OTEL_METRIC_EXPORT_INTERVAL", "20");
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp/all", Era::Legacy).connect().await;
    client.knows("bed__echo").await;
    client
        .call("bed__echo", &json!({ "message": "still here" }))
        .await
        .result();
    let mentions = || {
        gateway
            .log()
            .matches("telemetry does not reach the collector")
            .count()
    };
    until("it is mentioned", async || (mentions() > 0).then_some(())).await;
    assert_eq!(mentions(), 1);
    assert!(gateway.stop().await.success());
}

async fn key(home: &Home, tenant: &str) -> String {
    let output = home
        .kitbag(&["key", "create", "--tenant", tenant, "--json"])
        .await;
    let created: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    created["key"].as_str().unwrap().to_owned()
}

pub(crate) async fn get(gateway: &Gateway, path: &str, key: Option<&str>) -> (u16, String) {
    let mut request = reqwest::Client::new().get(format!("{}{path}", gateway.base));
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The last path segments, and the bodies sent there.
type Received = Arc<Mutex<Vec<(String, Bytes)>>>;

/// An OpenTelemetry collector that stores what it receives; it ends with the test.
pub(crate) struct Collector {
    pub(crate) url: String,
    received: Received,
    serving: tokio::task::JoinHandle<()>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let received = Received::default();
        let router = Router::new()
            .route("/v1/{signal}", post(keep))
            .with_state(received.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            received,
            serving,
        }
    }

    /// True if a message of this signal contains the text; Protobuf leaves strings readable.
    fn has(&self, signal: &str, text: &str) -> bool {
        self.has_bytes(signal, text.as_bytes())
    }

    pub(crate) fn has_bytes(&self, signal: &str, bytes: &[u8]) -> bool {
        let holds = |body: &Bytes| body.windows(bytes.len()).any(|window| window == bytes);
        self.received
            .lock()
            .unwrap()
            .iter()
            .any(|(of, body)| of == signal && holds(body))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn keep(State(received): State<Received>, Path(signal): Path<String>, body: Bytes) {
    received.lock().unwrap().push((signal, body));
}
