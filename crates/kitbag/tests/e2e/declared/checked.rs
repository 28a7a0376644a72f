//! Tool files that `kitbag tools check` rejects, and an API whose files share one configuration entry.

use std::fs;

use serde_json::{Value, json};

use super::{DESK, Desk, text};
use crate::harness::api::Api;
use crate::harness::{Era, Home, until};

const CLOSED: &str = "\"required\": [\"words\"],\n  \"additionalProperties\": false";
const MANIFEST: &str = "\
| Tool | Kind | Purpose | Write ops | Owner |
|---|---|---|---|---|
| desk | curated | Read and open tickets of the service desk. | read + write | support |
";

/// A file with this mistake is not offered, and log and doctor name the mistake. Once corrected, the
/// tool is offered.
async fn check(mistake: &str, output: &str) {
    let desk = Desk::new().await;
    let client = desk.client("/mcp/all", None).await;
    let healthy = DESK.replace("name = \"desk\"", "name = \"other\"");
    let healthy = healthy.replace("aliases = [\"service_desk\"]", "");
    assert_ne!(mistake, DESK);
    desk.drop_file("desk.toml", mistake);
    desk.drop_file("other.toml", &healthy);
    client.knows("other").await;
    assert!(
        !client.tool_names().await.contains(&"desk".to_owned()),
        "{output}"
    );
    until("the log says why", async || {
        let log = desk.gateway.log();
        (log.contains("skipped a tool file") && log.contains(output)).then_some(())
    })
    .await;
    let checked = desk.home.kitbag(&["tools", "check", "mine"]).await;
    assert!(checked.stdout.contains(output), "{}", checked.stdout);
    let doctor = desk.home.kitbag(&["doctor", "--offline", "--json"]).await;
    assert_eq!(doctor.code, Some(1));
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|it| it["area"] == "tools").unwrap();
    assert_eq!(
        (&found["severity"], &found["what"]),
        (&json!("problem"), &json!(output))
    );
    desk.drop_file("desk.toml", DESK);
    client.knows("desk").await;
}

#[tokio::test]
async fn a_file_whose_schema_accepts_unknown_members_is_not_offered() {
    check(
        &DESK.replace(CLOSED, "\"required\": [\"words\"]"),
        "check 08 strict schemas: action `search`: the input accepts unknown members",
    )
    .await;
}

#[tokio::test]
async fn a_file_with_an_argument_that_names_a_tenant_is_not_offered() {
    let argument = "\"words\": { \"type\": \"string\" }";
    let mistake = DESK
        .replace(
            argument,
            &format!("{argument}, \"workspace_id\": {{ \"type\": \"string\" }}"),
        )
        .replace("q = \"{words}\"", "q = \"{words}\", w = \"{workspace_id}\"");
    check(
        &mistake,
        "check 03 tenancy: action `search` takes `workspace_id` as an argument",
    )
    .await;
}

#[tokio::test]
async fn a_file_that_differs_from_its_manifest_is_offered_once_they_agree() {
    let desk = Desk::new().await;
    let client = desk.client("/mcp/all", None).await;
    desk.drop_file("TOOLS.md", &MANIFEST.replace("read + write", "read"));
    desk.drop_file("desk.toml", DESK);
    until("the log says why", async || {
        let log = desk.gateway.log();
        log.contains("check 04 manifest: `writes` is").then_some(())
    })
    .await;
    assert!(!client.tool_names().await.contains(&"desk".to_owned()));
    desk.drop_file("TOOLS.md", MANIFEST);
    client.knows("desk").await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_one_finding_and_not_also_a_row_without_a_file() {
    let desk = Desk::new().await;
    desk.drop_file("TOOLS.md", MANIFEST);
    desk.drop_file("desk.toml", "name = ");
    let checked = desk.home.kitbag(&["tools", "check", "mine"]).await;
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.stdout.contains("desk.toml") && !checked.stdout.contains("no file"),
        "{}",
        checked.stdout
    );
}

#[tokio::test]
async fn an_imported_api_in_a_private_network_is_called_with_one_entry_for_all_its_tools() {
    let api = Api::start().await;
    let answer = json!({ "200": { "description": "ok" } });
    let spec = json!({
        "openapi": "3.1.0",
        "info": { "title": "Pet shop", "version": "1" },
        "paths": {
            "/items": {
                "get": { "operationId": "listItems", "summary": "List items", "responses": answer },
                "post": { "operationId": "addItem", "summary": "Add an item", "responses": answer },
            },
        },
    });
    let home = Home::new("[catalog]\ndirectories = ['tools']\n");
    fs::write(home.path("spec.json"), spec.to_string()).unwrap();
    let import = [
        "tools",
        "import",
        "spec.json",
        "--server",
        &api.url,
        "--allow-private",
    ];
    let output = home.kitbag(&import).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    // The lines that the command suggests.
    let step = output.stdout.split("once for all of these files:\n").nth(1);
    let endpoint: Vec<&str> = step.unwrap().lines().take(3).map(str::trim).collect();
    home.configure(&format!(
        "[catalog]\ndirectories = ['tools']\n{}\n",
        endpoint.join("\n")
    ));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    for (tool, method) in [
        ("pet_shop_list_items", "GET"),
        ("pet_shop_add_item", "POST"),
    ] {
        client.knows(tool).await;
        text(&client, tool, &json!({})).await;
        let seen = api.requests();
        let last = seen.last().unwrap();
        assert_eq!(
            (last.method.as_str(), last.uri.path()),
            (method, "/v1/items")
        );
    }
}
