//! Messages that a server sends after answering the call they are about: only the client of that call
//! may receive them, and no client if that cannot be proved.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::{Client, Era, Gateway, Home, Remote, Reply, Testbed, until};

/// Text in the job of one caller.
const SECRET: &str = "HIGH-TENANT-DATA";

/// A gateway in front of one legacy server with background jobs.
struct JobGateway {
    home: Arc<Home>,
    gateway: Gateway,
    _remote: Option<Remote>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Stdio,
    Http,
    Sse,
}

impl Reached {
    const EVERY: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];
}

impl JobGateway {
    async fn open(reached: Reached) -> Self {
        let home = Home::new("");
        let trace = home.path("trace");
        let args = [
            "--era",
            "legacy",
            "--manner",
            "jobs",
            "--data-dir",
            trace.to_str().unwrap(),
        ];
        let remote = match reached {
            Reached::Stdio => None,
            Reached::Http => Some(Remote::http(&args).await),
            Reached::Sse => Some(Remote::sse(&args).await),
        };
        let table = match &remote {
            Some(remote) => remote.table("hr", ""),
            None => Testbed::new("hr")
                .era("legacy")
                .manner("jobs")
                .data_dir(&trace)
                .table(),
        };
        home.configure(&table);
        let gateway = home.serve().await;
        gateway.client(Era::Modern).await.knows("hr__job").await;
        Self {
            home,
            gateway,
            _remote: remote,
        }
    }

    /// A client that accepts questions, with a key of the tenant unless that is `local`.
    async fn client(&self, tenant: &str, client_era: Era) -> Client {
        let builder = self.gateway.client_at("/mcp/all", client_era).named(tenant);
        let builder = match tenant {
            "local" => builder,
            _ => builder.key(&self.key(tenant).await),
        };
        let answer =
            json!({ "action": "accept", "content": { "value": format!("answer of {tenant}") } });
        let roots = json!({ "roots": [{ "uri": format!("file:///{tenant}") }] });
        let answer = move |method: &str, _: &Value| {
            if method == "roots/list" {
                roots.clone()
            } else {
                answer.clone()
            }
        };
        builder.answer_with(answer).connect().await
    }

    async fn key(&self, tenant: &str) -> String {
        let output = self
            .home
            .kitbag(&["key", "create", "--tenant", tenant, "--json"])
            .await;
        let created: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        created["key"].as_str().unwrap().to_owned()
    }

    /// A running call of this client, which answers any questions.
    async fn waits(&self, client: &Client) -> JoinHandle<Reply> {
        let before = self.events().matches("started slow").count();
        let client = client.clone();
        let call =
            tokio::spawn(async move { client.call("hr__slow", &json!({ "ms": 3000 })).await });
        until("the call runs", async || {
            (self.events().matches("started slow").count() > before).then_some(())
        })
        .await;
        call
    }

    /// Lets the job finish, and returns the answers to its questions.
    async fn job_ends(&self) -> String {
        fs::write(self.trace().join("go"), "").unwrap();
        until("the job has ended", async || {
            self.events().contains("job done").then(|| self.events())
        })
        .await
    }

    fn events(&self) -> String {
        fs::read_to_string(self.trace().join("events.log")).unwrap_or_default()
    }

    fn trace(&self) -> PathBuf {
        self.home.path("trace")
    }
}

async fn starts_job(client: &Client) {
    assert_eq!(
        client
            .call("hr__job", &json!({ "words": SECRET }))
            .await
            .text(),
        "The job goes on"
    );
}

/// The call of the second client receives no messages or questions of the first client's job.
async fn stays_apart(reached: Reached, first: (&str, Era), second: (&str, Era)) {
    let setup = JobGateway::open(reached).await;
    let high = setup.client(first.0, first.1).await;
    starts_job(&high).await;
    let low = setup.client(second.0, second.1).await;
    let waiting = setup.waits(&low).await;
    let events = setup.job_ends().await;
    for method in ["elicitation/create", "roots/list"] {
        let refused = format!("refused {method}: several clients share this server");
        assert!(
            events.contains(&refused),
            "{reached:?} {first:?} {second:?}: {events}"
        );
    }
    assert!(!waiting.is_finished(), "the job spoke while the call ran");
    let heard = waiting.await.unwrap();
    assert_eq!(heard.text(), "slept 3000 ms in 0 steps");
    assert_eq!(
        heard.before(),
        [Value::Null; 0],
        "{reached:?} {first:?} {second:?}"
    );
    let output = setup.home.kitbag(&["logs", "hr"]).await;
    assert!(
        reached != Reached::Stdio || output.stdout.contains(SECRET),
        "operators can read it: {output:?}"
    );
}

