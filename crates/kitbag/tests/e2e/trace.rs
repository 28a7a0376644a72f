//! A client's trace context, passed to the servers.

use serde_json::{Value, json};

use crate::harness::world::{Endpoint, World};
use crate::harness::{Era, Home, Testbed, until};
use crate::meter::Collector;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The `_meta` that a server received with the call.
fn received_meta(text: &str) -> Value {
    let params: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    params["_meta"].clone()
}

#[tokio::test]
async fn the_trace_in_headers_reaches_servers_of_either_era_over_every_transport() {
    let world = World::new().await;
    for way in world
        .ways(|it| it)
        .await
        .iter()
        .filter(|it| !it.endpoint.is_on_stdio())
    {
        let params = json!({ "name": way.name("echo_params"), "arguments": {} });
        let mut headers = way.client.headers("tools/call", &params);
        for (name, value) in [
            ("traceparent", PARENT),
            ("tracestate", "a=1"),
            ("baggage", "user=alice"),
        ] {
            headers.push((name.to_owned(), value.to_owned()));
        }
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let path = match way.endpoint {
            Endpoint::One => way.server.path(),
            _ => "/mcp/all".to_owned(),
        };
        let body = way.client.body(99, "tools/call", &params.to_string());
        let meta = received_meta(&world.gateway.post(&path, &headers, body).await.text());
        assert_eq!(meta["traceparent"], PARENT, "{way:?}");
        assert_eq!(
            (&meta["tracestate"], &meta["baggage"]),
            (&json!("a=1"), &json!("user=alice"))
        );
    }
}

#[tokio::test]
async fn a_trace_that_breaks_the_standard_reaches_no_server() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let meta =
            json!({ "traceparent": "garbage", "tracestate": "a=1", "baggage": "none", "x": 1 });
        let params = json!({ "name": way.name("echo_params"), "arguments": {}, "_meta": meta });
        let meta = received_meta(&way.client.request("tools/call", &params).await.text());
        assert_eq!(meta["x"], 1);
        for name in ["traceparent", "tracestate", "baggage"] {
            assert_eq!(meta[name], Value::Null, "{way:?}");
        }
    }
}

#[tokio::test]
async fn the_parent_that_a_server_sees_is_the_span_that_the_collector_gets() {
    let collector = Collector::start().await;
    let telemetry = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.url);
    let home = Home::new(&format!("{telemetry}{}", Testbed::new("bed").table()));
    home.export("OTEL_BSP_SCHEDULE_DELAY", "50");
    let gateway = home.serve().await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        client.knows("bed__echo_params").await;
        for meta in [json!({ "traceparent": PARENT }), json!({ "x": 1 })] {
            let params = json!({ "name": "bed__echo_params", "arguments": {}, "_meta": meta });
            let output = received_meta(&client.request("tools/call", &params).await.text());
            let output = output["traceparent"]
                .as_str()
                .unwrap_or_else(|| panic!("{output}"))
                .to_owned();
            let fields: Vec<&str> = output.split('-').collect();
            assert_eq!(fields[1] == TRACE, meta["x"].is_null(), "{output}");
            assert_ne!(output, PARENT);
            let span: Vec<u8> = (0..8)
                .map(|at| u8::from_str_radix(&fields[2][2 * at..2 * at + 2], 16).unwrap())
                .collect();
            until("the span is exported", async || {
                collector.has_bytes("traces", &span).then_some(())
            })
            .await;
        }
    }
}
