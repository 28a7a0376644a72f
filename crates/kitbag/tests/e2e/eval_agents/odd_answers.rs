//! Odd behaviour of real models and endpoints.

use serde_json::{Value, json};

use super::{EVAL, WITH_KEY, WITH_RETRIES, call, home, obey, report, run_eval, share};
use crate::harness::model::{Model, ModelReply, ModelRequest};

/// Runs one prompt, `p`, with this answer in OpenAI's format, and returns the only record.
async fn record(answer: impl Fn(&ModelRequest) -> ModelReply + Send + Sync + 'static) -> Value {
    let model = Model::start(answer).await;
    let output = run_eval(&home(&["p"]), &format!("{}#m", model.url), &["--json"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    report(&output)["models"][0]["records"][0].clone()
}

#[track_caller]
fn check(record: &Value, outcome: &str, why: &str) {
    let first = &record["calls"][0];
    assert_eq!(
        (&first["outcome"], first["why"].as_str().unwrap_or_default()),
        (&json!(outcome), why),
        "{record}"
    );
}

fn openai(message: &Value, reason: &str) -> ModelReply {
    ModelReply::Body(
        json!({ "choices": [{ "index": 0, "message": message, "finish_reason": reason }] }),
    )
}

fn openai_calls(calls: &[(&str, Value)], words: &Value) -> ModelReply {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": format!("c{number}"), "type": "function", "function": function })
    };
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    openai(
        &json!({ "role": "assistant", "content": words, "tool_calls": calls }),
        "tool_calls",
    )
}

fn anthropic(content: &Value, reason: &str) -> ModelReply {
    let usage = json!({ "input_tokens": 1, "output_tokens": 1 });
    ModelReply::Body(
        json!({ "role": "assistant", "content": content, "stop_reason": reason, "usage": usage }),
    )
}

fn echo(message: &str) -> (&str, Value) {
    ("echo", json!({ "message": message }).to_string().into())
}

#[tokio::test]
async fn of_several_calls_next_to_text_the_first_counts() {
    let several = |_: &ModelRequest| {
        openai_calls(
            &[echo("p"), echo("q"), ("sing", "{}".into())],
            &json!("Let me see."),
        )
    };
    let output = record(several).await;
    check(&output, "right", "");
    assert_eq!(
        (&output["also"], output.get("words")),
        (&json!(2), None),
        "{output}"
    );
}

#[tokio::test]
async fn after_a_failed_call_every_call_of_the_answer_gets_a_result() {
    let failing = |asked: &ModelRequest| match asked.error {
        None => openai_calls(
            &[("test_error_handling", "{}".into()), echo("p")],
            &Value::Null,
        ),
        Some(_) => {
            let results = asked.body["messages"].as_array().unwrap()[2..].iter();
            let ids: Vec<_> = results
                .map(|it| it["tool_call_id"].as_str().unwrap())
                .collect();
            assert_eq!(ids, ["c0", "c1"]);
            obey(asked)
        }
    };
    let output = record(failing).await;
    assert_eq!(
        (
            &output["calls"][0]["outcome"],
            &output["calls"][1]["outcome"]
        ),
        (&json!("wrong_tool"), &json!("right"))
    );
}

#[tokio::test]
async fn refusals_and_truncated_answers_are_distinguished_from_text() {
    let model = Model::start(|asked| {
        let is_anthropic = asked.uri.path().ends_with("messages");
        match (asked.prompt.as_str(), is_anthropic) {
            ("Echo refused", false) => {
                openai(&json!({ "content": null, "refusal": "I can't." }), "stop")
            }
            ("Echo refused", true) => anthropic(&json!([]), "refusal"),
            ("Echo long", false) => openai(&json!({ "content": "First of all," }), "length"),
            ("Echo long", true) => anthropic(
                &json!([{ "type": "text", "text": "First of all," }]),
                "max_tokens",
            ),
            (_, false) => openai(&json!({ "content": "It says hi." }), "stop"),
            (_, true) => anthropic(
                &json!([{ "type": "text", "text": "It says hi." }]),
                "end_turn",
            ),
        }
    })
    .await;
    for format in ["", "anthropic:"] {
        let home = home(&["refused", "long", "talk"]);
        let output = run_eval(&home, &format!("{format}{}#m", model.url), &["--json"]).await;
        let figures = &report(&output)["models"][0];
        assert_eq!(
            (&figures["refused"], &figures["cut_off"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(share(&figures["invocation_accuracy"]), (0, 3, 0.0));
        let of = |number: usize, key: &str| figures["records"][number][key].clone();
        assert_eq!(
            [of(0, "stop"), of(1, "stop"), of(2, "stop")],
            [json!("refusal"), json!("length"), Value::Null]
        );
        assert_eq!(
            [of(1, "words"), of(2, "words")],
            ["First of all,", "It says hi."]
        );
        assert!(
            output
                .stderr
                .contains("1 answer truncated at the token limit; raise it"),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn a_truncated_call_can_be_made_again() {
    let cut = |asked: &ModelRequest| match &asked.error {
        None => openai(
            &json!({ "tool_calls": [{ "id": "c", "function": { "name": "echo", "arguments": "{\"messa" } }] }),
            "length",
        ),
        Some(error) => {
            assert_eq!(error, "The arguments are not a JSON object: {\"messa");
            // Servers that insert the history into a template reject invalid JSON.
            assert_eq!(
                asked.body["messages"][1]["tool_calls"][0]["function"]["arguments"],
                "{}"
            );
            obey(asked)
        }
    };
    let output = record(cut).await;
    check(&output, "malformed", "");
    assert_eq!(
        (&output["stop"], &output["calls"][1]["outcome"]),
        (&json!("length"), &json!("right"))
    );
}

#[tokio::test]
async fn arguments_come_as_text_as_an_object_with_nulls_and_with_wrong_types() {
    let says = |arguments: Value| {
        move |_: &ModelRequest| openai_calls(&[("echo", arguments.clone())], &Value::Null)
    };
    check(&record(says(json!({ "message": "p" }))).await, "right", "");
    check(
        &record(says(json!({ "message": "p", "loud": null, "tags": [] }))).await,
        "right",
        "",
    );
    check(
        &record(says(json!("{\"message\":[\"p\"]}"))).await,
        "wrong_arguments",
        "`message` of the result is [\"p\"], expected \"p\"",
    );
    check(
        &record(says(json!({}))).await,
        "wrong_arguments",
        "`message` is missing",
    );
}

#[tokio::test]
async fn a_name_with_a_prefix_is_not_a_tool_and_gets_a_suggestion() {
    let output = record(|asked| match &asked.error {
        None => call("functions.echo", json!({ "message": "p" })),
        Some(error) => {
            assert_eq!(
                error,
                "There is no tool `functions.echo`. Did you mean `echo`?"
            );
            obey(asked)
        }
    })
    .await;
    check(&output, "unknown_tool", "");
    assert_eq!(output["calls"][1]["outcome"], "right");
}

#[tokio::test]
async fn without_usage_there_is_no_cost() {
    let model = Model::start(|_| openai_calls(&[echo("p")], &Value::Null)).await;
    let words = ["--json", "--price-in", "3", "--price-out", "15"];
    let output = run_eval(&home(&["p"]), &format!("{}#m", model.url), &words).await;
    let figures = &report(&output)["models"][0];
    assert_eq!(
        (&figures["usage"], &figures["cost_usd"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_retry_time_may_be_a_date() {
    let model = Model::start(|asked| match asked.before {
        0 => {
            let then = jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC)
                + jiff::Span::new().seconds(2);
            ModelReply::Busy(529, then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
        }
        _ => obey(asked),
    })
    .await;
    let output = run_eval(&home(&["p"]), &format!("{}#m", model.url), &["--json"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let asked = model.requests();
    let waited = asked[1].at.duration_since(asked[0].at).as_millis();
    // HTTP dates have whole seconds; without the date, it would have waited just one second.
    assert!((1_001..4_000).contains(&waited), "{waited} ms");
}

#[tokio::test]
async fn an_error_inside_an_answer_is_an_error() {
    let model = Model::start(|asked| match (asked.prompt.as_str(), asked.before) {
        ("Echo busy", 0) => {
            ModelReply::Body(json!({ "error": { "code": 429, "message": "slow down" } }))
        }
        ("Echo broken", _) => ModelReply::Body(
            json!({ "choices": [{ "error": { "code": 422, "message": "the provider is gone" } }] }),
        ),
        _ => obey(asked),
    })
    .await;
    let output = run_eval(
        &home(&["busy", "broken"]),
        &format!("{}#m", model.url),
        &["--json"],
    )
    .await;
    let figures = &report(&output)["models"][0];
    assert_eq!((output.code, &figures["answered"]), (Some(1), &json!(1)));
    let why = figures["unanswered"][0]["why"].as_str().unwrap();
    assert!(
        why.ends_with("answered 422 Unprocessable Entity: the provider is gone"),
        "{why}"
    );
}

#[tokio::test]
async fn a_rejected_prompt_does_not_end_the_run() {
    let model = Model::start(|asked| match (asked.prompt.as_str(), &asked.error) {
        ("Echo filtered", _) | ("Echo failing", Some(_)) => ModelReply::Status(400),
        ("Echo failing", None) => call("test_error_handling", json!({})),
        _ => obey(asked),
    })
    .await;
    let output = run_eval(
        &home(&["filtered", "failing", "fine"]),
        &format!("{}#m", model.url),
        &["--json"],
    )
    .await;
    let figures = &report(&output)["models"][0];
    assert_eq!(
        (output.code, &figures["answered"]),
        (Some(1), &json!(2)),
        "{}",
        output.stderr
    );
    assert_eq!(figures["unanswered"][0]["prompt"], "filtered");
    assert_eq!(share(&figures["retry_rate"]), (0, 2, 0.0));
    assert!(
        output
            .stderr
            .contains("1 error of calls could not be sent to it"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn nothing_is_sent_that_a_model_may_reject_unless_requested() {
    let strict = |asked: &ModelRequest| {
        let body = asked.body.as_object().unwrap();
        let odd = [
            "temperature",
            "max_tokens",
            "tool_choice",
            "parallel_tool_calls",
            "stream",
        ];
        match odd.iter().any(|name| body.contains_key(*name)) {
            true => ModelReply::Status(400),
            false => obey(asked),
        }
    };
    let model = Model::start(strict).await;
    let home = home(&["p"]);
    let endpoint = format!("{}#o1", model.url);
    let words = [
        "--json",
        "--param",
        "max_completion_tokens=2000",
        "--param",
        "reasoning_effort=low",
    ];
    let output = run_eval(
        &home,
        &endpoint,
        &[&words[..], &["--resume", "done.jsonl"]].concat(),
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let wanted = json!({ "max_completion_tokens": 2000, "reasoning_effort": "low" });
    assert_eq!(report(&output)["parameters"], wanted);
    let sent = model.requests()[0].body.clone();
    assert_eq!(
        (&sent["max_completion_tokens"], &sent["reasoning_effort"]),
        (&json!(2000), &json!("low"))
    );

    let output = run_eval(&home, &endpoint, &["--resume", "done.jsonl"]).await;
    assert_eq!(
        (output.code, model.requests().len()),
        (Some(0), 2),
        "another request is another question"
    );

    let model = Model::start(obey).await;
    let words = [
        "--param",
        "tool_choice={\"type\":\"any\"}",
        "--param",
        "max_tokens=100",
    ];
    run_eval(&home, &format!("anthropic:{}#m", model.url), &words).await;
    let sent = model.requests()[0].body.clone();
    assert_eq!(
        (&sent["tool_choice"], &sent["max_tokens"]),
        (&json!({ "type": "any" }), &json!(100))
    );
    let output = home
        .kitbag(
            &[
                &EVAL[..],
                &WITH_KEY,
                &WITH_RETRIES,
                &["--model", "openai:m", "--param", "model=other"],
            ]
            .concat(),
        )
        .await;
    assert!(
        output.stderr.contains("`model` is set by Kitbag"),
        "{}",
        output.stderr
    );
}
