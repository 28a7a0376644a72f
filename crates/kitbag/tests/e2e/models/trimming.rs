//! Which tools stay in a request: those that the conversation needs, with the same bytes in each
//! request.

use serde_json::{Value, json};

use super::{GOODS, Proxied};
use crate::harness::until;

const PINNED: &str = "[surfaces]\npinned = [\"shop/pinned_thing\"]\n";
const MAIL: &str = "Please send an e-mail to Ann";
const MONEY: &str = "How much are 100 dollars in euros? Convert the currency";

/// The tools of a Claude Code client: its own, ours, and the vendor's.
fn tools() -> Vec<Value> {
    let own = GOODS.iter().map(|(name, description)| {
        json!({ "name": format!("mcp__kitbag__shop__{name}"), "description": description, "input_schema": {} })
    });
    let before = [
        json!({ "name": "Bash", "input_schema": {} }),
        json!({ "type": "web_search_20250305", "name": "web_search" }),
        json!({ "name": "mcp__kitbag__search_available_tools", "input_schema": {} }),
    ];
    before.into_iter().chain(own).collect()
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": [{ "type": "text", "text": text }] })
}

fn call(name: &str) -> Value {
    let block = json!({ "type": "tool_use", "id": "t1", "name": name, "input": {} });
    json!({ "role": "assistant", "content": [block] })
}

fn result(text: &str) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": "t1", "content": text });
    json!({ "role": "user", "content": [block] })
}

/// One conversation with the vendor behind the gateway.
struct Conversation<'a> {
    proxied: &'a Proxied,
    system: String,
    messages: Vec<Value>,
}

impl<'a> Conversation<'a> {
    /// Begins a conversation whose first message has been embedded: on a busy machine the first attempt may
    /// proceed without.
    async fn begin(proxied: &'a Proxied, words: &str) -> Self {
        let mut tries = 0;
        until("the words are understood in time", async || {
            tries += 1;
            let conversation = Conversation {
                proxied,
                system: format!("conversation {tries}"),
                messages: vec![user(words)],
            };
            (conversation.names(json!({})).await.len() < tools().len()).then_some(conversation)
        })
        .await
    }

    /// Sends all messages so far and returns the body that the vendor received.
    async fn send(&self, more: Value) -> String {
        let mut body = json!({ "model": "m", "system": self.system, "messages": self.messages });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body["tools"] = tools().into();
        let body = body.to_string();
        let sent = self.proxied.send("/anthropic/v1/messages", &body).await;
        let sent = String::from_utf8(sent.to_vec()).unwrap();
        assert_eq!(without_tools(&sent), without_tools(&body));
        sent
    }

    async fn names(&self, more: Value) -> Vec<String> {
        names(&self.send(more).await)
    }
}

/// The bytes before and after the array of tools, which comes last.
fn without_tools(body: &str) -> (&str, &str) {
    let (before, tools) = body.split_once("\"tools\":").unwrap();
    (before, &tools[tools.rfind(']').unwrap()..])
}

fn names(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let tools = body["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap());
    names
        .map(|name| name.trim_start_matches("mcp__kitbag__shop__").to_owned())
        .collect()
}

fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|it| it == name)
}

#[tokio::test]
async fn a_request_keeps_the_tools_that_its_conversation_needs() {
    let proxied = Proxied::with_shop(PINNED).await;
    let mut conversation = Conversation::begin(&proxied, MAIL).await;
    let first = conversation.send(json!({})).await;
    let kept = names(&first);
    for name in [
        "Bash",
        "web_search",
        "mcp__kitbag__search_available_tools",
        "send_mail",
        "pinned_thing",
    ] {
        assert!(has(&kept, name), "{name}: {kept:?}");
    }
    let order: Vec<String> = names(&json!({ "tools": tools() }).to_string());
    let in_order: Vec<String> = order.into_iter().filter(|it| kept.contains(it)).collect();
    assert_eq!(kept, in_order, "the client's order stays");
    assert!(
        kept.len() <= 22 && !has(&kept, "convert_currency"),
        "{kept:?}"
    );

    // Turns with tools change nothing as long as they use listed tools.
    conversation
        .messages
        .extend([call("mcp__kitbag__shop__send_mail"), result("sent")]);
    assert_eq!(names(&conversation.send(json!({})).await), kept);

    // Messages that need no tool change nothing either.
    conversation.messages.push(user("Yes, please go on"));
    assert_eq!(conversation.names(json!({})).await, kept);

    // A tool that the model calls, a result lists or the client requires comes back, and stays.
    let gone: Vec<&str> = GOODS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !has(&kept, name))
        .collect();
    let [called, listed, demanded] = gone[..3] else {
        panic!("too few are gone: {gone:?}")
    };
    conversation.messages.extend([
        call(&format!("mcp__kitbag__shop__{called}")),
        result("Unknown tool"),
    ]);
    assert!(has(&conversation.names(json!({})).await, called));
    let list = format!("1. shop__{listed}\n2. nothing else");
    conversation.messages.extend([call("Bash"), result(&list)]);
    let grown = conversation.names(json!({})).await;
    assert!(has(&grown, called) && has(&grown, listed), "{grown:?}");
    let name = format!("mcp__kitbag__shop__{demanded}");
    let choice = json!({ "tool_choice": { "type": "tool", "name": name } });
    assert!(has(&conversation.names(choice).await, demanded));

    // New messages bring new tools and keep the used ones.
    conversation.messages.push(user(MONEY));
    let later = conversation.names(json!({})).await;
    for name in ["send_mail", called, "convert_currency"] {
        assert!(has(&later, name), "{name}: {later:?}");
    }
    assert!(later.len() <= 22, "{later:?}");
}

