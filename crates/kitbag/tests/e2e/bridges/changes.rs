//! Change notifications of watched resources and lists, for clients of both eras.

use serde_json::{Value, json};

use crate::harness::world::{Endpoint, SERVERS, Way, World};
use crate::harness::{Era, Exchange};

const UPDATED: &str = "notifications/resources/updated";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const WATCHED: &str = "test://watched-resource";
const OTHER: &str = "test://static-text";

#[tokio::test]
async fn an_update_reaches_only_clients_that_watch() {
    let world = World::new().await;
    for era in Era::each() {
        for endpoint in [Endpoint::All, Endpoint::One] {
            let watchers = world.ways_through(endpoint, era, |it| it).await;
            let bystanders = world.ways_through(endpoint, era, |it| it).await;
            for (way, bystander) in watchers.iter().zip(&bystanders) {
                let (mut watching, tag) = watch(way, WATCHED).await;
                let (mut elsewhere, _) = watch(bystander, OTHER).await;
                for uri in [WATCHED, OTHER] {
                    way.call("touch_resource", &json!({ "uri": uri }))
                        .await
                        .text();
                }
                let update = watching.wait_for(UPDATED).await;
                assert_eq!(update["params"]["uri"], way.uri(WATCHED));
                assert_eq!(
                    update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
                    tag
                );
                let update = elsewhere.wait_for(UPDATED).await;
                assert_eq!(
                    update["params"]["uri"],
                    way.uri(OTHER),
                    "the first update it hears is its own"
                );
            }
        }
    }
}

#[tokio::test]
async fn two_listeners_get_the_same_update_each_under_its_own_id() {
    let world = World::new().await;
    for way in world
        .ways_through(Endpoint::All, Era::Modern, |it| it)
        .await
    {
        let (mut one, first) = watch(&way, WATCHED).await;
        let (mut two, second) = watch(&way, WATCHED).await;
        assert_ne!(first, second);
        way.call("touch_resource", &json!({ "uri": WATCHED }))
            .await
            .text();
        for (stream, tag) in [(&mut one, first), (&mut two, second)] {
            let update = stream.wait_for(UPDATED).await;
            assert_eq!(
                update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
                tag
            );
        }
        drop(one);
        way.call("touch_resource", &json!({ "uri": WATCHED }))
            .await
            .text();
        two.wait_for(UPDATED).await;
    }
}

#[tokio::test]
async fn no_update_is_lost_while_others_begin_and_end_to_watch() {
    let world = World::new().await;
    for way in world
        .ways_through(Endpoint::One, Era::Modern, |it| it)
        .await
    {
        let (mut watching, _) = watch(&way, WATCHED).await;
        for number in 0..20 {
            let uri = format!("test://template/{number}/data");
            let touch = json!({ "uri": WATCHED });
            let (other, touched) =
                tokio::join!(watch(&way, &uri), way.call("touch_resource", &touch));
            touched.text();
            watching.wait_for(UPDATED).await;
            drop(other);
        }
    }
}

