//! Queries and tools that only use links.

use serde_json::{Value, json};

use super::{LearningGateway, search_tools, teach};
use crate::harness::{Client, Era, Home, until};

const WORDS: &str = "the penguin is hungry";
const LIKE_THEM: &str = "our penguin is very hungry again";
const UNRELATED: &str = "make a new invoice for the customer";
const TOOL: &str = "shop__archive_photo";

async fn client(setup: &LearningGateway, key: Option<&str>) -> Client {
    let builder = setup.gateway.client_at("/mcp/search", Era::Legacy);
    match key {
        Some(key) => builder.key(key).connect().await,
        None => builder.connect().await,
    }
}

async fn until_learned(client: &Client, words: &str) {
    until("the pairing is learned", async || {
        let first = search_tools(client, words).await.into_iter().next();
        (first.as_deref() == Some(TOOL)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pairing_is_learned_for_one_tenant_survives_a_kill_and_can_be_forgotten() {
    let setup = LearningGateway::open("[tenants.acme]\n[tenants.globex]\n").await;
    let home = setup.home().clone();
    let (acme, globex) = (home.key("acme").await, home.key("globex").await);
    let pupil = client(&setup, Some(&acme)).await;
    let other = client(&setup, Some(&globex)).await;
    for words in [WORDS, LIKE_THEM] {
        let found = search_tools(&pupil, words).await;
        assert!(!found.contains(&TOOL.to_owned()), "{found:?}");
    }
    let before = search_tools(&pupil, UNRELATED).await;

    teach(&pupil, WORDS, TOOL).await;
    until_learned(&pupil, WORDS).await;
    until_learned(&pupil, LIKE_THEM).await;
    assert_eq!(search_tools(&pupil, UNRELATED).await, before);
    assert!(!search_tools(&other, WORDS).await.contains(&TOOL.to_owned()));

    let LearningGateway { gateway, shop } = setup;
    gateway.kill().await;
    let setup = LearningGateway::serve(&home, shop).await;
    let pupil = client(&setup, Some(&acme)).await;
    assert_eq!(search_tools(&pupil, LIKE_THEM).await[0], TOOL);

    let forget = ["learned", "forget", "--tool", TOOL, "--tenant", "acme"];
    let output = home.kitbag(&forget).await;
    assert!(output.stdout.starts_with("Deleted "), "{output:?}");
    until("the gateway has forgotten it", async || {
        let found = search_tools(&pupil, WORDS).await;
        (!found.contains(&TOOL.to_owned())).then_some(())
    })
    .await;
}

/// The learned part of a tool's score.
async fn learned_part(home: &Home, tool: &str) -> f64 {
    let explained = home
        .kitbag(&["search", UNRELATED, "--explain", "--json"])
        .await;
    let explained: Vec<Value> = serde_json::from_str(&explained.stdout).unwrap();
    let found = explained.iter().find(|it| it["tool_name"] == tool);
    let found = found.unwrap_or_else(|| panic!("{explained:?}"));
    found["parts"]["learned"].as_f64().unwrap()
}

#[tokio::test]
async fn a_tool_that_three_sessions_passed_over_loses_and_one_session_changes_nothing() {
    let setup = LearningGateway::open("").await;
    let home = setup.home().clone();
    let passed = search_tools(&client(&setup, None).await, UNRELATED).await[0].clone();
    for session in 1..=3 {
        let client = client(&setup, None).await;
        let shown = search_tools(&client, UNRELATED).await;
        let place = shown.iter().position(|it| *it == passed).unwrap();
        teach(&client, UNRELATED, &shown[place + 1]).await;
        until("the session has taught", async || {
            let lessons = setup.lessons(&passed).await;
            let passed_over = lessons.iter().filter(|it| it["signal"] == "bypassed");
            (passed_over.count() == session).then_some(())
        })
        .await;
        let learned = learned_part(&home, &passed).await;
        assert_eq!(learned < -0.01, session == 3, "{session}: {learned}");
    }
}

#[tokio::test]
async fn the_lessons_behind_a_rank_are_named_and_can_be_given_to_another_tenant() {
    let setup = LearningGateway::open("[learning]\nkeep_words = true\n[tenants.globex]\n").await;
    let home = setup.home().clone();
    let pupil = client(&setup, None).await;
    teach(&pupil, WORDS, TOOL).await;
    until_learned(&pupil, WORDS).await;

    let lessons = setup.lessons(TOOL).await;
    let lesson = lessons.iter().find(|it| it["words"] == WORDS);
    let lesson = lesson.unwrap_or_else(|| panic!("{lessons:?}"));
    let explained = home.kitbag(&["search", WORDS, "--explain", "--json"]).await;
    let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
    assert_eq!(explained[0]["tool_name"], TOOL);
    assert_eq!(explained[0]["neighbours"][0]["id"], lesson["lesson"]);

    let file = home.path("lessons.jsonl");
    let file = file.to_str().unwrap();
    home.kitbag(&["learned", "export", "--output", file]).await;
    let output = home
        .kitbag(&["learned", "import", file, "--tenant", "globex"])
        .await;
    assert!(output.stdout.starts_with("Imported "), "{output:?}");
    let key = home.key("globex").await;
    until_learned(&client(&setup, Some(&key)).await, LIKE_THEM).await;
}

#[tokio::test]
async fn nothing_is_learned_if_disabled_and_words_are_stored_only_if_enabled() {
    let setup = LearningGateway::open("").await;
    let pupil = client(&setup, None).await;
    let secret = json!({ "tool": TOOL, "arguments": { "note": "hungry penguin, zebra" } });
    search_tools(&pupil, WORDS).await;
    pupil.call("call_api", &secret).await.tool_text();
    until("two lessons are there", async || {
        (setup.lessons(TOOL).await.len() == 2).then_some(())
    })
    .await;
    let home = setup.home().clone();
    let exported = home.kitbag(&["learned", "export"]).await.stdout;
    assert!(!exported.contains("penguin") && !exported.contains("zebra"));

    let LearningGateway { gateway, shop } = setup;
    gateway.stop().await;
    let config = super::shop_table(&shop);
    home.configure(&format!("{config}[learning]\nenabled = false\n"));
    let setup = LearningGateway::serve(&home, shop).await;
    let pupil = client(&setup, None).await;
    teach(&pupil, "the walrus is thirsty", "shop__list_backup").await;
    assert!(!search_tools(&pupil, WORDS).await.contains(&TOOL.to_owned()));
    let LearningGateway { gateway, .. } = setup;
    gateway.stop().await;
    let listed = home.kitbag(&["learned", "list", "--json"]).await.stdout;
    assert!(!listed.contains("shop__list_backup"), "{listed}");
}
