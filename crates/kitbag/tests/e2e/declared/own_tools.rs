//! Kitbag's own tools reject undeclared arguments on every path.

use serde_json::{Value, json};

use crate::harness::{Era, Gateway};

/// An argument name that no tool has or could confuse with its own.
const UNKNOWN: &str = "zzz_unknown";

#[tokio::test]
async fn an_argument_that_our_own_tools_do_not_declare_is_rejected_on_every_route() {
    let gateway = Gateway::with("[agents]\nenabled = true\n[code]\nsurfaces = ['code']\n").await;
    let lookup = json!({ "agent": "zed", "capability": "mcp", UNKNOWN: 1 });
    let inner = json!({ "tool": "agents__lookup_capability", "arguments": lookup });
    let routes: Vec<(&str, &str, Value)> = vec![
        (
            "/mcp/search",
            "search_available_tools",
            json!({ "query": "x", UNKNOWN: 1 }),
        ),
        ("/mcp/search", "discover_apis", json!({ UNKNOWN: 1 })),
        (
            "/mcp/search",
            "call_api",
            json!({ "tool": "x", UNKNOWN: 1 }),
        ),
        ("/mcp/search", "call_api", inner.clone()),
        (
            "/mcp/search",
            "batch_execute",
            json!({ "calls": [], UNKNOWN: 1 }),
        ),
        (
            "/mcp/search",
            "batch_execute",
            json!({ "calls": [{ "tool": "x", UNKNOWN: 1 }] }),
        ),
        ("/mcp/search", "batch_execute", json!({ "calls": [inner] })),
        (
            "/mcp/adaptive",
            "enable_tool_group",
            json!({ "group": "x", UNKNOWN: 1 }),
        ),
        (
            "/mcp/code",
            "run_intent",
            json!({ "intent": "x", UNKNOWN: 1 }),
        ),
        (
            "/mcp/code",
            "run_code",
            json!({ "code": "return 1", UNKNOWN: 1 }),
        ),
        ("/mcp/all", "agents__lookup_capability", lookup.clone()),
        ("/mcp/search", "agents__lookup_capability", lookup.clone()),
        ("/servers/agents/mcp", "lookup_capability", lookup),
        (
            "/mcp/all",
            "agents__compare_capability",
            json!({ "capability": "mcp", UNKNOWN: 1 }),
        ),
        (
            "/mcp/all",
            "agents__list_capabilities",
            json!({ "agent": "zed", UNKNOWN: 1 }),
        ),
        (
            "/mcp/all",
            "agents__get_sources",
            json!({ "agent": "zed", UNKNOWN: 1 }),
        ),
    ];
    let all = gateway.client_at("/mcp/all", Era::Modern).connect().await;
    all.knows("agents__lookup_capability").await;
    for (path, tool, arguments) in routes {
        let client = gateway.client_at(path, Era::Modern).connect().await;
        let output = format!("{:?}", client.call(tool, &arguments).await);
        assert!(
            output.contains(UNKNOWN),
            "{path} {tool} {arguments}: {output}"
        );
    }
}