#[tokio::test]
async fn clients_that_start_watching_at_once_all_get_their_updates() {
    let world = World::new().await;
    for era in Era::each() {
        for server in &SERVERS {
            let mut watchers = tokio::task::JoinSet::new();
            for number in 0..10 {
                let builder = world.gateway.client_at(&server.path(), era);
                watchers.spawn(async move {
                    let way = Way {
                        client: builder.connect().await,
                        server,
                        endpoint: Endpoint::One,
                    };
                    let uri = format!("test://template/{}/data", number / 2);
                    // Half of them unsubscribe while the others subscribe.
                    let (mut stream, _) = watch(&way, &uri).await;
                    if number % 2 == 0 {
                        way.call("touch_resource", &json!({ "uri": uri }))
                            .await
                            .text();
                        stream.wait_for(UPDATED).await;
                    } else if era == Era::Legacy {
                        way.client
                            .request("resources/unsubscribe", &json!({ "uri": uri }))
                            .await
                            .result();
                    }
                });
            }
            while let Some(done) = watchers.join_next().await {
                done.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_legacy_client_that_no_longer_watches_gets_no_more_updates() {
    let world = World::new().await;
    for endpoint in [Endpoint::All, Endpoint::One] {
        for way in world.ways_through(endpoint, Era::Legacy, |it| it).await {
            let (mut stream, _) = watch(&way, WATCHED).await;
            way.client
                .request("resources/subscribe", &json!({ "uri": way.uri(OTHER) }))
                .await
                .result();
            let ended = way
                .client
                .request("resources/unsubscribe", &json!({ "uri": way.uri(WATCHED) }))
                .await;
            assert_eq!(ended.raw_result(), "{}");
            for uri in [WATCHED, OTHER] {
                way.call("touch_resource", &json!({ "uri": uri }))
                    .await
                    .text();
            }
            assert_eq!(
                stream.wait_for(UPDATED).await["params"]["uri"],
                way.uri(OTHER)
            );
        }
    }
}

#[tokio::test]
async fn a_legacy_client_that_reconnects_gets_no_event_twice_unless_it_resumes() {
    let world = World::new().await;
    for way in world
        .ways_through(Endpoint::One, Era::Legacy, |it| it)
        .await
    {
        let (mut stream, _) = watch(&way, WATCHED).await;
        for _ in 0..3 {
            way.call("touch_resource", &json!({ "uri": WATCHED }))
                .await
                .text();
        }
        let mut output = Vec::new();
        for _ in 0..3 {
            stream.wait_for(UPDATED).await;
            output.push(number_of(&stream));
        }
        assert_eq!(output, [output[0], output[0] + 1, output[0] + 2]);

        let mut resumed = way.client.resume(&output[0].to_string()).await;
        resumed.wait_for(UPDATED).await;
        assert_eq!(
            number_of(&resumed),
            output[1],
            "it goes on where it was told to"
        );
        let mut fresh = way.client.listen().await;
        way.call("touch_resource", &json!({ "uri": WATCHED }))
            .await
            .text();
        fresh.wait_for(UPDATED).await;
        assert_eq!(
            number_of(&fresh),
            output[2] + 1,
            "the newest stream is told what is new"
        );
        drop(fresh);
        for nonsense in ["18446744073709551615", "-", "999-999", "x", ""] {
            assert!(
                [200, 404].contains(&way.client.resume(nonsense).await.status),
                "{nonsense}"
            );
        }
    }
}

fn number_of(stream: &Exchange) -> u64 {
    stream.last_id().unwrap().parse().unwrap()
}

async fn ways_on_stdio(world: &World, era: Era) -> Vec<Way> {
    let mut ways = Vec::new();
    for endpoint in Endpoint::ON_STDIO {
        ways.extend(world.ways_through(endpoint, era, |it| it).await);
    }
    ways
}

#[tokio::test]
async fn over_stdio_updates_come_between_the_answers() {
    let world = World::new().await;
    for way in ways_on_stdio(&world, Era::Legacy).await {
        way.client
            .request("resources/subscribe", &json!({ "uri": way.uri(WATCHED) }))
            .await
            .result();
        way.client.pipe().send(
            json!({ "jsonrpc": "2.0", "id": "touch", "method": "tools/call",
                    "params": { "name": way.name("touch_resource"), "arguments": { "uri": WATCHED } } })
            .to_string()
            .as_bytes(),
        );
        line_with(&way, |message| {
            message["method"] == UPDATED && message["params"]["uri"] == way.uri(WATCHED)
        })
        .await;
    }
    for way in ways_on_stdio(&world, Era::Modern).await {
        let (_stream, tag) = watch(&way, WATCHED).await;
        way.client.pipe().send(
            way.client
                .body(
                    90,
                    "tools/call",
                    &json!({ "name": way.name("touch_resource"), "arguments": { "uri": WATCHED } })
                        .to_string(),
                )
                .as_bytes(),
        );
        let update = line_with(&way, |message| message["method"] == UPDATED).await;
        assert_eq!(update["params"]["uri"], way.uri(WATCHED));
        assert_eq!(
            update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            tag
        );
    }
}

#[tokio::test]
async fn a_client_notified_of_a_new_tool_finds_it_in_the_list() {
    let world = World::new().await;
    for era in Era::each() {
        for endpoint in [Endpoint::All, Endpoint::One] {
            for way in world.ways_through(endpoint, era, |it| it).await {
                let mut stream = way.client.listen().await;
                let added = way.call("change_tools", &json!({})).await.text();
                let added = way.name(&added);
                // Earlier changes may still be announced.
                while !{
                    stream.wait_for(TOOLS_CHANGED).await;
                    way.client.tool_names().await.contains(&added)
                } {}
                assert_eq!(
                    way.client
                        .call(&added, &json!({}))
                        .await
                        .text()
                        .split(' ')
                        .nth(1),
                    Some("is")
                );
            }
        }
    }
}

#[tokio::test]
async fn a_modern_listener_gets_only_what_it_asked_for() {
    let world = World::new().await;
    for endpoint in [Endpoint::All, Endpoint::One] {
        for way in world.ways_through(endpoint, Era::Modern, |it| it).await {
            let mut stream = way
                .client
                .subscribe(&json!({ "promptsListChanged": true }))
                .await;
            change_tools_and_hear_of_it(&way).await;
            way.call("test_trigger_prompt_change", &json!({}))
                .await
                .text();
            let first: Value = serde_json::from_str(&stream.next().await.unwrap()).unwrap();
            assert_eq!(first["method"], PROMPTS_CHANGED);
        }
    }
}

#[tokio::test]
async fn a_change_of_one_server_is_not_announced_at_the_route_of_another() {
    let world = World::new().await;
    let ways = world
        .ways_through(Endpoint::One, Era::Modern, |it| it)
        .await;
    for (here, there) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        let (here, there) = (&ways[here], &ways[there]);
        here.call("echo", &json!({})).await.text();
        let mut stream = here
            .client
            .subscribe(&json!({ "toolsListChanged": true, "promptsListChanged": true }))
            .await;
        change_tools_and_hear_of_it(there).await;
        here.call("test_trigger_prompt_change", &json!({}))
            .await
            .text();
        let first: Value = serde_json::from_str(&stream.next().await.unwrap()).unwrap();
        assert_eq!(first["method"], PROMPTS_CHANGED);
    }
}

/// Watches a resource in the era of the client; also returns the id that its messages must carry.
async fn watch(way: &Way, uri: &str) -> (Exchange, Value) {
    if way.client.era == Era::Legacy {
        let stream = way.client.listen().await;
        let agreed = way
            .client
            .request("resources/subscribe", &json!({ "uri": way.uri(uri) }))
            .await;
        assert_eq!(agreed.raw_result(), "{}");
        return (stream, Value::Null);
    }
    let filter = json!({ "notifications": { "resourceSubscriptions": [way.uri(uri)] } });
    let (id, mut stream) = way
        .client
        .start_with_id("subscriptions/listen", &filter)
        .await;
    let agreed = stream
        .wait_for("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(
        agreed["params"]["notifications"]["resourceSubscriptions"],
        json!([way.uri(uri)])
    );
    assert_eq!(
        agreed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
    (stream, json!(id))
}

/// Waits until each subscribed client has been notified.
async fn change_tools_and_hear_of_it(way: &Way) {
    let mut stream = way
        .client
        .subscribe(&json!({ "toolsListChanged": true }))
        .await;
    way.call("test_trigger_tool_change", &json!({}))
        .await
        .text();
    stream.wait_for(TOOLS_CHANGED).await;
}

async fn line_with(way: &Way, fits: impl Fn(&Value) -> bool) -> Value {
    loop {
        let line = way
            .client
            .pipe()
            .line()
            .await
            .expect("the gateway still runs");
        let message: Value = serde_json::from_str(&line).unwrap();
        if fits(&message) {
            return message;
        }
    }
}
