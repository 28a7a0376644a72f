//! Conversations on the search surface, up to the judged call and beyond.

use serde_json::{Value, json};

use super::surfaces::{SEARCH, call_api, find, only_record, outcomes, search};
use super::{call, home, report, run_eval, share};
use crate::harness::Testbed;
use crate::harness::api::Api;
use crate::harness::model::{Model, ModelReply, ModelRequest};

/// Runs one prompt, `p`, on the search surface, and returns the only record.
async fn record(
    words: &[&str],
    answer: impl Fn(&ModelRequest) -> ModelReply + Send + Sync + 'static,
) -> Value {
    let model = Model::start(answer).await;
    let output = run_eval(
        &home(&["p"]),
        &format!("{}#m", model.url),
        &[&SEARCH[..], words].concat(),
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    only_record(&output)
}

#[tokio::test]
async fn giving_up_and_running_out_of_turns_are_two_outcomes() {
    let model = Model::start(|asked| match (asked.id(), asked.results.len()) {
        ("lost", _) | ("quitter", 0) => search(),
        _ => ModelReply::Words,
    })
    .await;
    let home = home(&["lost", "quitter", "mute"]);
    let endpoint = format!("{}#m", model.url);
    for (words, turns) in [(&[][..], 6), (&["--max-turns", "3"][..], 3)] {
        let before = model.requests().len();
        let output = run_eval(&home, &endpoint, &[&SEARCH[..], words].concat()).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let figures = &report(&output)["models"][0];
        assert_eq!(
            figures["outcomes"].as_array().unwrap()[6..],
            [json!(["no_call", 2]), json!(["out_of_turns", 1])]
        );
        assert_eq!(share(&figures["invocation_accuracy"]), (0, 3, 0.0));
        let of = |number: usize, key: &str| figures["records"][number][key].clone();
        assert_eq!(
            [of(0, "turns"), of(1, "turns"), of(2, "turns")],
            [json!(turns), json!(2), json!(1)]
        );
        assert_eq!(
            [of(0, "stop"), of(1, "stop")],
            [json!("turns"), Value::Null]
        );
        assert_eq!(
            [of(1, "words"), of(2, "words")],
            ["I would rather talk."; 2]
        );
        assert_eq!(model.requests().len() - before, turns + 2 + 1);
        assert!(
            output
                .stderr
                .contains("1 answer out of turns; allow more with --max-turns"),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn after_an_error_a_model_may_search_again_and_call_once_more() {
    let again = |asked: &ModelRequest| match asked.results.len() {
        0 => call_api("bed__test_error_handling", &json!({})),
        1 => search(),
        _ => find(asked),
    };
    let output = record(&[], again).await;
    assert_eq!(
        (outcomes(&output), &output["turns"]),
        (vec!["wrong_tool", "right"], &json!(3))
    );

    let unheard_of = |asked: &ModelRequest| match asked.results.last() {
        None => call_api("bed__sing", &json!({})),
        Some(error) => {
            assert!(error.contains("bed__sing"), "{error}");
            call_api("bed__echo", &json!({ "message": "p" }))
        }
    };
    assert_eq!(
        outcomes(&record(&[], unheard_of).await),
        ["unknown_tool", "right"]
    );

    let hopeless = |_: &ModelRequest| call_api("bed__test_error_handling", &json!({}));
    let output = record(&[], hopeless).await;
    assert_eq!(
        (outcomes(&output).len(), &output["turns"]),
        (2, &json!(2)),
        "the second call ends it"
    );
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_explained_and_not_judged() {
    let output = record(&[], |asked| match asked.results.len() {
        0 => ModelReply::Broken("call_api"),
        1 => call("call_api", json!({ "arguments": { "message": "p" } })),
        _ => call_api("bed__echo", &json!({ "message": "p" })),
    })
    .await;
    assert_eq!(
        (outcomes(&output), &output["turns"]),
        (vec!["right"], &json!(3))
    );
    let failed = |number: usize| &output["looked"][number]["failed"];
    assert_eq!([failed(0), failed(1)], [&json!(true); 2]);
}

#[tokio::test]
async fn of_a_batch_and_of_several_calls_the_first_is_made_and_judged() {
    let echo = |message: &str| json!({ "tool": "bed__echo", "arguments": { "message": message } });
    let batch = json!({ "calls": [echo("p"), echo("q"), { "tool": "bed__environment" }] });
    let output = record(&[], move |_| call("batch_execute", batch.clone())).await;
    assert_eq!(
        (outcomes(&output), &output["also"]),
        (vec!["right"], &json!(2))
    );

    let output = record(&[], |_| {
        let call = |id: &str, name: &str, arguments: Value| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            json!({ "id": id, "type": "function", "function": function })
        };
        let calls = [
            call("a", "search_available_tools", json!({ "query": "echo" })),
            call("b", "discover_apis", json!({ "tool": "bed__echo" })),
            call(
                "c",
                "call_api",
                json!({ "tool": "bed__echo", "arguments": { "message": "p" } }),
            ),
            call("d", "call_api", json!({ "tool": "bed__environment" })),
        ];
        ModelReply::Body(
            json!({ "choices": [{ "message": { "role": "assistant", "tool_calls": calls } }] }),
        )
    })
    .await;
    assert_eq!(
        (outcomes(&output), &output["also"]),
        (vec!["right"], &json!(1))
    );
    assert_eq!(output["looked"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_result_too_long_for_a_context_is_judged_as_a_whole() {
    let long = "word ".repeat(2_000);
    let model =
        Model::start(|asked| call_api("bed__echo", &json!({ "message": asked.id() }))).await;
    let home = home(&[long.trim()]);
    home.configure(&format!(
        "[surfaces]\nresult_tokens = 200\n{}",
        Testbed::new("bed").table()
    ));
    let output = run_eval(&home, &format!("{}#m", model.url), &SEARCH).await;
    let record = only_record(&output);
    assert_eq!(outcomes(&record), ["right"], "{}", output.stderr);
    // The call itself has two thousand tokens; the result would have had as many again.
    let tokens = record["calls"][0]["tokens"].as_u64().unwrap();
    assert!(
        tokens < 2_500,
        "{tokens} tokens, though the result was to be cut"
    );
}

#[tokio::test]
async fn a_request_to_a_provider_is_not_a_right_call_and_is_not_made() {
    let api = Api::start().await;
    let model = Model::start(|_| {
        call(
            "call_api",
            json!({ "provider": "items", "method": "GET", "path": "/items" }),
        )
    })
    .await;
    let home = home(&["p"]);
    home.configure(
        &[
            Testbed::new("bed").table(),
            api.table("items", "allow_private = true"),
        ]
        .concat(),
    );
    let endpoint = format!("{}#m", model.url);
    let words = [
        "eval",
        "agents",
        "--suite",
        "suite.json",
        "--all",
        "--model",
        &endpoint,
    ];
    let output = home.kitbag(&[&words[..], &SEARCH].concat()).await;
    let record = only_record(&output);
    assert_eq!(
        (outcomes(&record), model.requests().len()),
        (vec!["wrong_tool"], 1),
        "{}",
        output.stderr
    );
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}
