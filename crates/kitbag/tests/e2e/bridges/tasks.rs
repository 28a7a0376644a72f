//! Calls that continue after their answer, for clients that support tasks.

use serde_json::{Value, json};

use crate::harness::client::ClientBuilder;
use crate::harness::world::{Endpoint, Way, World};
use crate::harness::{Era, until};

fn with_tasks(builder: ClientBuilder) -> ClientBuilder {
    builder.capabilities(
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} }, "elicitation": {} }),
    )
}

/// All paths from modern clients to modern servers.
async fn ways(world: &World) -> Vec<Way> {
    let mut ways = Vec::new();
    for endpoint in Endpoint::ALL {
        let through = world.ways_through(endpoint, Era::Modern, with_tasks).await;
        ways.extend(
            through
                .into_iter()
                .filter(|way| way.server.era == Era::Modern),
        );
    }
    ways
}

async fn begin(way: &Way, tool: &str, arguments: &Value) -> String {
    let begun = way.call(tool, arguments).await.result();
    assert_eq!(begun["resultType"], "task", "{begun}");
    begun["taskId"].as_str().unwrap().to_owned()
}

async fn status(way: &Way, id: &str, wanted: &str) -> Value {
    until(wanted, async || {
        let task = way
            .client
            .request("tasks/get", &json!({ "taskId": id }))
            .await
            .result();
        (task["status"] == wanted).then_some(task)
    })
    .await
}

#[tokio::test]
async fn a_task_is_begun_watched_answered_and_cancelled() {
    let world = World::new().await;
    for way in ways(&world).await {
        let id = begin(
            &way,
            "slow_compute",
            &json!({ "seconds": 0.05, "label": "tea" }),
        )
        .await;
        let done = status(&way, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"],
            "tea: computed for 0.05 s"
        );

        let id = begin(&way, "confirm_delete", &json!({ "filename": "a.txt" })).await;
        let asking = status(&way, &id, "input_required").await;
        let asked = asking["inputRequests"]["confirm"]["params"]["message"]
            .as_str()
            .unwrap();
        assert!(asked.ends_with("Delete a.txt?"), "{asked}");
        let answer = json!({ "confirm": { "action": "accept", "content": { "confirm": true } } });
        way.client
            .request(
                "tasks/update",
                &json!({ "taskId": id, "inputResponses": answer }),
            )
            .await
            .result();
        let done = status(&way, &id, "completed").await;
        assert_eq!(done["result"]["content"][0]["text"], "Delete a.txt: true");

        let id = begin(&way, "slow_compute", &json!({ "seconds": 60 })).await;
        way.client
            .request("tasks/cancel", &json!({ "taskId": id }))
            .await
            .result();
        status(&way, &id, "cancelled").await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_know_tasks_gets_results() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let done = way
            .call("slow_compute", &json!({ "seconds": 0.01, "label": "tea" }))
            .await;
        assert_eq!(done.text(), "tea: computed for 0.01 s");
    }
}

#[tokio::test]
async fn tasks_of_two_servers_with_the_same_id_are_not_mixed_up() {
    let world = World::new().await;
    for endpoint in [Endpoint::One, Endpoint::All] {
        let ways = world.ways_through(endpoint, Era::Modern, with_tasks).await;
        let [_, _, pipe, web] = ways.as_slice() else {
            panic!("four servers")
        };
        let one = begin(
            pipe,
            "slow_compute",
            &json!({ "seconds": 0.01, "label": "pipe" }),
        )
        .await;
        let two = begin(
            web,
            "slow_compute",
            &json!({ "seconds": 0.01, "label": "web" }),
        )
        .await;
        for (way, id, label) in [(pipe, one, "pipe"), (web, two, "web")] {
            let done = status(way, &id, "completed").await;
            assert_eq!(
                done["result"]["content"][0]["text"],
                format!("{label}: computed for 0.01 s")
            );
            assert_eq!(
                done["taskId"], id,
                "it is called the same wherever it is spoken of"
            );
        }
    }
}

#[tokio::test]
async fn the_task_of_another_tenant_does_not_exist() {
    let world = World::new().await;
    let key = async |tenant: &str| {
        let created = world
            .home()
            .kitbag(&["key", "create", "--tenant", tenant])
            .await;
        created.stdout.trim().to_owned()
    };
    let (ours, theirs) = (key("acme").await, key("globex").await);
    for endpoint in [Endpoint::All, Endpoint::One] {
        let owners = world
            .ways_through(endpoint, Era::Modern, |it| with_tasks(it).key(&ours))
            .await;
        let others = world
            .ways_through(endpoint, Era::Modern, |it| with_tasks(it).key(&theirs))
            .await;
        for (owner, other) in owners
            .iter()
            .zip(&others)
            .filter(|(way, _)| way.server.era == Era::Modern)
        {
            let id = begin(owner, "slow_compute", &json!({ "seconds": 60 })).await;
            for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
                let refused = other
                    .client
                    .request(method, &json!({ "taskId": id, "inputResponses": {} }))
                    .await;
                assert_eq!(refused.code(), -32602, "{method}: {}", refused.raw());
                assert!(
                    refused.error()["message"]
                        .as_str()
                        .unwrap()
                        .contains("no task"),
                    "{}",
                    refused.raw()
                );
            }
            status(owner, &id, "working").await;
            owner
                .client
                .request("tasks/cancel", &json!({ "taskId": id }))
                .await
                .result();
        }
    }
}
