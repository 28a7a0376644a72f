//! `llm_invoke` and `ai_invoke` through the real binary: the right provider gets the right request with the
//! tenant's own credential, and another takes over only if the first certainly has not processed the prompt.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::model_providers::{FakeProviders, SeenPrompt};
use crate::harness::{Client, Era, Gateway, Home, until};

/// Routes, models and prices of the operator, valid on every day.
const OWN_DATA: &str = r#"
[[route]]
name = "web"
order = 10
provider = "gemini"
model = "m-web"
action = "grounded"
needs_web = true
valid_from = 2020-01-01
source = "test"

[[route]]
name = "default"
order = 100
provider = "anthropic"
model = "m-default"
valid_from = 2020-01-01
source = "test"

[[route]]
name = "default-gemini"
order = 100
provider = "gemini"
model = "m-web"
stand_in = true
valid_from = 2020-01-01
source = "test"

[[model]]
provider = "anthropic"
id = "m-default"
usd_per_million_input_tokens = 3
usd_per_million_output_tokens = 15
valid_from = 2020-01-01
source = "test"

[[model]]
provider = "gemini"
id = "m-web"
usd_per_million_input_tokens = 1
usd_per_million_output_tokens = 10
valid_from = 2020-01-01
source = "test"

[[model]]
provider = "groq"
id = "m-groq"
context_tokens = 10
valid_from = 2020-01-01
source = "test"

[[alias]]
provider = "groq"
alias = "m-old"
model = "m-groq"
valid_from = 2020-01-01
source = "test"

[[tier]]
tier = "bulk"
provider = "workers_ai"
model = "m-bulk"
valid_from = 2020-01-01
source = "test"
"#;

struct ModelWorld {
    house: FakeProviders,
    home: Arc<Home>,
    gateway: Gateway,
}

impl ModelWorld {
    /// A gateway with these credentials: tenant, credential name and fields.
    async fn with(credentials: &[(&str, &str, &[&str])]) -> Self {
        let house = FakeProviders::start().await;
        let catalog = "[catalog]\ndata = ['own.toml']\n";
        let home = Home::new(&format!("{catalog}{}", house.endpoints()));
        fs::write(home.path("own.toml"), OWN_DATA).unwrap();
        for (tenant, name, fields) in credentials {
            let words = ["secret", "set", name, "--tenant", tenant];
            let output = home.kitbag(&[&words, *fields].concat()).await;
            assert_eq!(output.code, Some(0), "{output:?}");
        }
        let gateway = home.serve().await;
        Self {
            house,
            home,
            gateway,
        }
    }

    async fn client(&self) -> Client {
        self.gateway.client(Era::Modern).await
    }

    /// Waits until this many calls of `ai_invoke` are audited, and returns the rows of all calls.
    async fn rows_of_calls(&self, count: usize) -> Vec<Value> {
        until("all calls are on record", async || {
            let output = self
                .home
                .kitbag(&["audit", "--json", "--event", "call"])
                .await;
            let lines = output.stdout.lines();
            let rows: Vec<Value> = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
            (outcomes(&rows, "ai_invoke").len() == count).then_some(rows)
        })
        .await
    }

    async fn client_of(&self, tenant: &str) -> Client {
        let key = self.home.key(tenant).await;
        let builder = self.gateway.client_at("/mcp/all", Era::Modern);
        builder.key(&key).connect().await
    }
}

/// The outcomes of the rows about a subject, newest first.
fn outcomes<'a>(rows: &'a [Value], name: &str) -> Vec<&'a str> {
    let rows = rows.iter().filter(|row| row["name"] == name);
    rows.filter_map(|row| row["outcome"].as_str()).collect()
}

/// The text of a result, and its details.
async fn call_tool(client: &Client, tool: &str, arguments: Value) -> (String, Value) {
    let result = client.call(tool, &arguments).await.result();
    let about = text_of(&result, 1).map(|about| serde_json::from_str(about).unwrap());
    let words = text_of(&result, 0).unwrap().to_owned();
    (words, about.unwrap_or_default())
}

fn text_of(result: &Value, place: usize) -> Option<&str> {
    result["content"][place]["text"].as_str()
}

fn header<'a>(seen: &'a SeenPrompt, name: &str) -> &'a str {
    seen.headers[name].to_str().unwrap()
}

