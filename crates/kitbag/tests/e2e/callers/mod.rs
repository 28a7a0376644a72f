//! Callers: who is accepted, what they may do, and their audit rows.
//!
//! # Layout
//! - [`access`]: which requests are accepted
//! - [`tenants`]: what a tenant may use
//! - [`audit_rows`]: audit rows of calls

mod access;
mod audit_rows;
mod tenants;

use serde_json::Value;

use crate::harness::{Era, Gateway, Home, Testbed};

const RULES: &str = r#"
[tenants.acme]
deny_tools = ["*/exotic", "good/test://static-text", "good/test_simple_prompt"]
deny_servers = ["secret"]
"#;

fn servers() -> String {
    format!(
        "{}{}{RULES}",
        Testbed::new("good").table(),
        Testbed::new("secret").table()
    )
}

/// Creates a key; returns its id and the key.
pub(crate) async fn key(home: &Home, tenant: &str) -> (String, String) {
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

async fn wait_until_listed(gateway: &Gateway) {
    let client = gateway.client(Era::Modern).await;
    client.knows("good__exotic").await;
    client.knows("secret__exotic").await;
}
