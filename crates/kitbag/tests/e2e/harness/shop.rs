//! A server `shop` with tools that a test chooses; each returns its arguments.

use serde_json::{Value, json};

use super::{Home, Remote};

/// Starts a server with these tools.
pub(crate) async fn shop(home: &Home, tools: &[Value]) -> Remote {
    let lines = tools
        .iter()
        .map(|tool| json!({ "server": "shop", "tool": tool }).to_string());
    std::fs::write(
        home.path("tools.jsonl"),
        lines.collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    Remote::http(&["--catalog", home.path("tools.jsonl").to_str().unwrap()]).await
}

pub(crate) fn shop_table(shop: &Remote) -> String {
    format!(
        "[servers.shop]\nurl = \"{}/shop/mcp\"\n",
        shop.url.trim_end_matches('/')
    )
}
