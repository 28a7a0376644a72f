//! Remote servers that ask clients to wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::ERAS;
use crate::harness::{Client, Era, Gateway, Home, Remote, until};

/// A gateway in front of a server that asks for a wait whenever the test sets it.
struct BusyServer {
    home: Arc<Home>,
    gateway: Gateway,
    client: Client,
    trace: PathBuf,
    _remote: Remote,
}

impl BusyServer {
    async fn before(era: &str) -> Self {
        let home = Home::new("");
        let trace = home.path("trace");
        let data = trace.to_str().unwrap();
        let arguments = ["--era", era, "--manner", "hold-off", "--data-dir", data];
        let remote = Remote::http(&arguments).await;
        home.configure(&remote.table("far", ""));
        let gateway = home.serve().await;
        let client = gateway.client(Era::Modern).await;
        client.knows("far__echo").await;
        Self {
            home,
            gateway,
            client,
            trace,
            _remote: remote,
        }
    }

    /// Makes the server answer every request in this way from now on.
    fn hold_off(&self, how: &str) {
        fs::write(self.trace.join("hold-off"), how).unwrap();
    }

    fn accept_again(&self) {
        fs::remove_file(self.trace.join("hold-off")).unwrap();
    }

    /// The number of requests that the server has rejected so far.
    fn rejected_count(&self) -> usize {
        let events = fs::read_to_string(Path::new(&self.trace).join("events.log"));
        events.unwrap_or_default().matches("held off").count()
    }

    async fn call_error(&self) -> String {
        self.client.call("far__echo", &json!({})).await.tool_error()
    }

    async fn is_served(&self) -> bool {
        let reply = self.client.call("far__echo", &json!({})).await;
        reply.result()["isError"] != true
    }
}

#[tokio::test]
async fn a_server_that_asks_for_a_wait_gets_no_request_until_then_and_callers_read_how_long() {
    for era in ERAS {
        for status in [429, 503] {
            let setup = BusyServer::before(era).await;
            setup.hold_off(&format!("{status} 300"));
            let output = setup.call_error().await;
            let words = format!(
                "`far` answered HTTP {status}: the quota is used up; it accepts no requests for another 5 min"
            );
            assert!(
                output.contains(&words) && output.contains("What to do: call again in 5 min"),
                "{era}: {output}"
            );
            let before = setup.rejected_count();
            let calls = (0..50).map(|_| setup.call_error());
            for output in futures::future::join_all(calls).await {
                assert!(
                    output.contains("it accepts no requests for another"),
                    "{era}: {output}"
                );
            }
            assert_eq!(setup.rejected_count(), before, "{era}");
        }
    }
}

#[tokio::test]
async fn after_the_wait_or_a_restart_by_hand_the_server_is_asked_again() {
    for era in ERAS {
        let setup = BusyServer::before(era).await;
        setup.hold_off("429 1");
        setup.call_error().await;
        setup.accept_again();
        until("the wait is over", async || {
            setup.is_served().await.then_some(())
        })
        .await;
        setup.hold_off("429 3000");
        setup.call_error().await;
        setup.accept_again();
        assert!(!setup.is_served().await, "the wait goes on");
        let restarted = setup.home.kitbag(&["servers", "restart", "far"]).await;
        assert_eq!(restarted.code, Some(0), "{}", restarted.stderr);
        assert!(setup.is_served().await, "{}", setup.gateway.log());
    }
}

#[tokio::test]
async fn a_wait_requested_in_the_handshake_is_not_counted_as_a_failure() {
    let setup = BusyServer::before("legacy").await;
    setup.hold_off("503 300");
    let restarted = setup.home.kitbag(&["servers", "restart", "far"]).await;
    assert_eq!(restarted.code, Some(1), "{}", restarted.stdout);
    let before = setup.rejected_count();
    for _ in 0..5 {
        let output = setup.call_error().await;
        assert!(
            output.contains("it accepts no requests for another") && !output.contains("in a row"),
            "{output}"
        );
    }
    assert_eq!(setup.rejected_count(), before);
}
