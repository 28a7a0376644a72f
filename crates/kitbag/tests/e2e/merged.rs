//! All servers at one endpoint: names that fit and never clash, and pages without gaps.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::{Client, Era, Gateway, Testbed};

const LONG: &str = "a_server_with_a_long_name";

async fn two_of_a_kind(serve: &str) -> Gateway {
    let (one, two) = (Testbed::new("one").manner("paginate"), Testbed::new(LONG));
    let gateway = Gateway::with(&format!("{serve}{}{}", one.table(), two.table())).await;
    let client = gateway.client(Era::Modern).await;
    for server in ["one", LONG] {
        client.knows(&format!("{server}__echo")).await;
    }
    gateway
}

#[tokio::test]
async fn names_begin_with_their_server_fit_every_client_and_are_all_different() {
    let gateway = two_of_a_kind("").await;
    let own = gateway
        .client_at("/servers/one/mcp", Era::Modern)
        .connect()
        .await
        .tool_names()
        .await;
    for era in Era::each() {
        let client = gateway.client_at("/mcp/all", era).connect().await;
        let names = client.tool_names().await;
        assert_eq!(names.len(), own.len() * 2);
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "all different"
        );
        for name in &names {
            assert!(name.len() <= 50, "{name}");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)),
                "{name}"
            );
            assert!(
                name.starts_with("one__") || name.starts_with(&format!("{LONG}__")),
                "{name}"
            );
        }
        assert_eq!(
            client.tool_names().await,
            names,
            "in the same order each time"
        );
    }
}

#[tokio::test]
async fn a_shortened_name_still_calls_its_tool_and_is_the_same_every_time() {
    let gateway = two_of_a_kind("").await;
    let client = gateway.client(Era::Modern).await;
    let tools = client.list("tools/list", "tools").await;
    let shortened: Vec<_> = tools
        .iter()
        .filter(|tool| tool["description"] == "Needs what the client can give")
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    let [long, short] = shortened.as_slice() else {
        panic!("one from each server: {shortened:?}")
    };
    assert_eq!(*short, "one__test_input_required_result_capabilities");
    assert!(
        long.starts_with(&format!("{LONG}__test_input_")) && long.len() == 50,
        "{long}"
    );
    for name in [long, short] {
        assert_eq!(
            client.call(name, &json!({})).await.text(),
            "The client can give nothing"
        );
    }
    let again = two_of_a_kind("")
        .await
        .client(Era::Legacy)
        .await
        .tool_names()
        .await;
    assert!(
        again.contains(&(*long).to_owned()),
        "another gateway names it the same"
    );
}

#[tokio::test]
async fn a_resource_two_servers_have_can_be_read_from_both() {
    let gateway = two_of_a_kind("").await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        let resources = client.list("resources/list", "resources").await;
        let uris: Vec<_> = resources
            .iter()
            .filter(|it| it["name"] == "static-text")
            .map(|it| it["uri"].as_str().unwrap().to_owned())
            .collect();
        let expected =
            [LONG, "one"].map(|server| format!("kitbag://server/{server}/test://static-text"));
        assert_eq!(uris, expected);
        for uri in uris {
            let read = client
                .request("resources/read", &json!({ "uri": uri }))
                .await
                .result();
            assert_eq!(
                read["contents"][0]["text"],
                "This is the content of the static text resource."
            );
        }
    }
}

#[tokio::test]
async fn no_server_is_asked_instead_of_another_that_has_the_resource() {
    let (evil, good) = (Testbed::new("aaa").manner("usurp"), Testbed::new("good"));
    let gateway = Gateway::with(&format!("{}{}", evil.table(), good.table())).await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        for server in ["aaa", "good"] {
            client.knows(&format!("{server}__echo")).await;
        }
        let read = async |uri: &str| {
            client
                .request("resources/read", &json!({ "uri": uri }))
                .await
        };
        // Both list it, so neither answers; the error says how to select one.
        let contested = read("test://static-text").await;
        let forms =
            ["aaa", "good"].map(|server| format!("kitbag://server/{server}/test://static-text"));
        assert_eq!(
            contested.error()["data"]["meant"],
            json!(forms),
            "{}",
            contested.raw()
        );
        for form in forms {
            assert!(
                contested.error()["message"]
                    .as_str()
                    .unwrap()
                    .contains(&form)
            );
        }
        for (uri, expected) in [
            ("test://template/7/data", "Data for ID: 7"),
            (
                "kitbag://server/good/test://static-text",
                "This is the content",
            ),
            ("kitbag://server/good/test://static-binary", "image/png"),
            ("kitbag://server/aaa/test://static-text", "usurped"),
            ("kitbag://server/aaa/anything:goes", "usurped"),
        ] {
            let reply = read(uri).await;
            assert!(reply.raw().contains(expected), "{uri}: {}", reply.raw());
        }
        assert!(
            read("other://x").await.error()["message"]
                .as_str()
                .unwrap()
                .contains("there is no resource")
        );
        let templates = json!(
            client
                .list("resources/templates/list", "resourceTemplates")
                .await
        )
        .to_string();
        assert!(
            templates.contains("kitbag://server/aaa/{+any}"),
            "{templates}"
        );
    }
    assert!(
        gateway
            .log()
            .contains("several servers claim the same resources"),
        "{}",
        gateway.log()
    );
}

