//! Tools changed by the operator.

use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Testbed, until};

const OVERRIDES: &str = r#"
[tools."good__echo"]
description = "Waters the orchids in the greenhouse."
alias = "orchids"
fixed_arguments = { room = "greenhouse", litres = 2 }
hidden_arguments = ["debug"]
[tools."good__environment"]
hidden = true
[tools."good__slow"]
fixed_arguments = { ms = "soon" }
[policy]
deny_tools = ["good/big"]
[tools."good__big"]
alias = "large"
[tools."good__nothing"]
alias = "no_such_tool"
"#;

async fn start_gateway() -> Gateway {
    let gateway = Gateway::with(&format!("{}{OVERRIDES}", Testbed::new("good").table())).await;
    client(&gateway, "/mcp/all").await.knows("orchids").await;
    gateway
}

async fn client(gateway: &Gateway, path: &str) -> Client {
    gateway.client_at(path, Era::Modern).connect().await
}

fn find_tool<'t>(tools: &'t [Value], name: &str) -> Option<&'t Value> {
    tools.iter().find(|tool| tool["name"] == name)
}

#[tokio::test]
async fn clients_get_tools_as_the_operator_overrides_them() {
    let gateway = start_gateway().await;
    for (path, name) in [("/mcp/all", "orchids"), ("/servers/good/mcp", "echo")] {
        let client = client(&gateway, path).await;
        let tools = client.list("tools/list", "tools").await;
        let tool = find_tool(&tools, name).unwrap_or_else(|| panic!("{path}: {tools:?}"));
        assert_eq!(tool["description"], "Waters the orchids in the greenhouse.");
        for gone in ["good__echo", "environment", "good__environment", "large"] {
            assert!(find_tool(&tools, gone).is_none(), "{path} {gone}");
        }
        let sent = json!({ "room": "cellar", "plant": "orchid" });
        let given = client.call(name, &sent).await.result();
        let expected = json!({ "plant": "orchid", "room": "greenhouse", "litres": 2 });
        assert_eq!(given["structuredContent"], expected, "{path}");
        let refused = client.call(name, &json!({ "debug": true })).await.error();
        let output = "`debug` is not an argument of this tool; leave it out";
        assert_eq!(refused["message"], output, "{path}");
    }
    let all = client(&gateway, "/mcp/all").await;
    let given = all.call("good__echo", &json!({})).await.result();
    assert_eq!(
        given["structuredContent"]["litres"], 2,
        "the plain name still works"
    );
    for (path, hidden) in [
        ("/mcp/all", "good__environment"),
        ("/servers/good/mcp", "environment"),
    ] {
        let refused = client(&gateway, path)
            .await
            .call(hidden, &json!({}))
            .await
            .error();
        assert_eq!(
            refused["message"],
            format!("there is no tool called `{hidden}`")
        );
    }
    let refused = all.call("large", &json!({})).await.tool_error();
    assert!(
        refused.contains("deny `good/big`"),
        "rules know the server's name: {refused}"
    );

    let small = client(&gateway, "/mcp").await;
    until("the search knows the new words", async || {
        let asked = json!({ "query": "water the orchids" });
        let found = small.call("search_available_tools", &asked).await.text();
        found.starts_with("orchids(").then_some(())
    })
    .await;
    let asked = json!({ "tool": "orchids", "arguments": { "plant": "fern" } });
    let given = small.call("call_api", &asked).await.result();
    assert_eq!(given["structuredContent"]["room"], "greenhouse", "{given}");

    let found = gateway.home.kitbag(&["doctor"]).await.stdout;
    let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
    for output in [
        "[tools.\"good__nothing\"]: no server has this tool",
        "[tools.\"good__slow\"]: the fixed argument `ms` is invalid",
    ] {
        assert!(found.contains(output), "{output}: {found}");
    }
    assert!(!found.contains("good__environment"), "{found}");
    let rows = gateway.home.kitbag(&["audit", "--json"]).await.stdout;
    assert!(
        rows.contains("\"name\":\"echo\"") && !rows.contains("\"name\":\"orchids\""),
        "{rows}"
    );
}
