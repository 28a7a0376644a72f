//! Tests the choice of a model and parsing its answer, against the data in the binary.

use std::path::Path;

use jiff::civil::{Date, date};
use kitbag_domain::Remedy as _;
use kitbag_tool_files::DatedData;
use serde_json::{Value, json};

use super::*;

const SPRING: Date = date(2026, 6, 1);
const WINTER: Date = date(2026, 12, 1);

/// A day, the tokens of the prompt, and the records of models.
struct World {
    data: DatedData,
    day: Date,
    prompt_tokens: u64,
    record: RecordFunction,
}

type RecordFunction = fn(&str, &str) -> ModelRecord;

impl World {
    fn on(day: Date) -> Self {
        Self {
            data: DatedData::built_in(),
            day,
            prompt_tokens: 1000,
            record: |_, _| ModelRecord::default(),
        }
    }

    fn with_rows(mut self, rows: &str) -> Self {
        let (data, mistakes) = self.data.with_file(Path::new("own.toml"), rows);
        assert_eq!(mistakes, []);
        self.data = data;
        self
    }

    fn candidates(
        &self,
        tool: ModelTool,
        mut arguments: Value,
    ) -> Result<Vec<ModelCandidate>, PromptError> {
        arguments["prompt"] = json!("Which rivers?");
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        let request = PromptRequest::from_arguments(tool, arguments)?;
        let known = ModelKnowledge {
            day: self.data.at(self.day),
            prompt_tokens: self.prompt_tokens,
            record: &self.record,
        };
        choose_candidates(&request, &known)
    }

    /// Returns the models in order, or the error with its remedy.
    fn list_models(&self, tool: ModelTool, arguments: Value) -> String {
        match self.candidates(tool, arguments) {
            Ok(found) => {
                let names: Vec<_> = found
                    .iter()
                    .map(|it| format!("{} {}", it.provider, it.model))
                    .collect();
                names.join(", ")
            }
            Err(error) => format!(
                "{}: {error} => {}",
                error.code(),
                error.remedy().unwrap_or_default()
            ),
        }
    }

    #[track_caller]
    fn check(&self, tool: ModelTool, cases: &[(Value, &str)]) {
        for (arguments, expected) in cases {
            assert_eq!(
                self.list_models(tool, arguments.clone()),
                *expected,
                "{arguments}"
            );
        }
    }
}

#[test]
fn the_routing_tables_of_both_dates_select_the_documented_models() {
    World::on(SPRING).check(
        ModelTool::AiInvoke,
        &[
            (json!({ "needs_web": true, "quality": "premium" }), "gemini gemini-2.5-flash"),
            (json!({ "intent": "search" }), "gemini gemini-2.5-flash"),
            (
                json!({ "context_tokens": 180_001 }),
                "gemini gemini-2.5-pro, anthropic claude-sonnet-4-6",
            ),
            (
                json!({ "intent": "doc" }),
                "gemini gemini-2.5-pro, anthropic claude-sonnet-4-6",
            ),
            (
                json!({ "quality": "economy" }),
                "deepseek deepseek-v4-flash, workers_ai @cf/qwen/qwen3-30b-a3b-fp8, groq openai/gpt-oss-120b",
            ),
            (
                json!({ "intent": "bulk", "quality": "premium" }),
                "deepseek deepseek-v4-flash, workers_ai @cf/qwen/qwen3-30b-a3b-fp8, groq openai/gpt-oss-120b",
            ),
            (
                json!({ "quality": "premium" }),
                "anthropic claude-opus-4-7, gemini gemini-2.5-pro",
            ),
            (
                json!({ "quality": "standard", "intent": "chat" }),
                "anthropic claude-sonnet-4-6, gemini gemini-2.5-pro",
            ),
            (
                json!({ "context_tokens": 180_000 }),
                "anthropic claude-sonnet-4-6, gemini gemini-2.5-pro",
            ),
        ],
    );
    World::on(WINTER).check(
        ModelTool::AiInvoke,
        &[
            (json!({ "needs_web": true }), "gemini gemini-3.8-flash"),
            (
                json!({ "intent": "doc" }),
                "gemini gemini-4-argon, anthropic claude-sonnet-5-5",
            ),
            (
                json!({ "quality": "economy" }),
                "deepseek deepseek-flash, workers_ai @cf/qwen/qwen3-30b-a3b-fp8, groq openai/gpt-oss-120b",
            ),
            (
                json!({ "quality": "premium" }),
                "anthropic claude-opus-5-5, gemini gemini-4-argon",
            ),
            (json!({}), "anthropic claude-sonnet-5-5, gemini gemini-4-argon"),
        ],
    );
}

