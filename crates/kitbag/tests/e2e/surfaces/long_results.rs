//! Results too long for a context: truncated cleanly, stored for their caller, read page by page.

use serde_json::{Value, json};

use super::{BATCH, CALL, SurfaceGateway, call_api, key};
use crate::harness::api::Api;
use crate::harness::{Client, Era, Gateway};

const MEGABYTES: usize = 5_000_000;

/// The id in a notice, and the offset to continue at.
fn read_on(text: &str) -> Option<(String, usize)> {
    let call = text.rsplit_once("call_api(result: \"")?.1;
    let (id, rest) = call.split_once("\", offset: ")?;
    Some((id.to_owned(), rest.split_once(')')?.0.parse().unwrap()))
}

/// All pages of a stored result from an offset on.
async fn rest(client: &Client, id: &str, mut offset: usize) -> String {
    let mut read = String::new();
    loop {
        let page = client
            .call(CALL, &json!({ "result": id, "offset": offset }))
            .await
            .text();
        let (page, notice) = page.rsplit_once('\n').unwrap();
        assert!(notice.starts_with("[Bytes "), "{notice}");
        read.push_str(page);
        match read_on(notice) {
            Some((again, next)) => {
                assert_eq!((again.as_str(), next), (id, offset + page.len()));
                offset = next;
            }
            None => return read,
        }
    }
}

/// The tool's result without truncation.
async fn whole(gateway: &Gateway, tool: &str, arguments: &Value) -> String {
    gateway
        .client(Era::Modern)
        .await
        .call(tool, arguments)
        .await
        .text()
}

#[tokio::test]
async fn five_megabytes_of_json_are_cut_between_elements_and_the_pages_are_the_whole() {
    check_large("array", |shown| {
        let items: Vec<Value> = serde_json::from_str(shown).expect("a cut array is an array");
        assert!(items.len() > 1000);
    })
    .await;
}

#[tokio::test]
async fn five_megabytes_of_text_are_cut_at_a_paragraph_and_the_pages_are_the_whole() {
    check_large("paragraphs", |shown| {
        assert!(shown.trim_end().ends_with("of use."), "{shown}");
    })
    .await;
}

async fn check_large(shape: &str, check: impl Fn(&str)) {
    let setup = SurfaceGateway::with("[surfaces]\nresult_tokens = 100000\n").await;
    let arguments = json!({ "bytes": MEGABYTES, "shape": shape });
    let whole = whole(&setup.gateway, "good__big", &arguments).await;
    assert!(whole.len() > MEGABYTES * 9 / 10);
    for client in setup.clients("search").await {
        let result = call_api(&client, "good__big", &arguments).await.result();
        check(result["content"][0]["text"].as_str().unwrap());
        let notice = result["content"][1]["text"].as_str().unwrap();
        assert!(
            notice.starts_with("[Truncated: about ") && notice.contains(" tokens shown."),
            "{notice}"
        );
        let (id, offset) = read_on(notice).unwrap();
        assert!(offset < 800_000, "{offset} bytes for 100,000 tokens");
        assert_eq!(
            whole[..offset].to_owned() + &rest(&client, &id, offset).await,
            whole
        );
        let uri = format!("kitbag://result/{id}");
        let read = client
            .request("resources/read", &json!({ "uri": uri }))
            .await
            .result();
        assert_eq!(read["contents"][0]["uri"], uri);
        assert_eq!(read["contents"][0]["text"].as_str().unwrap(), whole);
    }
}

#[tokio::test]
async fn an_answer_is_within_its_budget_whatever_it_is_made_of() {
    let api = Api::start().await;
    let provider = api.table("api", "allow_private = true");
    let setup =
        SurfaceGateway::with(&format!("[surfaces]\nresult_tokens = 1000\n{provider}")).await;
    for era in Era::each() {
        let client = setup.client("/mcp", era).await;
        for asked in [
            json!({ "tool": "good__big", "arguments": { "bytes": 50_000 } }),
            json!({ "tool": "good__big", "arguments": { "bytes": 50_000, "shape": "array" } }),
            json!({ "tool": "good__echo", "arguments": { "rows": vec![json!({ "name": "tea", "price": 3 }); 2000] } }),
            json!({ "provider": "api", "path": "/large" }),
        ] {
            let reply = client.call(CALL, &asked).await;
            // Nothing here has more than ten characters per token, and most of it has far fewer.
            assert!(
                reply.raw_result().len() < 12_000,
                "{} bytes of {asked}",
                reply.raw_result().len()
            );
            let (id, offset) = read_on(&reply.text()).unwrap();
            client
                .call(CALL, &json!({ "result": id, "offset": offset }))
                .await
                .text();
        }
        let definition = super::discover(&client, &json!({ "provider": "good" }))
            .await
            .text();
        assert!(definition.len() < 6_000, "{} bytes", definition.len());
        let direct = client
            .call("good__big", &json!({ "bytes": 50_000, "shape": "array" }))
            .await
            .text();
        assert!(
            direct.contains("[Truncated: about "),
            "a tool called by its own name is cut as well"
        );
    }
}