#[tokio::test]
async fn a_first_message_that_asks_for_nothing_keeps_no_tool() {
    let proxied = Proxied::with_shop(PINNED).await;
    let conversation = Conversation::begin(&proxied, "yes, go on").await;
    let kept = conversation.names(json!({})).await;
    let of_shop: Vec<&String> = kept.iter().filter(|it| it.contains("shop")).collect();
    assert!(
        of_shop.iter().all(|name| name.ends_with("pinned_thing")),
        "{kept:?}"
    );
    assert!(has(&kept, "Bash"), "{kept:?}");
}

#[tokio::test]
async fn both_apis_of_openai_are_trimmed_and_counted() {
    let proxied = Proxied::with_shop(PINNED).await;
    // Sends the same message once before, so that it is embedded in time.
    Conversation::begin(&proxied, MAIL).await;
    let function = |name: &str| json!({ "name": format!("shop__{name}"), "parameters": {} });
    let nested = GOODS.map(|(name, _)| json!({ "type": "function", "function": function(name) }));
    let flat = GOODS.map(|(name, _)| {
        let mut tool = function(name);
        tool["type"] = "function".into();
        tool
    });
    let chat = json!({ "messages": [{ "role": "user", "content": MAIL }], "tools": nested });
    let responses = json!({ "input": MAIL, "tools": flat });
    for (path, body) in [("chat/completions", chat), ("responses", responses)] {
        let sent = proxied
            .send(&format!("/openai/v1/{path}"), &body.to_string())
            .await;
        let sent = String::from_utf8(sent.to_vec()).unwrap();
        assert!(
            sent.contains("shop__send_mail") && !sent.contains("shop__scale_cluster"),
            "{sent}"
        );
    }
    // A conversation stored by the vendor is unknown, so all its tools stay.
    let continued =
        json!({ "input": MAIL, "previous_response_id": "resp_1", "tools": flat }).to_string();
    let sent = proxied.send("/openai/v1/responses", &continued).await;
    assert_eq!(sent, continued);
    let page = reqwest::get(format!("{}/metrics", proxied.gateway.base))
        .await
        .unwrap();
    let page = page.text().await.unwrap();
    let labels = "{tenant=\"local\",route=\"openai/responses\"}";
    assert!(
        page.contains(&format!("kitbag_model_requests_total{labels} 2")),
        "{page}"
    );
    assert!(
        page.contains(&format!("kitbag_model_tools_offered_total{labels} 60")),
        "{page}"
    );
}

#[tokio::test]
async fn foreign_tools_are_trimmed_only_if_the_operator_says_so() {
    let others = GOODS.map(|(name, description)| {
        json!({ "name": format!("mcp__other__{name}"), "description": description, "input_schema": {} })
    });
    let body = json!({ "model": "m", "messages": [user(MAIL)], "tools": others }).to_string();
    for (setting, most) in [("keep", GOODS.len()), ("trim", 20)] {
        let proxied = Proxied::with_models(&format!("foreign_tools = \"{setting}\"\n")).await;
        let sent = proxied.send("/anthropic/v1/messages", &body).await;
        let kept = names(str::from_utf8(&sent).unwrap());
        assert_eq!(kept.len(), most, "{setting}: {kept:?}");
        assert!(has(&kept, "mcp__other__send_mail"), "{setting}: {kept:?}");
    }
}