#[test]
fn a_long_prompt_takes_the_long_route_even_if_its_caller_did_not_count() {
    let world = World {
        prompt_tokens: 200_000,
        ..World::on(WINTER)
    };
    let found = world.candidates(ModelTool::AiInvoke, json!({})).unwrap();
    assert_eq!(found[0].chosen_by, ChosenBy::Route("long".to_owned()));
    assert_eq!(found[0].why, "the prompt has more than 180000 tokens");
    // A model is not asked to accept more than its limit.
    world.check(
        ModelTool::AiInvoke,
        &[(
            json!({ "quality": "economy", "context_tokens": 5 }),
            "deepseek deepseek-flash",
        )],
    );
}

#[test]
fn tiers_providers_and_old_names_select_the_current_model() {
    World::on(SPRING).check(
        ModelTool::LlmInvoke,
        &[
            (json!({}), "workers_ai @cf/qwen/qwen3-30b-a3b-fp8"),
            (json!({ "tier": "standard" }), "deepseek deepseek-v4-flash"),
            (
                json!({ "provider": "deepseek" }),
                "deepseek deepseek-v4-flash",
            ),
            (json!({ "provider": "groq" }), "groq openai/gpt-oss-20b"),
            (
                json!({ "provider": "deepseek", "model": "deepseek-reasoner" }),
                "deepseek deepseek-v4-pro",
            ),
            (
                json!({ "model": "deepseek-chat" }),
                "deepseek deepseek-v4-flash",
            ),
            (
                json!({ "tier": "bulk", "provider": "gemini", "model": "gemini-2.5-pro" }),
                "gemini gemini-2.5-pro",
            ),
            (
                json!({ "provider": "openrouter", "model": "vendor/any" }),
                "openrouter vendor/any",
            ),
        ],
    );
    World::on(WINTER).check(
        ModelTool::LlmInvoke,
        &[
            (json!({ "tier": "standard" }), "deepseek deepseek-flash"),
            (
                json!({ "model": "deepseek-reasoner" }),
                "deepseek deepseek-v4-pro",
            ),
            (
                json!({ "model": "deepseek-chat" }),
                "deepseek deepseek-v4-flash",
            ),
            (json!({ "provider": "deepseek" }), "deepseek deepseek-flash"),
            (
                json!({ "tier": "frontier", "provider": "groq", "model": "newer-than-us" }),
                "groq newer-than-us",
            ),
        ],
    );
}

