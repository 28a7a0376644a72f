//! Nothing is computed twice, and the mirror records when a tool last changed.

use kitbag_store::Store;
use serde_json::Value;

use super::{Listed, tool};
use crate::harness::embeddings::{Embeddings, Mood};
use crate::harness::{Home, Testbed, until};

/// Builds the index; returns the number of embedded texts.
async fn build(home: &Home) -> usize {
    let output = home.kitbag(&["index", "build"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let last = output
        .stderr
        .lines()
        .rev()
        .find_map(|line| line.strip_suffix(" texts embedded"));
    last.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

async fn show_entry(home: &Home, name: &str) -> Value {
    let output = home.kitbag(&["index", "show", name]).await;
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test]
async fn a_restart_embeds_nothing_and_a_changed_description_one_text() {
    let mut tools = vec![
        tool("a", "Opens a door"),
        tool("b", "Bakes bread"),
        tool("c", "Counts coins"),
    ];
    let mut listed = Listed::with(&tools, "").await;
    assert_eq!(build(&listed.home).await, 3);
    assert_eq!(build(&listed.home).await, 0);

    tools[1] = tool("b", "Bakes a cake");
    listed.replace_tools(&tools).await;
    assert_eq!(build(&listed.home).await, 1);
    assert_eq!(build(&listed.home).await, 0);

    let gateway = listed.home.serve().await;
    super::wait_until_embedded(&gateway, 3).await;
    assert!(
        !gateway.log().contains("vectors computed"),
        "{}",
        gateway.log()
    );
}

#[tokio::test]
async fn a_tool_is_as_old_as_its_definition_and_one_that_is_gone_is_forgotten() {
    let mut tools = vec![
        tool("a", "Opens a door"),
        tool("b", "Bakes bread"),
        tool("c", "Counts coins"),
    ];
    let mut listed = Listed::with(&tools, "").await;
    build(&listed.home).await;
    make_old(&listed.home).await;
    build(&listed.home).await;
    for name in ["shop__a", "shop__b", "shop__c"] {
        assert_eq!(
            show_entry(&listed.home, name).await["last_updated_at"],
            LONG_AGO,
            "{name}"
        );
    }

    tools[1]["inputSchema"]["properties"]["flour"] = serde_json::json!({ "type": "string" });
    tools.pop();
    listed.replace_tools(&tools).await;
    build(&listed.home).await;
    assert_eq!(
        show_entry(&listed.home, "shop__a").await["last_updated_at"],
        LONG_AGO
    );
    assert!(
        show_entry(&listed.home, "shop__b").await["last_updated_at"]
            .as_i64()
            .unwrap()
            > LONG_AGO
    );
    let gone = listed.home.kitbag(&["index", "show", "shop__c"]).await;
    assert_eq!(gone.code, Some(1));
    assert!(
        gone.stderr
            .contains("the index has no tool called `shop__c`"),
        "{}",
        gone.stderr
    );
    assert!(
        gone.stderr.contains("kitbag index build"),
        "{}",
        gone.stderr
    );
}

#[tokio::test]
async fn a_server_that_does_not_answer_keeps_its_entries_in_the_mirror() {
    let listed = Listed::with(&[tool("a", "Opens a door")], "").await;
    build(&listed.home).await;
    make_old(&listed.home).await;
    // A server at a new address is listed again, and nothing listens at this one.
    listed
        .home
        .configure("[servers.shop]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    listed.home.kitbag(&["index", "build"]).await;
    assert_eq!(
        show_entry(&listed.home, "shop__a").await["last_updated_at"],
        LONG_AGO
    );
    listed.home.configure("");
    listed.home.kitbag(&["index", "build"]).await;
    assert_eq!(
        listed.home.kitbag(&["index", "show", "shop__a"]).await.code,
        Some(1),
        "the server is gone"
    );
}

const LONG_AGO: i64 = 1_000;

/// Makes everything in the mirror look old.
async fn make_old(home: &Home) {
    let store = Store::open(home.store_address()).await.unwrap();
    let entries: Vec<_> = store
        .mirror_entries("capability_index")
        .await
        .unwrap()
        .into_iter()
        .map(|(name, text)| {
            let mut entry: Value = serde_json::from_str(&text).unwrap();
            entry["last_updated_at"] = LONG_AGO.into();
            (name, entry.to_string())
        })
        .collect();
    store
        .replace_mirror("capability_index", &entries)
        .await
        .unwrap();
    store.close().await;
}

#[tokio::test]
async fn vectors_of_many_removed_tools_are_deleted() {
    let service = Embeddings::start(Mood::Fine(Embeddings::DIMENSION)).await;
    let many: Vec<_> = (0..1_100)
        .map(|number| tool(&format!("tool_{number}"), "Does it"))
        .collect();
    let mut listed = Listed::with(&many, &service.table("")).await;
    listed.home.export("EMBEDDINGS_KEY", "key");
    assert_eq!(build(&listed.home).await, 1_100);

    listed.replace_tools(&many[..3]).await;
    assert_eq!(build(&listed.home).await, 0);
    let gateway = listed.home.serve().await;
    until("unused vectors are forgotten", async || {
        gateway
            .log()
            .contains("deleted the vectors of removed tools number=1097")
            .then_some(())
    })
    .await;
    gateway.stop().await;
    assert_eq!(build(&listed.home).await, 0, "those in use stay");
}

#[tokio::test]
async fn two_configurations_over_one_store_keep_each_their_own_mirror() {
    let home = Home::new(&Testbed::new("one").table());
    let other = home.path("other.toml");
    let tables = Testbed::new("two").table();
    let text = format!("[agents]\nenabled = false\n[store]\npath = \"kitbag.db\"\n{tables}");
    std::fs::write(&other, text).unwrap();
    let config = other.to_str().unwrap();
    let check = async |words: &[&str], code: i32| {
        let output = home.kitbag(words).await;
        assert_eq!(output.code, Some(code), "{words:?}: {output:?}");
    };
    check(&["index", "build"], 0).await;
    check(&["--config", config, "index", "build"], 0).await;
    check(&["index", "show", "one__echo"], 0).await;
    check(&["--config", config, "index", "show", "two__echo"], 0).await;
    check(&["index", "show", "two__echo"], 1).await;
    check(&["--config", config, "index", "show", "one__echo"], 1).await;
}
