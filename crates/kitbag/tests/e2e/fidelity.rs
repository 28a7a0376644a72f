//! Messages between clients and servers arrive byte for byte.

use serde_json::json;

use crate::harness::testbed::print_output;
use crate::harness::world::{Endpoint, Way, World};
use crate::harness::{Client, Era};

#[tokio::test]
async fn a_result_of_unknown_fields_and_odd_numbers_arrives_byte_for_byte() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let sent = print_output(&["--era", way.server.era(), "print-exotic"]);
        let reply = way.call("exotic", &json!({})).await;
        assert_eq!(
            reply.raw_result(),
            as_seen_by(&way, &sent, r#""resultType":"complete""#)
        );
    }
}

#[tokio::test]
async fn arguments_reach_the_server_byte_for_byte() {
    const ARGUMENTS: &str = concat!(
        r#"{"z":18446744073709551616,"a":1.50,"e":1E+2,"n":-0.0,"huge":1e400, "spaced" : [1, 2],"#,
        r#""s":"caf\u00e9 \/ \ud83d\ude00 ☃","nested":{"b":[],"a":null,"":{}},"tiny":1e-999}"#,
    );
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let params = format!(
            r#"{{"arguments":{ARGUMENTS},"name":"{}"}}"#,
            way.name("echo")
        );
        let reply = way.client.request_text("tools/call", &params).await;
        let text = format!(r#"{{"type":"text","text":{}}}"#, json!(ARGUMENTS));
        assert!(reply.raw_result().contains(&text), "{}", reply.raw());
        assert!(
            reply
                .raw_result()
                .contains(&format!(r#""structuredContent":{ARGUMENTS}"#)),
            "{}",
            reply.raw()
        );
    }
}

#[tokio::test]
async fn a_call_without_arguments_reaches_the_server_without_them() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let reply = way
            .client
            .request("tools/call", &json!({ "name": way.name("echo_params") }))
            .await;
        assert!(!reply.text().contains("arguments"), "{}", reply.text());
    }
}

#[tokio::test]
async fn unknown_params_and_meta_reach_the_server_and_the_keys_of_one_hop_do_not() {
    const UNKNOWN: &str = r#""vendor":{"b":1.0,"a":[1.50,"\u00e9"]}"#;
    const META: [&str; 4] = [
        r#""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#,
        r#""tracestate":"rojo=00f067aa0ba902b7""#,
        r#""baggage":"user=alice""#,
        r#""vendor.example/key":{"z":1.50,"a":123456789012345678901234567890}"#,
    ];
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let name = way.name("echo_params");
        let params = format!(
            r#"{{{UNKNOWN},"_meta":{{{}}},"name":"{name}"}}"#,
            META.join(",")
        );
        let seen = way.client.request_text("tools/call", &params).await.text();
        assert!(seen.contains(UNKNOWN), "{seen}");
        assert!(seen.contains(&META.join(",")), "{seen}");
        assert!(seen.contains(r#""name":"echo_params""#), "{seen}");
        assert!(
            !seen.contains(r#""name":"e2e""#),
            "the server has seen the client of another hop: {seen}"
        );
        let speaks_modern = seen.contains("io.modelcontextprotocol/protocolVersion");
        assert_eq!(speaks_modern, way.server.era == Era::Modern, "{seen}");
    }
}

#[tokio::test]
async fn an_error_arrives_with_its_code_message_and_data() {
    const ERROR: &str = concat!(
        r#""error":{"code":-31415,"message":"as exotic as can be","#,
        r#""data":{"z":1.50,"big":123456789012345678901234567890,"a":["caf\u00e9",{}],"none":null}}"#,
    );
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let reply = way.call("exotic_error", &json!({})).await;
        assert!(reply.raw().contains(ERROR), "{}", reply.raw());
    }
}

#[tokio::test]
async fn a_definition_is_shown_as_it_is_but_for_the_name_where_servers_are_merged() {
    let sent = print_output(&["print-definition"]);
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let exposed = way.name("exotic_definition");
        let shown = sent.replace(
            r#""name":"exotic_definition""#,
            &format!(r#""name":"{exposed}""#),
        );
        let listed = way.client.request("tools/list", &json!({})).await;
        assert!(listed.raw_result().contains(&shown), "{}", listed.raw());
    }
}

#[tokio::test]
async fn the_route_of_one_server_answers_as_the_server_itself() {
    let world = World::new().await;
    let requests = [
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "test://template/7/data" })),
        ("prompts/get", json!({ "name": "test_prompt_with_image" })),
        (
            "tools/call",
            json!({ "name": "test_multiple_content_types" }),
        ),
        ("tools/call", json!({ "name": "test_error_handling" })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" },
                    "argument": { "name": "arg1", "value": "par" } }),
        ),
    ];
    for (server, remote) in &world.remotes {
        let direct = Client::to(&remote.url, server.era).connect().await;
        for client_era in Era::each() {
            let client = world
                .gateway
                .client_at(&server.path(), client_era)
                .connect()
                .await;
            let way = Way {
                client,
                server,
                endpoint: Endpoint::One,
            };
            for (method, params) in &requests {
                let sent = direct.request(method, params).await;
                let hints = match *method {
                    "tools/call" | "prompts/get" | "completion/complete" => {
                        r#""resultType":"complete""#
                    }
                    _ => r#""resultType":"complete","ttlMs":60000,"cacheScope":"private""#,
                };
                let expected = as_seen_by(&way, sent.raw_result(), hints);
                assert_eq!(
                    way.client.request(method, params).await.raw_result(),
                    expected,
                    "{method}"
                );
            }
        }
    }
}

/// Modern clients require members that legacy servers do not know; they are appended.
fn as_seen_by(way: &Way, sent: &str, added: &str) -> String {
    match (way.client.era, way.server.era) {
        (Era::Modern, Era::Legacy) => {
            format!("{},{added}}}", sent.strip_suffix('}').unwrap())
        }
        _ => sent.to_owned(),
    }
}