#[test]
fn an_unknown_or_retired_model_is_rejected_with_existing_names() {
    let world = World::on(date(2027, 6, 1));
    world.check(
        ModelTool::LlmInvoke,
        &[
            (
                json!({ "tier": "frontier", "provider": "gemini", "model": "gemini-3.1-flash-lite" }),
                "NO_SUCH_MODEL: the model `gemini-3.1-flash-lite` of gemini was retired on 2027-05-07 => did you mean \
                 `gemini-3.8-flash`?; known today: gemini-2.5-flash, gemini-2.5-pro, gemini-3.8-flash, gemini-4-argon",
            ),
            (
                json!({ "provider": "cerebras", "model": "gpt-oss-12b" }),
                "NO_SUCH_MODEL: cerebras has no known model `gpt-oss-12b` => did you mean `gpt-oss-120b`?; known today: \
                 gemma-4-31b, gpt-oss-120b, qwen-3.8-27b; for a newer one, use the tier `frontier` with `provider` and `model`",
            ),
            (
                json!({ "tier": "frontier", "provider": "groq" }),
                "ARGUMENTS_INVALID: the tier `frontier` needs `provider` and `model` => set both, or omit the tier to \
                 use an inexpensive model",
            ),
            (
                json!({ "provider": "openrouter" }),
                "ARGUMENTS_INVALID: `model` is missing, and no model of openrouter is known => name the model as openrouter \
                 spells it",
            ),
        ],
    );
    let long = World {
        prompt_tokens: 40_000,
        ..world
    };
    long.check(
        ModelTool::LlmInvoke,
        &[(
            json!({}),
            "PROMPT_TOO_LONG: the prompt has about 40000 tokens, but `@cf/qwen/qwen3-30b-a3b-fp8` of workers_ai accepts \
             32768 => shorten the prompt, or choose a model that accepts more",
        )],
    );
}

const OWN_ROUTES: &str = r#"
[[route]]
name = "economy"
order = 30
provider = "groq"
model = "openai/gpt-oss-120b"
qualities = ["economy"]
valid_from = 2026-01-01
source = "us"

[[route]]
name = "economy-too"
order = 30
provider = "cerebras"
model = "gpt-oss-120b"
qualities = ["economy"]
valid_from = 2026-01-01
source = "us"

[[model]]
provider = "cerebras"
id = "gpt-oss-120b"
usd_per_million_input_tokens = 0.14
usd_per_million_output_tokens = 0.6
valid_from = 2026-01-01
source = "us"
"#;

#[test]
fn the_cheapest_of_several_first_choices_is_asked() {
    let economy = json!({ "quality": "economy" });
    let mut world = World::on(WINTER).with_rows(OWN_ROUTES);
    let order =
        "cerebras gpt-oss-120b, groq openai/gpt-oss-120b, workers_ai @cf/qwen/qwen3-30b-a3b-fp8";
    assert_eq!(
        world.list_models(ModelTool::AiInvoke, economy.clone()),
        order
    );
    // A little cheaper, and much less reliable.
    world.record = |provider, _| ModelRecord {
        success_rate: (provider == "cerebras").then_some(0.6),
        tokens_per_answer: None,
    };
    let order =
        "groq openai/gpt-oss-120b, cerebras gpt-oss-120b, workers_ai @cf/qwen/qwen3-30b-a3b-fp8";
    assert_eq!(world.list_models(ModelTool::AiInvoke, economy), order);
}

#[test]
fn the_first_choice_is_asked_first_unless_it_fails_more_often_than_it_succeeds() {
    const FAILING: &str =
        "no other route matches; the first choice fails more often than it succeeds";
    let mut world = World::on(WINTER);
    let cases: [(RecordFunction, &str, &str); 2] = [
        (
            |provider, _| record_with_rate(provider, 0.55),
            "anthropic",
            "no other route matches",
        ),
        (
            |provider, _| record_with_rate(provider, 0.4),
            "gemini",
            FAILING,
        ),
    ];
    for (record, first, why) in cases {
        world.record = record;
        let found = world.candidates(ModelTool::AiInvoke, json!({})).unwrap();
        assert_eq!(
            (found[0].provider.as_str(), found[0].why.as_str()),
            (first, why)
        );
    }
}

/// Gives Anthropic's models this success rate.
fn record_with_rate(provider: &str, rate: f64) -> ModelRecord {
    ModelRecord {
        success_rate: (provider == "anthropic").then_some(rate),
        tokens_per_answer: None,
    }
}

