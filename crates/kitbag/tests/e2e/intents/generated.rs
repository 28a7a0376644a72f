//! Templates that a language model writes from the definition of a tool: asked, checked, tried,
//! approved and used.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::response::Response;
use serde_json::{Value, json};

use kitbag_testkit::home::CommandOutcome;
use kitbag_testkit::vendor::ScriptedVendor;

use super::{Shop, intend};
use crate::harness::until;

/// A program for `find_order` that works.
const FINDS: &str =
    "const found = await tools.shop.find_order(params); return `order ${found.order} is there`;";

/// The answer of a model: a template with this program.
fn template(code: &str) -> String {
    json!({
        "name": "whereabouts_of_order",
        "description": "Says whether an order is there.",
        "intents": ["whereabouts of the order {order}"],
        "parameters": { "order": { "type": "string", "description": "Its number." } },
        "code": code,
        "example": { "request": "whereabouts of the order 4711" },
    })
    .to_string()
}

/// A model that gives these answers, one after the other.
async fn scripted(answers: Vec<String>) -> ScriptedVendor {
    let next = AtomicUsize::new(0);
    ScriptedVendor::start(move |_| {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let answer = &answers[at.min(answers.len() - 1)];
        let message = json!({ "role": "assistant", "content": answer });
        let body = json!({ "choices": [{ "message": message, "finish_reason": "stop" }] });
        Response::new(Body::from(body.to_string()))
    })
    .await
}

async fn make(shop: &Shop, vendor: &ScriptedVendor, words: &[&str]) -> CommandOutcome {
    let model = format!("{}/v1#scripted", vendor.url);
    let verb = ["templates", "make", "--model", &model];
    shop.home().kitbag(&[&verb[..], words].concat()).await
}

#[tokio::test]
async fn a_model_learns_from_each_rejection_until_its_template_works_and_is_used() {
    let shop = Shop::open("[policy]\ncode_writes = 'allow'\n", &[]).await;
    let answers = [
        (
            "Sorry, what is a template?".to_owned(),
            "contains no JSON object",
        ),
        (
            template("return 'order {order}'"),
            "expects text to be pasted",
        ),
        (template("return await ("), "the program: line 1"),
        (
            template("return await tools.shop.cancel_order(params)"),
            "calls `shop.cancel_order`, which is not its tool",
        ),
        (
            template(
                "await tools.shop.find_order(params); return await call('shop__' + 'cancel_order', params)",
            ),
            "a trial only reads",
        ),
        (
            template("return (await tools.shop.find_order(params)).parcels.length"),
            "an object with the keys `order`",
        ),
        (
            template("await tools.shop.find_order(params); return null"),
            "returned nothing",
        ),
        (
            template(FINDS),
            "Tried `whereabouts of the order 4711`:\norder 4711 is there\n",
        ),
    ];
    let (texts, expected): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
    let vendor = scripted(texts.clone()).await;
    let file = shop.home().path("whereabouts.toml");
    let file = file.to_str().unwrap();
    let attempts = texts.len().to_string();
    let words = [
        "shop__find_order",
        "--output",
        file,
        "--attempts",
        &attempts,
    ];
    let output = make(&shop, &vendor, &words).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    for text in &expected {
        assert!(output.stderr.contains(text), "no {text}: {}", output.stderr);
    }
    assert_eq!(vendor.requests(), texts.len());

    let words = "whereabouts of the order 12";
    let client = shop.client().await;
    let before = intend(&client, words, &json!({})).await.tool_text();
    assert!(!before.contains("is there"), "{before}");
    for verb in [&["import", file][..], &["approve", "whereabouts_of_order"]] {
        let output = shop.home().kitbag(&[&["templates"], verb].concat()).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    let words = "Whereabouts of order 13?";
    until("the running gateway has read the approval", async || {
        let answer = intend(&client, words, &json!({})).await.tool_text();
        answer.starts_with("order 13 is there\n").then_some(())
    })
    .await;
    let page = reqwest::get(format!("{}/metrics", shop.gateway.base));
    let page = page.await.unwrap().text().await.unwrap();
    let counted = page.lines().find(|line| {
        line.starts_with("kitbag_template_runs") && line.contains("whereabouts_of_order")
    });
    assert!(counted.is_some_and(|line| line.ends_with(" 1")), "{page}");
}

#[tokio::test]
async fn a_model_whose_template_never_works_leaves_no_file() {
    let shop = Shop::open("", &[]).await;
    let vendor = scripted(vec![template("return 1")]).await;
    let file = shop.home().path("never.toml");
    let words = [
        "shop__find_order",
        "order=7",
        "--output",
        file.to_str().unwrap(),
    ];
    let output = make(&shop, &vendor, &words).await;
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    for text in ["the model wrote no template that works", "--attempts"] {
        assert!(output.stderr.contains(text), "no {text}: {}", output.stderr);
    }
    assert!(!file.exists());
    assert_eq!(vendor.requests(), 3);
    let asked: Value = serde_json::from_slice(&vendor.last().body).unwrap();
    let prompt = asked["messages"][0]["content"].as_str().unwrap();
    for text in ["find order {order}", "never calls its tool by name"] {
        assert!(prompt.contains(text), "no {text}: {prompt}");
    }
}

#[tokio::test]
async fn a_template_for_a_tool_that_writes_is_checked_but_not_run() {
    let shop = Shop::open("[policy]\ncode_writes = 'allow'\n", &[]).await;
    let vendor = scripted(vec![template(
        "return await tools.shop.cancel_order(params)",
    )])
    .await;
    let output = make(&shop, &vendor, &["shop__cancel_order"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(output.stderr.contains("was not run"), "{}", output.stderr);
    assert!(
        output.stdout.contains("read_only = false"),
        "{}",
        output.stdout
    );
    let audit = shop.home().kitbag(&["audit"]).await;
    assert!(!audit.stdout.contains("cancel_order"), "{}", audit.stdout);
}
