//! The surfaces through the real binary: the listed tools, the tools that stand in for all others, and
//! error messages for models.
//!
//! # Layout
//! - this file: a gateway with searchable tools, and the always-on tools as functions
//! - [`lists`], [`adaptive`]: the listed tools, and how they are chosen
//! - [`finding`]: `search_available_tools` and `discover_apis`; [`answers`]: APIs, copies, built-in
//!   tools, and no match
//! - [`guide`]: the search tool's description of its servers, and its notes on hidden results
//! - [`authored`]: text of tool authors is data
//! - [`calling`], [`batches`], [`mistakes`]: `call_api` and `batch_execute`, correct and wrong
//! - [`meaning`]: arguments with only one possible meaning
//! - [`praise`]: descriptions that praise themselves
//! - [`providers`]: HTTP APIs
//! - [`long_results`]: truncated results and their remainders
//! - [`tenants`]: who may see and do what
//! - [`passing`]: progress, cancellation and questions through `call_api`

mod adaptive;
mod answers;
mod authored;
mod batches;
mod calling;
mod finding;
mod guide;
mod lists;
mod long_results;
mod meaning;
mod mistakes;
mod passing;
mod praise;
mod providers;
mod tenants;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Client, Era, Gateway, Home, Remote, Reply, Testbed, until};

const SEARCH: &str = "search_available_tools";
const DISCOVER: &str = "discover_apis";
const CALL: &str = "call_api";
const BATCH: &str = "batch_execute";
const ENABLE: &str = "enable_tool_group";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// A testbed `good` with far more than twenty tools, and a server `shop` with a few tools that have
/// schemas and return their arguments.
struct SurfaceGateway {
    gateway: Gateway,
    _shop: Remote,
}

impl SurfaceGateway {
    async fn new() -> Self {
        Self::with("").await
    }

    /// With extra tables in the configuration.
    async fn with(config: &str) -> Self {
        Self::with_home(config, async |_| String::new()).await
    }

    /// With tables that need an existing home, such as tables about keys.
    async fn with_home(config: &str, more: impl AsyncFnOnce(&Arc<Home>) -> String) -> Self {
        let home = Home::new("");
        let shop = shop(&home, &goods()).await;
        let good = Testbed::new("good")
            .manner("change-tools")
            .data_dir(&home.path("good"))
            .table();
        let more = more(&home).await;
        home.configure(&format!("{good}{}{config}{more}", shop_table(&shop)));
        let gateway = home.serve().await;
        wait_until_indexed(&gateway).await;
        Self {
            gateway,
            _shop: shop,
        }
    }

    fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    async fn client(&self, path: &str, client_era: Era) -> Client {
        self.gateway.client_at(path, client_era).connect().await
    }

    /// A client of each era, over HTTP and over stdio.
    async fn clients(&self, surface: &str) -> Vec<Client> {
        let mut clients = Vec::new();
        for client_era in Era::each() {
            clients.push(self.client(&format!("/mcp/{surface}"), client_era).await);
            let flags = ["--surface", surface, "--own"];
            let piped = Client::stdio_with(self.home(), client_era, &flags)
                .connect()
                .await;
            until("the tools of an earlier run are known", async || {
                let known = discover(&piped, &json!({ "tool": "shop__find_order" }))
                    .await
                    .result();
                (known["isError"] != true).then_some(())
            })
            .await;
            clients.push(piped);
        }
        clients
    }
}

/// Waits until every server is listed and every tool can be found.
async fn wait_until_indexed(gateway: &Gateway) {
    until("every server is listed", async || {
        gateway
            .log()
            .contains("all servers have been listed")
            .then_some(())
    })
    .await;
    let client = gateway
        .client_at("/mcp/search", Era::Modern)
        .connect()
        .await;
    find_line(&client, "order", "shop__find_order").await;
}

fn goods() -> Vec<Value> {
    let text = json!({ "type": "string" });
    let item = json!({
        "type": "object",
        "properties": { "sku": text, "count": { "type": "integer", "minimum": 1 } },
        "required": ["sku", "count"],
    });
    let seven = |prefix: &str| {
        (1..=7)
            .map(|at| format!("{prefix}{at}"))
            .collect::<Vec<_>>()
    };
    let many: serde_json::Map<_, _> = seven("may")
        .into_iter()
        .chain(seven("must"))
        .map(|name| (name, text.clone()))
        .collect();
    let tool = |name: &str, description: &str, schema: Value, annotations: Value| json!({ "name": name, "description": description, "inputSchema": schema, "annotations": annotations });
    let order = json!({ "type": "object", "properties": { "order": text }, "required": ["order"] });
    let mut stock = tool(
        "stock_level",
        "Counts what is left of an article.",
        json!({ "type": "object" }),
        json!({ "readOnlyHint": true }),
    );
    stock["outputSchema"] = json!({
        "type": "object",
        "properties": { "count": { "type": "integer" } },
        "required": ["count"],
    });
    let mut refund = tool(
        "refund",
        "Pays the money of an order back.",
        order.clone(),
        json!({ "readOnlyHint": false }),
    );
    refund["_meta"] = json!({ "_fastmcp": { "tags": ["money"] } });
    vec![
        tool(
            "create_order",
            "Places an order for a customer. Stock is reserved at once.",
            json!({
                "type": "object",
                "properties": {
                    "customer": text,
                    "items": { "type": "array", "items": item, "minItems": 1 },
                    "priority": { "enum": ["low", "high"] },
                    "note": text,
                },
                "required": ["customer", "items"],
                "additionalProperties": false,
            }),
            json!({ "readOnlyHint": false, "destructiveHint": false }),
        ),
        tool(
            "find_order",
            "Looks an order up.",
            order.clone(),
            json!({ "readOnlyHint": true }),
        ),
        tool(
            "delete_order",
            "Removes an order for good.",
            order,
            json!({ "destructiveHint": true }),
        ),
        tool(
            "ship_parcel",
            "Hands a parcel to the carrier.",
            json!({ "type": "object", "properties": many, "required": seven("must") }),
            json!({}),
        ),
        stock,
        refund,
    ]
}

/// The arguments that `shop__create_order` expects.
fn an_order() -> Value {
    json!({ "customer": "Ann", "items": [{ "sku": "tea", "count": 2 }] })
}

async fn search(client: &Client, query: &str) -> String {
    client.call(SEARCH, &json!({ "query": query })).await.text()
}

/// Waits until a search returns a line about the tool, and returns it.
async fn find_line(client: &Client, query: &str, tool: &str) -> String {
    until(&format!("{query} leads to {tool}"), async || {
        let text = search(client, query).await;
        // A copy of a tool shares the line of the first.
        let copy = |line: &str| {
            line.split_once("[also: ")
                .is_some_and(|(_, also)| also.contains(tool))
        };
        let its_own = |line: &&str| line.starts_with(&format!("{tool}(")) || copy(line);
        text.lines().find(its_own).map(str::to_owned)
    })
    .await
}

async fn discover(client: &Client, what: &Value) -> Reply {
    client.call(DISCOVER, what).await
}

async fn call_api(client: &Client, tool: &str, arguments: &Value) -> Reply {
    client
        .call(CALL, &json!({ "tool": tool, "arguments": arguments }))
        .await
}

/// Creates a key; returns its id and the key.
async fn key(home: &Home, tenant: &str) -> (String, String) {
    let output = home
        .kitbag(&["key", "create", "--tenant", tenant, "--json"])
        .await;
    let created: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (
        created["id"].as_str().unwrap().to_owned(),
        created["key"].as_str().unwrap().to_owned(),
    )
}