#[test]
fn the_arguments_of_a_provider_keep_to_the_limit_of_its_model() {
    let world = World::on(WINTER);
    let found = world.candidates(ModelTool::LlmInvoke, json!({ "provider": "groq" }));
    let candidate = &found.unwrap()[0];
    let prompt = ModelPrompt {
        prompt: "Which rivers?".to_owned(),
        system: None,
        max_tokens: Some(1_000_000),
        temperature: Some(1.into()),
    };
    let expected = json!({
        "model": "openai/gpt-oss-20b", "prompt": "Which rivers?", "max_tokens": 65_536, "temperature": 1,
    });
    assert_eq!(Value::Object(candidate.arguments(&prompt)), expected);
}

#[test]
fn answers_of_all_shapes_are_read_with_their_price() {
    let (openai, anthropic, gemini) = (
        json!({
            "choices": [{ "message": { "content": "Rhine" }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1000, "completion_tokens": 100 },
        }),
        json!({
            "content": [{ "type": "thinking", "thinking": "…" }, { "type": "text", "text": "Rhine" }],
            "stop_reason": "max_tokens",
            "usage": { "input_tokens": 1000, "output_tokens": 100 },
        }),
        json!({
            "candidates": [{ "content": { "parts": [{ "text": "Rh" }, { "text": "ine" }] }, "finishReason": "STOP" }],
            "usageMetadata": { "promptTokenCount": 1000, "candidatesTokenCount": 60, "thoughtsTokenCount": 40 },
        }),
    );
    for (arguments, answer, cost_usd, finish_reason) in [
        (
            json!({ "tier": "standard" }),
            &openai,
            json!(0.00042),
            "stop",
        ),
        (
            json!({ "provider": "anthropic", "model": "claude-sonnet-5-5" }),
            &anthropic,
            json!(0.003),
            "max_tokens",
        ),
        (
            json!({ "provider": "gemini", "model": "gemini-4-argon" }),
            &gemini,
            json!(0.003),
            "STOP",
        ),
        (
            json!({ "tier": "frontier", "provider": "groq", "model": "new" }),
            &openai,
            json!(null),
            "stop",
        ),
    ] {
        let about = describe_answer(&arguments, answer);
        let usage = json!({ "input_tokens": 1000, "output_tokens": 100 });
        assert_eq!(about["usage"], usage, "{arguments}");
        assert_eq!(about["cost_usd"], cost_usd, "{arguments}");
        assert_eq!(about["finish_reason"], finish_reason, "{arguments}");
    }
    // A provider that does not count is counted by estimate.
    let uncounted = json!({ "choices": [{ "message": { "content": "Rhine" } }] });
    let about = describe_answer(&json!({}), &uncounted);
    let usage = json!({ "input_tokens": 7, "output_tokens": 5, "estimated": true });
    assert_eq!(about["usage"], usage);
}

/// Returns everything reported about an answer except its text.
fn describe_answer(arguments: &Value, answer: &Value) -> Value {
    let world = World::on(WINTER);
    let found = world.candidates(ModelTool::LlmInvoke, arguments.clone());
    let candidate = &found.unwrap()[0];
    let day = world.data.at(world.day);
    let places = day.provider(&candidate.provider).unwrap();
    let read = PromptAnswer::from_response(candidate, places, answer, 7, str::len);
    assert_eq!(read.text.as_deref(), Some("Rhine"));
    read.to_metadata(candidate, &[])
}

#[test]
fn a_tool_may_ask_the_providers_in_its_file() {
    let catalog = kitbag_tool_files::CatalogDirectories::read(Vec::new());
    let tools = catalog.current().tools().to_vec();
    let of = |id: &str| {
        let tool = tools.iter().find(|it| it.id.as_str() == id).unwrap();
        assert!(ModelTool::from_id(&tool.id).is_some());
        tool_providers(tool).len()
    };
    assert_eq!((of("llm-invoke"), of("ai-invoke")), (6, 7));
}
