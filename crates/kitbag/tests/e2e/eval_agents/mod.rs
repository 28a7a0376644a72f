//! `kitbag eval agents`: models that choose tools, well and badly, and the report.
//!
//! # Layout
//! - this file: an eval run; `odd_answers`: odd behaviour of real models and endpoints
//! - `runs`: starting, pacing and narrowing a run
//! - `services`: reaching endpoints; `figures`: statistics over many answers
//! - `surfaces`: models that search before they call, and comparisons; `turns`: conversations on the
//!   search surface
//! - `tasks`: tasks on each surface, judged by their outcome

mod figures;
mod odd_answers;
mod runs;
mod services;
mod surfaces;
mod tasks;
mod turns;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::gateway::Home;
use crate::harness::model::{Model, ModelReply, ModelRequest};
use crate::harness::{Testbed, processes, until};
use kitbag_testkit::home::CommandOutcome;

const KEY: &str = "sk-very-s3cret-key";

/// A home with the testbed, and a suite whose prompts all ask to echo their own id.
fn home(prompts: &[&str]) -> Arc<Home> {
    let home = Home::new(&Testbed::new("bed").table());
    home.export("MODEL_KEY", KEY);
    let prompt = |id: &&str| {
        json!({
            "id": id,
            "input": format!("Echo {id}"),
            "expectedTool": "echo",
            "expectedArgs": { "message": id },
            "paraphrases": [{ "message": format!("{id} ") }],
            "resolves": { "message": id },
        })
    };
    let step = |message: &str, expected: &str| json!({ "tool": "echo", "args": { "message": message }, "expect": { "/message": expected } });
    let suite = json!({
        "version": 1,
        "name": "echoes",
        "prompts": prompts.iter().map(prompt).collect::<Vec<_>>(),
        "scenarios": [
            { "id": "s1", "title": "Two echoes", "maxCalls": 2, "steps": [step("a", "a"), step("b", "b")] },
            { "id": "s2", "title": "An odd echo", "maxCalls": 1, "steps": [step("a", "z")] },
        ],
    });
    fs::write(home.path("suite.json"), suite.to_string()).unwrap();
    home
}

const EVAL: [&str; 6] = ["eval", "agents", "--suite", "suite.json", "--server", "bed"];
const WITH_KEY: [&str; 2] = ["--key-env", "MODEL_KEY"];
const WITH_RETRIES: [&str; 2] = ["--retries", "3"];

async fn run_eval(home: &Home, model: &str, words: &[&str]) -> CommandOutcome {
    home.kitbag(
        &[
            &EVAL[..],
            &WITH_KEY,
            &WITH_RETRIES,
            &["--model", model],
            words,
        ]
        .concat(),
    )
    .await
}

fn report(output: &CommandOutcome) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("no report: {}", output.stderr))
}

/// Count, total and share of a rate.
#[track_caller]
fn share(rate: &Value) -> (u64, u64, f64) {
    let number = |key: &str| rate[key].as_u64().expect(key);
    (
        number("count"),
        number("of"),
        rate["mean"].as_f64().unwrap(),
    )
}

/// The only model's share of right arguments.
fn right_arguments(output: &CommandOutcome) -> f64 {
    share(&report(output)["models"][0]["argument_accuracy"]).2
}

fn call(tool: &str, arguments: Value) -> ModelReply {
    ModelReply::Call(tool.to_owned(), arguments)
}

/// Calls the requested tool.
fn obey(asked: &ModelRequest) -> ModelReply {
    let id = asked
        .prompt
        .strip_prefix("Echo ")
        .unwrap_or_default()
        .to_owned();
    call("echo", json!({ "message": id }))
}