#[tokio::test]
async fn a_prompt_reaches_the_provider_of_its_tier_or_route_in_that_providers_format() {
    let world = ModelWorld::with(&[
        (
            "local",
            "workers-ai",
            &["token=w-token", "account_id=a1", "gateway=g1"],
        ),
        ("local", "anthropic", &["key=a-key"]),
        ("local", "gemini", &["key=g-key"]),
        ("local", "groq", &["token=q-token"]),
    ])
    .await;
    let client = world.client().await;
    client.knows("ai_invoke").await;

    let arguments =
        json!({ "prompt": "Yes or no?", "system": "Be brief.", "max_tokens": 5, "temperature": 0 });
    let (text, about) = call_tool(&client, "llm_invoke", arguments).await;
    let seen = &world.house.take_seen()[0];
    assert_eq!(text, "From workers-ai.");
    assert_eq!(seen.line, "POST /workers-ai/v1/chat/completions");
    assert_eq!(header(seen, "authorization"), "Bearer w-token");
    assert_eq!(header(seen, "cf-aig-gateway-id"), "g1");
    let messages = json!([
        { "role": "system", "content": "Be brief." }, { "role": "user", "content": "Yes or no?" },
    ]);
    let body =
        json!({ "model": "m-bulk", "messages": messages, "max_tokens": 5, "temperature": 0 });
    assert_eq!(seen.body, body);
    assert_eq!(about["tier"], "bulk");
    assert_eq!(about["cost_usd"], Value::Null, "no price is known");

    let (_, about) = call_tool(&client, "ai_invoke", json!({ "prompt": "Which rivers?" })).await;
    let seen = &world.house.take_seen()[0];
    assert_eq!(seen.line, "POST /anthropic/messages");
    assert_eq!(header(seen, "x-api-key"), "a-key");
    assert_eq!(header(seen, "anthropic-version"), "2023-06-01");
    let messages = json!([{ "role": "user", "content": "Which rivers?" }]);
    let body = json!({ "model": "m-default", "max_tokens": 4096, "messages": messages });
    assert_eq!(seen.body, body);
    let expected = json!({
        "provider": "anthropic", "model": "m-default", "route": "default", "why": "no other route matches",
        "usage": { "input_tokens": 1000, "output_tokens": 100 }, "cost_usd": 0.0045, "finish_reason": "end_turn",
    });
    assert_eq!(about, expected);

    let arguments = json!({ "prompt": "Who won?", "needs_web": true });
    let (text, about) = call_tool(&client, "ai_invoke", arguments).await;
    let seen = &world.house.take_seen()[0];
    assert_eq!(text, "From gemini.");
    assert_eq!(seen.line, "POST /gemini/models/m-web:generateContent");
    assert_eq!(header(seen, "x-goog-api-key"), "g-key");
    let contents = json!([{ "role": "user", "parts": [{ "text": "Who won?" }] }]);
    let body = json!({ "contents": contents, "tools": [{ "google_search": {} }] });
    assert_eq!(seen.body, body);
    assert_eq!(about["cost_usd"], 0.002, "what it thought is paid for, too");

    let arguments = json!({ "prompt": "Hi", "provider": "groq", "model": "m-old" });
    let (_, about) = call_tool(&client, "llm_invoke", arguments).await;
    assert_eq!(about["model"], "m-groq");
    assert_eq!(world.house.take_seen()[0].body["model"], "m-groq");

    for (arguments, expected) in [
        (
            json!({ "prompt": "Hi", "provider": "groq", "model": "m-grok" }),
            "NO_SUCH_MODEL: groq has no known model `m-grok`\ndid you mean `m-groq`?; known today: m-groq, ",
        ),
        (
            json!({ "prompt": "one two three four five six seven eight nine ten eleven twelve", "provider": "groq", "model": "m-groq" }),
            "PROMPT_TOO_LONG: the prompt has about 1",
        ),
        (
            json!({ "prompt": "Hi", "tier": "frontier", "provider": "deepseek", "model": "newest" }),
            "CONFIG_MISSING: `deepseek` is not set up: the credential `deepseek` has no `token`\nrun `kitbag secret set \
             deepseek token`",
        ),
    ] {
        let (text, _) = call_tool(&client, "llm_invoke", arguments).await;
        assert!(text.starts_with(expected), "{text}");
    }
    assert!(world.house.take_seen().is_empty());

    let output = world.home.kitbag(&["secret", "test", "groq"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(world.house.take_seen()[0].line, "GET /groq/models");
}

#[tokio::test]
async fn another_model_is_asked_only_if_the_first_did_not_process_the_prompt() {
    let world = ModelWorld::with(&[
        ("acme", "anthropic", &["key=a-of-acme"]),
        ("acme", "gemini", &["key=g-of-acme"]),
        ("globex", "gemini", &["key=g-of-globex"]),
    ])
    .await;
    let acme = world.client_of("acme").await;
    acme.knows("ai_invoke").await;
    let prompt = json!({ "prompt": "Hi" });

    // Without the first credential, a tenant uses its own fallback; without any, it gets a remedy.
    let globex = world.client_of("globex").await;
    let (text, about) = call_tool(&globex, "ai_invoke", prompt.clone()).await;
    assert_eq!(
        (text.as_str(), &about["route"]),
        ("From gemini.", &json!("default-gemini"))
    );
    let reason = "`anthropic` is not set up: the credential `anthropic` has no `key`";
    assert_eq!(about["instead_of"][0]["reason"], reason);
    assert_eq!(
        header(&world.house.take_seen()[0], "x-goog-api-key"),
        "g-of-globex"
    );
    let third = world.client_of("third").await;
    let (text, _) = call_tool(&third, "ai_invoke", prompt.clone()).await;
    assert!(text.starts_with("CONFIG_MISSING: `anthropic`"), "{text}");
    assert!(text.contains("kitbag secret set anthropic key"), "{text}");

    // Errors that may have cost money, or that the operator must learn of, end the call.
    let words = json!({ "type": "error", "error": { "type": "x", "message": "not like this" } });
    for (status, expected) in [
        (
            400,
            "PROVIDER_ERROR: `anthropic` answered HTTP 400 Bad Request: not like this",
        ),
        (
            401,
            "CREDENTIAL_REFUSED: `anthropic` answered HTTP 401 Unauthorized: not like this",
        ),
        (
            500,
            "PROVIDER_ERROR: `anthropic` answered HTTP 500 Internal Server Error: not like this",
        ),
    ] {
        world.house.refuses("anthropic", status, words.clone());
        let (text, _) = call_tool(&acme, "ai_invoke", prompt.clone()).await;
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(world.house.take_asked(), ["anthropic"]);
    }

    world.house.refuses("anthropic", 529, words.clone());
    let (text, about) = call_tool(&acme, "ai_invoke", prompt.clone()).await;
    assert_eq!(text, "From gemini.", "{about}");
    assert_eq!(world.house.take_asked(), ["anthropic", "gemini"]);
    world.house.refuses("anthropic", 429, words.clone());
    for asked_providers in [&["anthropic", "gemini"][..], &["gemini"]] {
        let (text, _) = call_tool(&acme, "ai_invoke", prompt.clone()).await;
        assert_eq!(text, "From gemini.");
        assert_eq!(
            world.house.take_asked(),
            asked_providers,
            "until it may be asked again"
        );
    }
    world.house.refuses(
        "gemini",
        200,
        json!({ "candidates": [{ "finishReason": "SAFETY" }] }),
    );
    let (text, about) = call_tool(&acme, "ai_invoke", prompt.clone()).await;
    assert!(
        text.starts_with("NO_TEXT: `m-web` of gemini returned no text; its reason is `SAFETY`"),
        "{text}"
    );
    assert_eq!(about["usage"]["estimated"], true);

    // A tenant's credential, quota and prompt do not affect other tenants' choice of model.
    let rows = world.rows_of_calls(9).await;
    assert_eq!(outcomes(&rows, "anthropic/m-default"), ["tool_error"; 2]);
}

#[tokio::test]
async fn a_call_is_audited_with_its_price_and_a_failing_model_is_tried_last() {
    let world = ModelWorld::with(&[
        ("local", "anthropic", &["key=a-key"]),
        ("local", "gemini", &["key=g-key"]),
    ])
    .await;
    let client = world.client().await;
    client.knows("ai_invoke").await;
    let prompt = json!({ "prompt": "Hi" });
    call_tool(&client, "ai_invoke", prompt.clone()).await;
    world.house.refuses("anthropic", 500, json!({}));
    for _ in 0..9 {
        call_tool(&client, "ai_invoke", prompt.clone()).await;
    }
    let rows = world.rows_of_calls(10).await;
    let model = "anthropic/m-default";
    for (name, outcome, count, cost_usd) in [
        ("ai_invoke", "ok", 1, json!(0.0045)),
        ("ai_invoke", "tool_error", 9, Value::Null),
        (model, "ok", 1, Value::Null),
        (model, "tool_error", 9, Value::Null),
    ] {
        let found = rows
            .iter()
            .filter(|row| row["name"] == name && row["outcome"] == outcome);
        let found: Vec<&Value> = found.collect();
        assert_eq!(found.len(), count, "{name} {outcome}");
        assert!(
            found.iter().all(|row| row["cost_usd"] == cost_usd),
            "{found:?}"
        );
    }

    let output = world.home.kitbag(&["learned", "priors", "run"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    for name in ["ai_invoke", "catalog__ai_invoke"] {
        let output = world
            .home
            .kitbag(&["learned", "priors", "show", name, "--json"])
            .await;
        let shown: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let row = &shown["tools"][0];
        assert_eq!(row["tool_name"], "ai_invoke");
        assert_eq!(
            row["estimated_cost_usd"], 0.0045,
            "only one call had a price"
        );
    }
    let output = world.home.kitbag(&["index", "show", "ai_invoke"]).await;
    assert!(
        output.stdout.contains("\"estimated_cost_usd\": 0.0045"),
        "{output:?}"
    );
    let about = until("the gateway has taken the figures over", async || {
        world.house.take_seen();
        let (text, about) = call_tool(&client, "ai_invoke", prompt.clone()).await;
        (text == "From gemini.").then_some(about)
    })
    .await;
    assert_eq!(world.house.take_asked(), ["gemini"]);
    let why = "no other route matches; the first choice fails more often than it succeeds";
    assert_eq!(about["why"], why);
}
