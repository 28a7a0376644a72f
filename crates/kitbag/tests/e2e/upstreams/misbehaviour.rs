//! Servers that misbehave and are served all the same.

use serde_json::json;

use super::ERAS;
use crate::harness::testbed::print_output;
use crate::harness::{Client, Era, Gateway, Home, Testbed};

/// The server offers the same tools as a well-behaved one, and answers a call.
async fn survives(misbehaviour: &str, eras: &[&str]) {
    for era in eras {
        let odd = Testbed::new("odd").era(era).manner(misbehaviour);
        let gateway = Gateway::with(&(odd.table() + &Testbed::new("good").era(era).table())).await;
        let client = gateway.client(Era::Legacy).await;
        client.knows("good__echo").await;
        client.knows("odd__echo").await;
        assert_eq!(
            tools_of(&client, "odd").await,
            tools_of(&client, "good").await,
            "{misbehaviour} {era}"
        );
        let reply = client
            .call("odd__echo", &json!({ "misbehaviour": misbehaviour }))
            .await;
        assert_eq!(
            reply.text(),
            json!({ "misbehaviour": misbehaviour }).to_string()
        );
    }
}

#[tokio::test]
async fn noise_and_foreign_json_on_stdout_are_skipped() {
    survives("noise", &ERAS).await;
}

#[tokio::test]
async fn unknown_requests_and_notifications_are_tolerated() {
    survives("odd-messages", &ERAS).await;
}

#[tokio::test]
async fn a_server_that_asks_for_roots_at_once_is_answered_without_a_client() {
    survives("early-roots", &["legacy"]).await;
}

#[tokio::test]
async fn a_tool_listed_twice_is_offered_once() {
    survives("duplicate-names", &ERAS).await;
}

#[tokio::test]
async fn an_endless_cursor_is_stopped() {
    survives("endless-cursor", &ERAS).await;
}

#[tokio::test]
async fn a_server_that_ignores_the_modern_probe_gets_the_legacy_handshake() {
    survives("no-discover-answer", &["legacy"]).await;
}

#[tokio::test]
async fn every_page_of_every_list_is_read() {
    for era in ERAS {
        let paged = Testbed::new("paged").era(era).manner("paginate").table();
        let gateway = Gateway::with(&(paged + &Testbed::new("whole").era(era).table())).await;
        let client = gateway.client(Era::Modern).await;
        client.knows("paged__echo").await;
        client.knows("whole__echo").await;
        assert_eq!(
            tools_of(&client, "paged").await,
            tools_of(&client, "whole").await
        );
        let prompts = client.list("prompts/list", "prompts").await;
        let of = |server: &str| {
            prompts
                .iter()
                .filter(|it| it["name"].as_str().unwrap().starts_with(server))
                .count()
        };
        assert!(
            of("paged__") > 2 && of("paged__") == of("whole__"),
            "{prompts:?}"
        );
    }
}

#[tokio::test]
async fn a_false_capability_costs_neither_the_other_lists_nor_time() {
    for era in ERAS {
        let liar = Testbed::new("liar").era(era).manner("lie");
        let gateway = Gateway::with(&(liar.table() + &Testbed::new("good").era(era).table())).await;
        let client = gateway.client(Era::Legacy).await;
        client.knows("liar__echo").await;
        client.knows("good__echo").await;
        assert_eq!(
            tools_of(&client, "liar").await,
            tools_of(&client, "good").await
        );
        let own = gateway
            .client_at("/servers/liar/mcp", Era::Legacy)
            .connect()
            .await;
        assert!(own.tool_names().await.contains(&"echo".to_owned()));
        for (method, key) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
            assert!(
                !client.list(method, key).await.is_empty(),
                "{method} has what the good server offers"
            );
        }
        let log = gateway.log();
        assert!(
            !log.contains("all servers have been listed"),
            "something waited for a list that never comes: {log}"
        );
    }
}

#[tokio::test]
async fn a_slow_start_delays_neither_the_list_nor_other_servers() {
    let home = Home::new("");
    let slow = Testbed::new("slow")
        .manner("slow-start")
        .data_dir(&home.path("trace"));
    home.configure(&(slow.table() + &Testbed::new("good").table()));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.tool_names().await;
    client.knows("good__echo").await;
    assert!(
        tools_of(&client, "slow").await.is_empty(),
        "it has not begun to read"
    );
    std::fs::write(home.path("trace/start"), "").unwrap();
    assert_eq!(client.call("good__echo", &json!({})).await.text(), "{}");
    // A client that knows the name already need not wait for the list.
    assert_eq!(client.call("slow__echo", &json!({})).await.text(), "{}");
    client.knows("slow__echo").await;
}

#[tokio::test]
async fn a_server_that_answers_nothing_is_given_up_without_affecting_others() {
    for era in ERAS {
        let mute = Testbed::new("mute")
            .era(era)
            .manner("hang")
            .with("start_timeout = \"1s\"");
        let gateway = Gateway::with(&(mute.table() + &Testbed::new("good").table())).await;
        let client = gateway.client(Era::Modern).await;
        client.knows("good__echo").await;
        let output = client.call("mute__echo", &json!({})).await.tool_error();
        assert!(
            output.contains("`mute` was not ready within 1s"),
            "{output}"
        );
        assert!(
            output.contains("raise `start_timeout` of [servers.mute]"),
            "{output}"
        );
        assert_eq!(client.call("good__echo", &json!({})).await.text(), "{}");
    }
}

#[tokio::test]
async fn a_definition_that_makes_no_sense_arrives_byte_for_byte() {
    let definition = print_output(&["print-definition"]);
    assert!(definition.contains("#/properties/start"), "{definition}");
    for era in ERAS {
        let gateway = Gateway::with(&Testbed::new("odd").era(era).table()).await;
        for client_era in Era::each() {
            gateway
                .client(client_era)
                .await
                .knows("odd__exotic_definition")
                .await;
            let own = gateway
                .client_at("/servers/odd/mcp", client_era)
                .connect()
                .await;
            let listed = own.request("tools/list", &json!({})).await;
            assert!(
                listed.raw_result().contains(&definition),
                "{era} {client_era:?}: {}",
                listed.raw_result()
            );
            let merged = gateway
                .client(client_era)
                .await
                .request("tools/list", &json!({}))
                .await;
            let renamed = definition.replace("\"exotic_definition\"", "\"odd__exotic_definition\"");
            assert!(
                merged.raw_result().contains(&renamed),
                "{era} {client_era:?}: {}",
                merged.raw_result()
            );
        }
    }
}

/// The names of a server's tools, without the server's prefix.
async fn tools_of(client: &Client, server: &str) -> Vec<String> {
    let prefix = format!("{server}__");
    let names = client.tool_names().await;
    names
        .iter()
        .filter_map(|name| name.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect()
}
