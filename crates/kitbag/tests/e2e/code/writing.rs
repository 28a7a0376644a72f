//! Calls that do more than read: denied, permitted by a rule, or permitted by the user.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Shop, run_text};
use crate::harness::{Client, Era};

const CANCEL: &str = "return (await tools.shop.cancel_order({ order: '1' })).order";

/// A client whose user gives this answer, and the number of questions.
async fn client_answering(shop: &Shop, era: Era, answer: Value) -> (Client, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let builder = shop.gateway.client_at("/mcp/code", era);
    let client = builder.answer_with(move |_, params| {
        assert!(
            params["message"]
                .as_str()
                .unwrap()
                .contains("shop__cancel-order"),
            "{params}"
        );
        counted.fetch_add(1, Ordering::Relaxed);
        answer.clone()
    });
    (client.connect().await, count)
}

fn permit(what: &str) -> Value {
    json!({ "action": "accept", "content": { "permit": what } })
}

#[tokio::test]
async fn a_program_only_reads_if_the_user_cannot_be_asked() {
    let shop = Shop::open("").await;
    for era in Era::each() {
        let client = shop.client(era).await;
        let output = run_text(&client, CANCEL).await;
        assert!(
            output.contains("this client cannot ask the user"),
            "{output}"
        );
        assert!(
            output.contains("`code_writes = \"allow\"` under [policy]"),
            "{output}"
        );
        assert!(
            output.contains("[calls] shop__cancel-order denied"),
            "{output}"
        );
    }
}

#[tokio::test]
async fn a_tool_without_hints_whose_name_reads_is_called_and_described_as_derived() {
    let shop = Shop::open("").await;
    let client = shop.client(Era::Modern).await;
    let code = "return (await tools.shop.list_orders({ order: '1' })).order";
    assert!(run_text(&client, code).await.starts_with("1\n"));
    let described = run_text(&client, "return describe('shop__list_orders')").await;
    assert!(
        described.starts_with("// read-only (derived from its name)\n"),
        "{described}"
    );
    let described = run_text(&client, "return describe('shop__weigh')").await;
    assert!(
        described.starts_with("// may write: its server does not say\n"),
        "{described}"
    );
    let log = shop.gateway.log();
    assert!(
        log.contains("do not declare whether they only read") && log.contains("taken_to_read=1"),
        "{log}"
    );
    let shop = Shop::open("[tools.shop__list_orders]\nwrite_class = 'write'").await;
    let client = shop.client(Era::Modern).await;
    let refused = run_text(&client, code).await;
    assert!(refused.contains("may change something"), "{refused}");
}

#[tokio::test]
async fn a_tool_without_declared_effects_does_not_count_as_reading() {
    let weigh = "return (await tools.shop.weigh({ order: '1' })).order";
    let shop = Shop::open("").await;
    let client = shop.client(Era::Modern).await;
    let refused = run_text(&client, weigh).await;
    assert!(
        refused.contains("`write_class = \"read\"` under [tools.shop__weigh]"),
        "{refused}"
    );
    assert!(refused.contains("kitbag call shop__weigh"), "{refused}");
    let shop = Shop::open("[tools.shop__weigh]\nwrite_class = 'read'").await;
    let client = shop.client(Era::Modern).await;
    assert!(run_text(&client, weigh).await.starts_with("1\n"));
}

#[tokio::test]
async fn the_user_permits_one_call_or_all_of_a_run_or_none() {
    let shop = Shop::open("").await;
    let twice =
        "for (const order of ['1', '2']) await tools.shop.cancel_order({ order }); return 'done'";
    for era in Era::each() {
        for (answer, times, expected) in [
            (permit("this call"), 2, "done"),
            (permit("all calls of this tool in this run"), 1, "done"),
            (permit("no"), 1, "line 1"),
            (json!({ "action": "decline" }), 1, "line 1"),
        ] {
            let (client, count) = client_answering(&shop, era, answer.clone()).await;
            let output = run_text(&client, twice).await;
            assert!(output.starts_with(expected), "{era:?} {answer}: {output}");
            assert_eq!(count.load(Ordering::Relaxed), times, "{era:?} {answer}");
        }
    }
}

#[tokio::test]
async fn a_rule_decides_instead_of_the_user() {
    for (rule, expected) in [("allow", "1\n"), ("deny", "line 1")] {
        let shop = Shop::open(&format!("[policy]\ncode_writes = '{rule}'")).await;
        let (client, count) = client_answering(&shop, Era::Modern, permit("no")).await;
        let output = run_text(&client, CANCEL).await;
        assert!(output.starts_with(expected), "{rule}: {output}");
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