#[tokio::test]
async fn a_remainder_is_only_for_the_key_that_got_the_result() {
    let mut tokens = [const { String::new() }; 3];
    let setup = SurfaceGateway::with_home("[surfaces]\nresult_tokens = 500\n", async |home| {
        tokens = [
            key(home, "acme").await.1,
            key(home, "acme").await.1,
            key(home, "globex").await.1,
        ];
        String::new()
    })
    .await;
    let [mine, strangers @ ..] = &tokens;
    for era in Era::each() {
        let visit =
            |path: &str, token: &str| setup.gateway.client_at(path, era).key(token).connect();
        let client = visit("/mcp", mine).await;
        let arguments = json!({ "bytes": 20_000, "shape": "paragraphs" });
        let text = call_api(&client, "good__big", &arguments).await.text();
        let (id, offset) = read_on(&text).unwrap();
        let uri = format!("kitbag://result/{id}");
        for path in ["/mcp", "/mcp/adaptive", "/mcp/code"] {
            let same = visit(path, mine).await;
            same.call(CALL, &json!({ "result": id, "offset": offset }))
                .await
                .text();
            same.request("resources/read", &json!({ "uri": uri }))
                .await
                .result();
        }
        let mut others = vec![setup.client("/mcp", era).await];
        for token in strangers {
            others.push(visit("/mcp", token).await);
        }
        for other in others {
            let output = other
                .call(CALL, &json!({ "result": id }))
                .await
                .tool_error();
            assert!(
                output.contains(&format!("there is no result `{id}`")),
                "{output}"
            );
            let batch = json!({ "calls": [{ "result": id, "offset": offset }] });
            assert!(
                other
                    .call(BATCH, &batch)
                    .await
                    .text()
                    .contains("there is no result")
            );
            let read = other
                .request("resources/read", &json!({ "uri": uri }))
                .await;
            assert!(!read.raw().contains("Paragraph"), "{}", read.raw());
            assert!(
                read.error()["message"]
                    .as_str()
                    .unwrap()
                    .contains("there is no resource")
            );
        }
    }
}

#[tokio::test]
async fn the_surface_all_and_single_server_routes_never_truncate() {
    let setup = SurfaceGateway::with("[surfaces]\nresult_tokens = 500\n").await;
    let arguments = json!({ "bytes": MEGABYTES, "shape": "array" });
    for era in Era::each() {
        let all = setup
            .client("/mcp/all", era)
            .await
            .call("good__big", &arguments)
            .await;
        let one = setup
            .client("/servers/good/mcp", era)
            .await
            .call("big", &arguments)
            .await;
        assert_eq!(all.raw_result(), one.raw_result());
        assert!(all.text().len() > MEGABYTES * 9 / 10 && !all.text().contains("[Cut"));
        let refused = setup
            .client("/mcp/all", era)
            .await
            .call(CALL, &json!({}))
            .await;
        assert!(
            refused.error()["message"]
                .as_str()
                .unwrap()
                .contains("no tool called `call_api`")
        );
    }
}

#[tokio::test]
async fn remainders_are_listed_as_a_template() {
    let setup = SurfaceGateway::new().await;
    for era in Era::each() {
        for (path, there) in [("/mcp", true), ("/mcp/adaptive", true), ("/mcp/all", false)] {
            let client = setup.client(path, era).await;
            let templates = client
                .list("resources/templates/list", "resourceTemplates")
                .await;
            let has = templates
                .iter()
                .any(|it| it["uriTemplate"] == "kitbag://result/{id}");
            assert_eq!(has, there, "{path}");
        }
    }
}