#[tokio::test]
async fn pages_contain_every_entry_once_whatever_their_size() {
    for size in [1, 7, 1000] {
        let gateway = two_of_a_kind(&format!(
            "[serve]\nbind = \"127.0.0.1:0\"\npage_size = {size}\n"
        ))
        .await;
        for era in Era::each() {
            let client = gateway.client(era).await;
            for (method, key, id) in [
                ("tools/list", "tools", "name"),
                ("prompts/list", "prompts", "name"),
                ("resources/list", "resources", "uri"),
                (
                    "resources/templates/list",
                    "resourceTemplates",
                    "uriTemplate",
                ),
            ] {
                let own = gateway
                    .client_at("/servers/one/mcp", era)
                    .connect()
                    .await
                    .list(method, key)
                    .await;
                let (pages, names) = all_pages(&client, method, key, id).await;
                assert!(
                    pages.iter().all(|length| (1..=size).contains(length)),
                    "{pages:?}"
                );
                assert_eq!(pages.len(), (own.len() * 2).div_ceil(size), "{method}");
                assert_eq!(
                    names.iter().collect::<BTreeSet<_>>().len(),
                    own.len() * 2,
                    "{method}: {names:?}"
                );
                for cursor in [json!("nonsense"), json!(5), json!("bm9ib2R5"), json!({})] {
                    let refused = client.request(method, &json!({ "cursor": cursor })).await;
                    assert_eq!(refused.code(), -32602, "{cursor}");
                }
                assert!(
                    client
                        .request(method, &json!({ "cursor": null }))
                        .await
                        .result()[key]
                        .is_array()
                );
            }
        }
    }
}

#[tokio::test]
async fn a_misspelt_name_is_answered_with_the_names_it_might_have_been() {
    let gateway = two_of_a_kind("").await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        for (misspelt, meant) in [
            ("one__ecko", "one__echo"),
            ("echo", "one__echo"),
            ("one_echo", "one__echo"),
            ("one__test_simple_txt", "one__test_simple_text"),
        ] {
            let reply = client.call(misspelt, &json!({})).await;
            assert_eq!(reply.code(), -32602);
            let error = reply.error();
            assert!(
                error["message"].as_str().unwrap().contains(meant),
                "{misspelt}: {error}"
            );
            assert!(
                error["data"]["near"]
                    .as_array()
                    .unwrap()
                    .contains(&json!(meant)),
                "{misspelt}: {error}"
            );
        }
        let nothing_like_it = client.call("zzzzzzzzzzzz", &json!({})).await;
        assert_eq!(nothing_like_it.error()["data"]["near"], json!([]));
    }
}

#[tokio::test]
async fn the_gateway_introduces_itself_and_the_route_of_one_server_introduces_the_server() {
    let gateway = two_of_a_kind("").await;
    let house = gateway.client(Era::Legacy).await.greeting;
    assert_eq!(house["serverInfo"]["name"], "kitbag");
    assert!(house["instructions"].as_str().unwrap().contains(LONG));
    let one = gateway
        .client_at("/servers/one/mcp", Era::Legacy)
        .connect()
        .await
        .greeting;
    assert_eq!(one["serverInfo"]["name"], "kitbag-testbed");
    assert_eq!(
        one["instructions"],
        "A server for tests: every tool does what its description says."
    );
    let modern = gateway
        .client(Era::Modern)
        .await
        .request("server/discover", &json!({}))
        .await
        .result();
    assert_eq!(
        modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "kitbag"
    );
    for member in [
        "resultType",
        "ttlMs",
        "cacheScope",
        "supportedVersions",
        "capabilities",
    ] {
        assert!(
            modern.get(member).is_some(),
            "{member} is missing: {modern}"
        );
    }
}

#[tokio::test]
async fn a_client_of_any_revision_is_answered_in_its_own() {
    let gateway = two_of_a_kind("").await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = gateway
            .client_at("/mcp/all", Era::Legacy)
            .with_version(version)
            .connect()
            .await;
        assert_eq!(client.greeting["protocolVersion"], version);
        assert_eq!(
            client.call("one__echo", &json!({ "a": 1 })).await.text(),
            r#"{"a":1}"#
        );
    }
}

/// The length of each page, and all names.
async fn all_pages(
    client: &Client,
    method: &str,
    key: &str,
    id: &str,
) -> (Vec<usize>, Vec<String>) {
    let (mut pages, mut names, mut params) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let result = client.request(method, &params).await.result();
        let items = result[key].as_array().unwrap();
        pages.push(items.len());
        names.extend(items.iter().map(|item| item[id].to_string()));
        match result.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return (pages, names),
        }
    }
}
