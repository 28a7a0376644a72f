//! Gateways that end, are killed, or start second, and the programs that had joined them.

use serde_json::json;

use super::SharedHome;
use crate::harness::{Client, Era, until};

#[tokio::test]
async fn clients_are_notified_when_the_gateway_ends_and_join_the_next() {
    for killed in [false, true] {
        let setup = SharedHome::new();
        let gateway = setup.home.serve().await;
        let client = Client::stdio(&setup.home, Era::Legacy).connect().await;
        client.call("shared__echo", &json!({})).await.text();
        match killed {
            true => gateway.kill().await,
            false => assert!(gateway.stop().await.success()),
        }
        while client.pipe().line().await.is_some() {}
        assert_eq!(client.pipe().close().unwrap().code(), Some(1));
        until("it says so", async || {
            let output = client.pipe().log();
            output
                .contains("error: the gateway that this client joined has ended")
                .then_some(())
        })
        .await;
        assert_eq!(
            setup.socket().is_some(),
            killed,
            "one that is asked to end takes its socket along"
        );

        let gateway = setup.home.serve().await;
        let before = setup.starts();
        let client = Client::stdio(&setup.home, Era::Modern).connect().await;
        client.call("shared__echo", &json!({})).await.text();
        setup.ok(&["call", "shared__echo"]).await;
        assert_eq!(
            setup.starts(),
            before + 1,
            "killed: {killed}: {}",
            gateway.log()
        );
    }
}

#[tokio::test]
async fn a_client_that_has_sent_nothing_yet_continues_without_the_gateway() {
    let setup = SharedHome::new();
    setup.home.export("KITBAG_LOG", "kitbag=debug");
    let gateway = setup.home.serve().await;
    let client = Client::stdio(&setup.home, Era::Legacy).without_handshake();
    let joined = async || {
        client
            .pipe()
            .log()
            .contains("joined the running gateway")
            .then_some(())
    };
    until("the client has joined", joined).await;
    assert!(gateway.stop().await.success());
    let alone = async || {
        client
            .pipe()
            .log()
            .contains("continuing without it")
            .then_some(())
    };
    until("it is on its own", alone).await;
    let greeted = client.request("server/discover", &json!({})).await;
    assert!(
        greeted.raw().contains("\"serverInfo\"") || greeted.raw().contains("\"error\""),
        "{}",
        greeted.raw()
    );
    assert!(client.pipe().close().unwrap().success());
}

#[tokio::test]
async fn a_running_call_finishes_before_the_gateway_ends() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    let client = Client::stdio(&setup.home, Era::Legacy).connect().await;
    let params = json!({ "name": "shared__slow", "arguments": { "ms": 1000 } });
    let exchange = client.start("tools/call", &params).await;
    until("the call runs", async || {
        (setup.events("started slow") == 1).then_some(())
    })
    .await;
    let (status, reply) = tokio::join!(gateway.stop(), exchange.finish());
    assert!(status.success());
    assert_eq!(reply.text(), "slept 1000 ms in 0 steps");
}

#[tokio::test]
async fn a_client_that_closes_its_side_ends_its_calls_and_leaves_the_gateway_alone() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    let client = Client::stdio(&setup.home, Era::Legacy).connect().await;
    let _exchange = client
        .start(
            "tools/call",
            &json!({ "name": "shared__slow", "arguments": { "ms": 600_000 } }),
        )
        .await;
    until("the call runs", async || {
        (setup.events("started slow") == 1).then_some(())
    })
    .await;
    assert!(client.pipe().close().unwrap().success());
    until("the call is cancelled", async || {
        (setup.events("cancelled slow") == 1).then_some(())
    })
    .await;
    assert_eq!(
        gateway
            .client(Era::Modern)
            .await
            .call("shared__echo", &json!({}))
            .await
            .text(),
        "{}"
    );
    assert_eq!(setup.starts(), 1);
}

#[tokio::test]
async fn of_two_gateways_the_first_is_joined_and_the_second_takes_over() {
    let setup = SharedHome::new();
    let first = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    let second = setup.home.serve().await;
    let second_told = async |words: &str| second.log().contains(words).then_some(());
    until("it says so", async || {
        second_told("another gateway serves this configuration").await
    })
    .await;
    setup.ok(&["call", "shared__echo"]).await;
    assert_eq!(setup.starts(), 1);
    assert!(first.stop().await.success());
    until("it takes the socket", async || {
        second_told("local commands now join this one").await
    })
    .await;
    for _ in 0..2 {
        setup.ok(&["call", "shared__echo"]).await;
    }
    assert_eq!(setup.starts(), 2, "{}", second.log());
}