fn by_id(asked: &ModelRequest) -> ModelReply {
    match (asked.prompt.trim_start_matches("Echo "), &asked.error) {
        ("wrong-words", _) => call("echo", json!({ "message": "something else" })),
        ("more-words", _) => call("echo", json!({ "message": "more-words", "loud": true })),
        ("broken", None) => ModelReply::Broken("echo"),
        ("wrong-tool", _) => call("environment", json!({})),
        ("failing", None) => call("test_error_handling", json!({})),
        ("unheard-of", None) => call("sing", json!({})),
        ("unheard-of", Some(error)) if !error.contains("There is no tool `sing`") => {
            ModelReply::Words
        }
        ("talk", _) => ModelReply::Words,
        _ => obey(asked),
    }
}

const ALL: [&str; 8] = [
    "fine",
    "wrong-words",
    "more-words",
    "broken",
    "wrong-tool",
    "failing",
    "unheard-of",
    "talk",
];

#[tokio::test]
async fn the_figures_match_the_answers_in_both_formats() {
    let model = Model::start(by_id).await;
    check_figures(&model, &format!("{}#any", model.url)).await;
    check_figures(&model, &format!("anthropic:{}#any", model.url)).await;
}

/// Eight prompts: one right; two with wrong arguments and one truncated, all at the right tool; three at
/// another tool; one without a call. Three of the calls failed and were retried correctly.
async fn check_figures(model: &Model, endpoint: &str) {
    let home = home(&ALL);
    fs::write(home.path("raw.json"), "[0]".repeat(2_000)).unwrap();
    let before = model.requests().len();
    let words = [
        "--price-in",
        "3",
        "--price-out",
        "15",
        "--baseline",
        "raw.json",
        "--html",
        "exam.html",
        "--json",
    ];
    let output = run_eval(&home, endpoint, &words).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = report(&output);
    let figures = &report["models"][0];
    assert_eq!(figures["model"], endpoint);
    assert_eq!(
        (&figures["asked"], &figures["answered"]),
        (&json!(8), &json!(8))
    );
    let rates =
        ["invocation_accuracy", "argument_accuracy", "retry_rate"].map(|it| share(&figures[it]));
    assert_eq!(
        rates,
        [(4, 8, 4.0 / 8.0), (1, 8, 1.0 / 8.0), (3, 8, 3.0 / 8.0)]
    );
    assert_eq!(figures["recovered"], 3);
    assert_eq!(
        figures["outcomes"],
        json!([
            ["right", 1],
            ["wrong_arguments", 2],
            ["malformed", 1],
            ["failed", 0],
            ["wrong_tool", 2],
            ["unknown_tool", 1],
            ["no_call", 1],
            ["out_of_turns", 0],
        ])
    );
    assert_eq!(model.requests().len() - before, 11);
    assert_eq!(figures["usage"], json!({ "input": 1100, "output": 110 }));
    assert_eq!(
        figures["cost_usd"],
        json!((1100.0 * 3.0 + 110.0 * 15.0) / 1e6)
    );

    let tokens = &figures["tokens"];
    let calls = figures["records"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["calls"].as_array().unwrap());
    let of_calls: u64 = calls.map(|it| it["tokens"].as_u64().unwrap()).sum();
    let (definitions, baseline) = (
        tokens["definitions"].as_u64().unwrap(),
        report["baseline_tokens"].as_u64().unwrap(),
    );
    let per_prompt = definitions as f64 + of_calls as f64 / 8.0;
    assert!(
        (tokens["per_prompt"].as_f64().unwrap() - per_prompt).abs() < 1e-6,
        "{tokens}"
    );
    assert!(
        (tokens["share_of_baseline"].as_f64().unwrap() - per_prompt / baseline as f64).abs() < 1e-9,
        "{tokens}"
    );
    assert_eq!(report["scenarios"][0]["problem"], Value::Null);
    assert_eq!(
        report["scenarios"][1]["problem"],
        "call 1, echo: /message is \"a\", expected \"z\""
    );

    let table = run_eval(&home, endpoint, &[]).await.stdout;
    for part in [
        "right tool",
        "50.0 %",
        "12.5 %",
        "37.5 %",
        "wrong tool",
        "broken",
        "reached",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(
        !table.contains("USD") && !table.contains("raw JSON"),
        "no price and no raw JSON was given: {table}"
    );
}

#[tokio::test]
async fn a_busy_or_failing_model_is_asked_again() {
    let model = Model::start(|asked| match (asked.prompt.as_str(), asked.before) {
        ("Echo limited", 0) => ModelReply::Busy(429, "1".to_owned()),
        ("Echo limited", 1) => ModelReply::Busy(529, "0".to_owned()),
        ("Echo failing", 0) => ModelReply::Status(500),
        _ => obey(asked),
    })
    .await;
    let home = home(&["limited", "failing"]);
    let output = run_eval(
        &home,
        &format!("{}#m", model.url),
        &["--json", "--concurrency", "1"],
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(right_arguments(&output), 1.0);
    let asked = model.requests();
    assert_eq!(asked.len(), 5);
    assert!(
        asked[1].at.duration_since(asked[0].at).as_millis() >= 1_000,
        "Retry-After was not waited for"
    );
}

#[tokio::test]
async fn a_prompt_without_an_answer_counts_for_nothing() {
    let model = Model::start(|asked| match asked.prompt.as_str() {
        "Echo slow" => ModelReply::Nothing,
        "Echo odd" => ModelReply::Nonsense,
        "Echo down" => ModelReply::Status(502),
        _ => obey(asked),
    })
    .await;
    let home = home(&["slow", "odd", "down", "fine"]);
    let words = ["--json", "--timeout", "1", "--retries", "0"];
    let endpoint = format!("{}#m", model.url);
    let output = home
        .kitbag(&[&EVAL[..], &WITH_KEY, &["--model", &endpoint], &words].concat())
        .await;
    assert_eq!(output.code, Some(1));
    let figures = &report(&output)["models"][0];
    assert_eq!(
        (&figures["answered"], share(&figures["argument_accuracy"])),
        (&json!(1), (1, 1, 1.0))
    );
    let missing: Vec<_> = figures["unanswered"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["prompt"].clone())
        .collect();
    assert_eq!(missing.len(), 3, "{missing:?}");
    for part in ["did not answer within 1s", "no answer", "502"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }

    model.set_script(|_| ModelReply::Nothing);
    let output = home
        .kitbag(
            &[
                &EVAL[..],
                &WITH_KEY,
                &["--model", &endpoint, "--limit", "1"],
                &words,
            ]
            .concat(),
        )
        .await;
    let figures = &report(&output)["models"][0];
    for figure in [
        "invocation_accuracy",
        "argument_accuracy",
        "retry_rate",
        "usage",
        "cost_usd",
        "latency_ms",
    ] {
        assert_eq!(figures[figure], Value::Null, "{figure}");
    }
}

#[tokio::test]
async fn a_model_that_rejects_the_key_or_every_request_is_not_asked_again() {
    for (status, told_of) in [
        (401, "rejected the key"),
        (404, "answered 404 Not Found: no, Bearer ***"),
    ] {
        let model = Model::start(move |_| ModelReply::Status(status)).await;
        let prompts: Vec<String> = (0..20).map(|it| format!("p{it}")).collect();
        let home = home(&prompts.iter().map(String::as_str).collect::<Vec<_>>());
        let output = run_eval(&home, &format!("{}#m", model.url), &["--concurrency", "2"]).await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
        assert!(
            output.stderr.contains(told_of) && output.stderr.contains("try: "),
            "{}",
            output.stderr
        );
        assert!(model.requests().len() <= 3, "{}", model.requests().len());
        assert!(!output.stderr.contains(KEY), "{}", output.stderr);
    }
}

#[tokio::test]
async fn a_killed_run_resumes_where_it_was() {
    let done = ["p0", "p1", "p2"];
    let model = Model::start(
        move |asked| match done.iter().any(|id| asked.prompt.ends_with(id)) {
            true => obey(asked),
            false => ModelReply::Nothing,
        },
    )
    .await;
    let home = home(&["p0", "p1", "p2", "p3", "p4", "p5"]);
    let endpoint = format!("{}#m", model.url);
    let words = [
        &EVAL[..],
        &WITH_KEY,
        &WITH_RETRIES,
        &[
            "--model",
            &endpoint,
            "--resume",
            "progress.jsonl",
            "--concurrency",
            "1",
        ],
    ]
    .concat();
    let mut child = home.command(&words).spawn().unwrap();
    until("the fourth prompt is asked", async || {
        (model.requests().len() == 4).then_some(())
    })
    .await;
    processes::kill(child.id());
    child.wait().unwrap();
    let progress = fs::read_to_string(home.path("progress.jsonl")).unwrap();
    assert_eq!(progress.lines().count(), 3, "{progress}");
    fs::write(
        home.path("progress.jsonl"),
        format!("{progress}{{\"model\":\"htt"),
    )
    .unwrap();

    model.set_script(obey);
    let output = home.kitbag(&[&words[..], &["--json"]].concat()).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(report(&output)["models"][0]["answered"], 6);
    assert_eq!(
        model.requests().len(),
        4 + 3,
        "what was answered is not asked again"
    );
    let output = home
        .kitbag(&[&words[..], &["--json", "--runs", "2"]].concat())
        .await;
    assert_eq!(
        (
            report(&output)["models"][0]["answered"].clone(),
            model.requests().len()
        ),
        (json!(12), 7 + 6)
    );

    let suite = fs::read_to_string(home.path("suite.json"))
        .unwrap()
        .replace("Echo p0", "Please echo p0");
    fs::write(home.path("suite.json"), suite).unwrap();
    home.kitbag(&words).await;
    assert_eq!(
        model.requests().len(),
        14,
        "a prompt that has changed is another one"
    );
}

#[tokio::test]
async fn the_key_is_sent_and_appears_nowhere() {
    let model = Model::start(by_id).await;
    let home = home(&["fine", "failing"]);
    let endpoint = format!("anthropic:{}#m", model.url);
    let words = [
        "--resume",
        "progress.jsonl",
        "--html",
        "exam.html",
        "--log",
        "trace",
    ];
    let mut output = vec![
        run_eval(&home, &endpoint, &words).await,
        run_eval(&home, &endpoint, &["--json"]).await,
    ];
    assert!(
        model
            .requests()
            .iter()
            .all(|it| it.headers["x-api-key"] == KEY)
    );
    model.set_script(|_| ModelReply::Status(400));
    output.push(run_eval(&home, &endpoint, &[]).await);
    assert!(output[2].stderr.contains("no, ***"), "{}", output[2].stderr);
    let mut texts: Vec<String> = output
        .into_iter()
        .flat_map(|it| [it.stdout, it.stderr])
        .collect();
    texts.extend(
        ["progress.jsonl", "exam.html"].map(|file| fs::read_to_string(home.path(file)).unwrap()),
    );
    assert!(texts.iter().all(|text| !text.contains(KEY)));

    let model = Model::start(obey).await;
    home.export("OPENAI_API_KEY", KEY);
    let output = home
        .kitbag(&[&EVAL[..], &["--model", &format!("openai:{}#m", model.url)]].concat())
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        model
            .requests()
            .iter()
            .all(|it| !it.headers.contains_key("authorization")),
        "a vendor's key went elsewhere"
    );
}

#[tokio::test]
async fn the_page_needs_nothing_else_and_runs_nothing() {
    let prompt = "<script src=\"https://evil.example/x.js\">alert('1')</script>";
    let model =
        Model::start(|_| call("environment", json!({ "x": "<img src=//evil.example>" }))).await;
    let home = home(&[prompt]);
    let output = run_eval(
        &home,
        &format!("{}#<b>m</b>", model.url),
        &["--html", "exam.html"],
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let page = fs::read_to_string(home.path("exam.html")).unwrap();
    for part in [
        "<svg",
        "Right tool",
        "&lt;script src=&quot;",
        "&lt;b&gt;m&lt;/b&gt;",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for part in [
        "<script", "<img", "<link", "<b>m", "src=\"", "href=", "url(", "@import",
    ] {
        assert!(!page.contains(part), "{part}: {page}");
    }
}