#[tokio::test]
async fn late_messages_of_one_tenants_job_never_reach_another() {
    for reached in Reached::EVERY {
        stays_apart(reached, ("high", Era::Legacy), ("low", Era::Legacy)).await;
    }
    stays_apart(Reached::Stdio, ("high", Era::Modern), ("low", Era::Modern)).await;
}

#[tokio::test]
async fn late_messages_of_a_job_reach_no_other_key_and_no_other_client_of_the_same_key() {
    stays_apart(Reached::Stdio, ("acme", Era::Legacy), ("acme", Era::Legacy)).await;
    stays_apart(Reached::Stdio, ("local", Era::Legacy), ("low", Era::Legacy)).await;
    let setup = JobGateway::open(Reached::Stdio).await;
    let key = setup.key("acme").await;
    let one = setup
        .gateway
        .client_at("/mcp/all", Era::Legacy)
        .key(&key)
        .connect()
        .await;
    starts_job(&one).await;
    let other = setup.gateway.client_at("/mcp/all", Era::Legacy).key(&key);
    let other = other.answer_with(|_, _| panic!("asked")).connect().await;
    let waiting = setup.waits(&other).await;
    setup.job_ends().await;
    assert!(!waiting.is_finished());
    assert_eq!(waiting.await.unwrap().before(), [Value::Null; 0]);
}

#[tokio::test]
async fn late_messages_of_a_job_reach_the_only_client() {
    for reached in Reached::EVERY {
        let setup = JobGateway::open(reached).await;
        let client = setup.client("acme", Era::Legacy).await;
        starts_job(&client).await;
        let waiting = setup.waits(&client).await;
        let events = setup.job_ends().await;
        assert!(
            events.contains("answered elicitation/create: ") && events.contains("answer of acme"),
            "{events}"
        );
        assert!(
            events.contains("answered roots/list: ") && events.contains("file:///acme"),
            "{events}"
        );
        let heard = waiting.await.unwrap();
        assert_eq!(
            heard.notifications("notifications/message")[0]["data"],
            SECRET
        );
        assert_eq!(heard.notifications("notifications/job")[0]["data"], SECRET);
    }
}

#[tokio::test]
async fn a_question_on_the_stream_of_its_own_call_is_asked_whoever_else_has_parked_calls() {
    let setup = JobGateway::open(Reached::Http).await;
    let low = setup.client("low", Era::Modern).await;
    let asks = json!({ "name": "hr__test_elicitation", "arguments": { "message": "?" } });
    for _ in 0..3 {
        let parked = low.start("tools/call", &asks).await.finish().await;
        assert_eq!(parked.result()["resultType"], "input_required");
    }
    for client_era in Era::each() {
        let high = setup.client("high", client_era).await;
        let output = high
            .call("hr__test_elicitation", &json!({ "message": "Who?" }))
            .await
            .text();
        assert!(output.contains("answer of high"), "{output}");
    }
}

#[tokio::test]
async fn the_last_output_of_a_server_is_for_operators_only() {
    let setup = JobGateway::open(Reached::Stdio).await;
    let high = setup.client("high", Era::Legacy).await;
    for client_era in Era::each() {
        let low = setup.client("low", client_era).await;
        for path in ["/mcp/all", "/mcp/search", "/servers/hr/mcp"] {
            starts_job(&high).await;
            let builder = setup
                .gateway
                .client_at(path, client_era)
                .key(&setup.key("low").await);
            let client = builder.connect().await;
            let crash = match path {
                "/mcp/search" => {
                    client
                        .call("call_api", &json!({ "tool": "hr__crash", "arguments": {} }))
                        .await
                }
                "/servers/hr/mcp" => client.call("crash", &json!({})).await,
                _ => low.call("hr__crash", &json!({})).await,
            };
            let output = crash.tool_error();
            assert!(
                output.contains("`hr` disconnected during the call (exit code 3)"),
                "{output}"
            );
            assert!(output.contains("What to do: call again"), "{output}");
            assert!(
                !output.contains(SECRET) && !output.contains("lines of its stderr"),
                "{output}"
            );
        }
    }
    starts_job(&high).await;
    let local = setup.client("local", Era::Legacy).await;
    let output = local.call("hr__crash", &json!({})).await.tool_error();
    assert!(
        output.contains("Last lines of its stderr:") && output.contains(SECRET),
        "{output}"
    );
    assert!(setup.gateway.log().contains(SECRET), "the log says why");
}
