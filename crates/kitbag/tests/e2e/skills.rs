//! Skills of servers, through the gateway.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::callers::key;
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

const SKILLS: &str = "io.modelcontextprotocol/skills";
const REFUNDS: &str = "kitbag://server/docs/skill://refunds/SKILL.md";

/// Two servers with the same skills, one of each era.
fn servers() -> String {
    let docs = Testbed::new("docs").era("legacy").manner("skills");
    let ops = Testbed::new("ops").era("modern").manner("skills");
    format!("{}{}", docs.table(), ops.table())
}

async fn list_skills(client: &Client, count: usize) -> Vec<Value> {
    until("the skills are listed", async || {
        let result = client.request("skills/list", &json!({})).await.result();
        let skills = result["skills"].as_array().unwrap().clone();
        (skills.len() == count).then_some(skills)
    })
    .await
}

#[tokio::test]
async fn skills_of_all_servers_are_listed_and_read_by_uris_that_name_their_server() {
    let gateway = Gateway::with(&servers()).await;
    for era in Era::each() {
        for path in ["/mcp/all", "/mcp"] {
            let client = gateway.client_at(path, era).connect().await;
            let skills = list_skills(&client, 4).await;
            let uris: BTreeSet<&str> = skills
                .iter()
                .map(|it| it["uri"].as_str().unwrap())
                .collect();
            assert_eq!(uris.len(), 4, "{uris:?}");
            assert!(uris.contains(REFUNDS), "{uris:?}");
            for skill in &skills {
                check_skill(&client, skill).await;
            }
            let unknown = json!({ "uri": "kitbag://server/docs/skill://nothing/SKILL.md" });
            assert_eq!(client.request("skills/get", &unknown).await.code(), -32602);
            let folder = json!({ "uri": "kitbag://server/docs/skill://refunds/references" });
            let children = client
                .request("resources/directory/read", &folder)
                .await
                .result();
            assert_eq!(
                children["resources"][0]["uri"],
                "kitbag://server/docs/skill://refunds/references/limits.md"
            );
        }
    }
    let client = gateway.client(Era::Modern).await;
    let face = client.request("server/discover", &json!({})).await.result();
    assert_eq!(
        face["capabilities"]["extensions"][SKILLS]["directoryRead"],
        true
    );
    let list = client.request("skills/list", &json!({})).await.result();
    assert!(
        list["ttlMs"].is_u64() && list["cacheScope"] == "private",
        "{list}"
    );
}

/// The entry is the same when read by itself, and its files have the stated sizes.
async fn check_skill(client: &Client, skill: &Value) {
    let server = &skill["_meta"]["io.kitbag/server"];
    let mark = format!("kitbag://server/{}/", server.as_str().unwrap());
    assert!(skill["uri"].as_str().unwrap().starts_with(&mark), "{skill}");
    let got = client
        .request("skills/get", &json!({ "uri": skill["uri"] }))
        .await
        .result();
    assert_eq!(got["skill"], *skill);
    let Some(files) = skill["resources"].as_array() else {
        return assert_eq!(skill["resources"], "dynamic");
    };
    for file in files {
        assert!(file["uri"].as_str().unwrap().starts_with(&mark), "{skill}");
        let read = client
            .request("resources/read", &json!({ "uri": file["uri"] }))
            .await
            .result();
        let text = read["contents"][0]["text"].as_str().unwrap();
        assert_eq!(text.len() as u64, file["size"].as_u64().unwrap());
    }
}

#[tokio::test]
async fn on_the_route_of_one_server_skills_are_as_the_server_has_them() {
    let gateway = Gateway::with(&servers()).await;
    for (server, era) in [("docs", Era::Modern), ("ops", Era::Legacy)] {
        let client = gateway
            .client_at(&format!("/servers/{server}/mcp"), era)
            .connect()
            .await;
        let skills = list_skills(&client, 2).await;
        assert_eq!(skills[0]["uri"], "skill://refunds/SKILL.md");
        let got = client
            .request("skills/get", &json!({ "uri": skills[0]["uri"] }))
            .await
            .result();
        assert_eq!(got["skill"], skills[0]);
    }
}

#[tokio::test]
async fn a_skill_that_rules_deny_is_neither_listed_nor_found_nor_read() {
    let rules = "[tenants.acme]\ndeny_tools = [\"docs/skill://refunds/*\", \"ops/*\"]\n";
    let home = Home::new(&format!("{}{rules}", servers()));
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    list_skills(&gateway.client(Era::Modern).await, 4).await;
    let client = gateway
        .client_at("/mcp", Era::Modern)
        .key(&acme)
        .connect()
        .await;
    let skills = list_skills(&client, 1).await;
    assert_eq!(skills[0]["frontmatter"]["name"], "daily");
    for method in ["skills/get", "resources/read"] {
        let refused = client.request(method, &json!({ "uri": REFUNDS })).await;
        assert_eq!(refused.code(), -32602, "{}", refused.raw());
    }
    let found = client
        .call(
            "search_available_tools",
            &json!({ "query": "refund a customer" }),
        )
        .await
        .text();
    assert!(!found.contains("refunds"), "{found}");
    let read = client
        .call("discover_apis", &json!({ "tool": REFUNDS }))
        .await;
    assert!(!read.raw().contains("limits.md first"), "{}", read.raw());
}

#[tokio::test]
async fn a_model_finds_a_skill_with_the_tools_and_reads_its_files() {
    let home = Home::new(&Testbed::new("docs").manner("skills").table());
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    list_skills(&client, 2).await;
    let found = client
        .call(
            "search_available_tools",
            &json!({ "query": "refund a customer" }),
        )
        .await
        .text();
    assert!(
        found.contains(&format!("skill {REFUNDS} · Refund a customer")),
        "{found}"
    );
    let read = client
        .call("discover_apis", &json!({ "tool": REFUNDS }))
        .await
        .text();
    let limits = "kitbag://server/docs/skill://refunds/references/limits.md";
    for part in [
        "is not your user",
        "Read references/limits.md first.",
        limits,
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    let read = client
        .call("discover_apis", &json!({ "tool": limits }))
        .await
        .text();
    assert!(read.contains("At most 50 euros"), "{read}");

    let shown = home.kitbag(&["skills", "--json"]).await;
    let rows: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown:?}"));
    assert_eq!(rows[0]["uri"], REFUNDS);
    assert_eq!(
        (rows[0]["files"].as_u64(), rows[1]["files"].as_u64()),
        (Some(2), None)
    );
    let shown = home.kitbag(&["resources", "read", limits]).await;
    assert_eq!(shown.stdout, "At most 50 euros without a second person.\n");
}
