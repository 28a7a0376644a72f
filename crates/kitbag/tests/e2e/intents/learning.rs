//! Programs that worked become templates, and are dropped when their tools change.

use serde_json::{Value, json};

use super::{Shop, intend, tools};
use crate::harness::shop::{self, shop_table};
use crate::harness::{Client, until};

/// Only programs are learned: lessons from past calls would let the search answer with a tool.
const LEARNS: &str = "[code]\nenable_template_learning = true\n[learning]\nenabled = false\n";

/// A client sends an intent, gets tools, and writes a program, as a model would.
async fn teach(client: &Client, order: &str) {
    let output = intend(client, "weight of what a customer bought", &json!({}))
        .await
        .tool_text();
    assert!(output.contains("for run_code:"), "{output}");
    let code = format!(
        "// {order}\nconst found = await tools.shop.find_order({{ order: '{order}' }});\nreturn 'weighed ' + found.order;"
    );
    let output = client
        .call("run_code", &json!({ "code": code }))
        .await
        .tool_text();
    assert!(
        output.starts_with(&format!("weighed {order}\n")),
        "{output}"
    );
}

async fn states(shop: &Shop) -> Vec<String> {
    let output = shop.home().kitbag(&["templates", "list", "--json"]).await;
    let listed: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let rows = listed.as_array().unwrap_or_else(|| panic!("{listed}"));
    let states = rows.iter().filter_map(|row| row["state"].as_str());
    states.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_program_is_learned_from_three_runs_survives_a_restart_and_is_given_up_when_its_tool_changes()
 {
    let shop = Shop::open(LEARNS, &[]).await;
    let client = shop.client().await;
    for order in ["1", "2", "3"] {
        teach(&client, order).await;
    }
    assert_eq!(shop.event_count("template_promoted").await, 1);
    let words = "weight of what a customer bought";
    let output = intend(&client, words, &json!({ "order": "77" }))
        .await
        .tool_text();
    assert!(output.starts_with("weighed 77\n"), "{output}");

    let Shop {
        gateway,
        server: old,
    } = shop;
    let home = gateway.home.clone();
    gateway.stop().await;
    let shop = Shop::serve(&home, old.unwrap()).await;
    let client = shop.client().await;
    let output = intend(&client, words, &json!({ "order": "78" }))
        .await
        .tool_text();
    assert!(output.starts_with("weighed 78\n"), "{output}");
    assert!(states(&shop).await.contains(&"promoted".to_owned()));

    let changed = shop::shop(&home, &tools("Looks an order up, by another number.")).await;
    home.configure(&format!("{}{LEARNS}", shop_table(&changed)));
    until("the template is given up", async || {
        intend(&client, words, &json!({ "order": "79" })).await;
        let states = states(&shop).await;
        states.contains(&"demoted".to_owned()).then_some(())
    })
    .await;
    let output = intend(&client, words, &json!({ "order": "79" }))
        .await
        .tool_text();
    assert!(output.contains("for run_code:"), "{output}");
    assert_eq!(shop.event_count("template_demoted").await, 1);
}

#[tokio::test]
async fn nothing_is_learned_unless_the_operator_wants_it() {
    let shop = Shop::open("", &[]).await;
    let client = shop.client().await;
    teach(&client, "1").await;
    assert_eq!(shop.event_count("template_candidate").await, 0);
}
