//! Prompts, resources and completion, by the names that a client sees.

use serde_json::json;

use crate::harness::Era;
use crate::harness::world::World;

#[tokio::test]
async fn a_prompt_is_listed_and_returned_under_one_name() {
    let world = World::new().await;
    let contextual = |it: crate::harness::client::ClientBuilder| {
        it.answer_with(|_, _| json!({ "action": "accept", "content": { "context": "tea" } }))
    };
    for way in world.ways(contextual).await {
        let listed = way.client.list("prompts/list", "prompts").await;
        let name = way.name("test_prompt_with_arguments");
        assert!(
            listed.iter().any(|prompt| prompt["name"] == name),
            "{listed:?}"
        );
        let params = json!({ "name": name, "arguments": { "arg1": "x", "arg2": "é" } });
        let given = way.client.request("prompts/get", &params).await.result();
        assert_eq!(
            given["messages"][0]["content"]["text"],
            "Prompt with arguments: arg1='x', arg2='é'"
        );

        let asking = json!({ "name": way.name("test_input_required_result_prompt") });
        let given = way.client.request("prompts/get", &asking).await.result();
        assert_eq!(
            given["messages"][0]["content"]["text"],
            "Use this context: tea"
        );

        let unknown = way
            .client
            .request("prompts/get", &json!({ "name": way.name("nobody") }))
            .await;
        assert_eq!(unknown.code(), -32602);
    }
}

#[tokio::test]
async fn completion_works_for_prompts_and_templates() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        for reference in [
            json!({ "type": "ref/prompt", "name": way.name("test_prompt_with_arguments") }),
            json!({ "type": "ref/resource", "uri": way.uri("test://template/{id}/data") }),
        ] {
            let params = json!({ "ref": reference, "argument": { "name": "arg1", "value": "par" }, "context": { "arguments": {} } });
            let completed = way
                .client
                .request("completion/complete", &params)
                .await
                .result();
            assert_eq!(
                completed["completion"]["values"],
                json!(["paris", "park", "party"])
            );
        }
    }
}

#[tokio::test]
async fn a_resource_is_read_from_the_right_server() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        let listed = way.client.list("resources/list", "resources").await;
        assert!(
            listed
                .iter()
                .any(|it| it["uri"] == way.uri("test://static-binary")),
            "{listed:?}"
        );
        let templates = way
            .client
            .list("resources/templates/list", "resourceTemplates")
            .await;
        assert!(
            templates
                .iter()
                .any(|it| it["uriTemplate"] == way.uri("test://template/{id}/data"))
        );

        for (uri, field, content) in [
            (
                "test://static-text",
                "text",
                "This is the content of the static text resource.",
            ),
            (
                "test://template/7/data",
                "text",
                r#"{"id":"7","templateTest":true,"data":"Data for ID: 7"}"#,
            ),
            ("test://static-binary", "mimeType", "image/png"),
        ] {
            let read = way
                .client
                .request("resources/read", &json!({ "uri": way.uri(uri) }))
                .await
                .result();
            assert_eq!(read["contents"][0][field], content);
        }
    }
}

#[tokio::test]
async fn a_missing_resource_gets_the_error_of_the_clients_era() {
    let world = World::new().await;
    for way in world.ways(|it| it).await {
        for uri in [
            "test://nobody",
            "http://elsewhere.example/",
            "",
            "::::",
            "kitbag://server/nobody/x",
        ] {
            let reply = way
                .client
                .request("resources/read", &json!({ "uri": uri }))
                .await;
            match (way.client.era, way.server.era) {
                (Era::Modern, _) => assert_eq!(reply.code(), -32602, "{uri}"),
                (Era::Legacy, Era::Legacy) => assert_eq!(reply.code(), -32002, "{uri}"),
                (Era::Legacy, Era::Modern) => {
                    assert!([-32002, -32602].contains(&reply.code()), "{uri}");
                }
            }
        }
    }
}
