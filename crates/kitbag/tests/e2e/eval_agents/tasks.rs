//! Tasks on every surface: scripts do them through real calls, and the outcome is judged.

use std::fs;
use std::sync::Arc;

use kitbag_testkit::scripted_model::{Character, ScriptedModel};
use serde_json::{Value, json};

use super::{EVAL, call, report};
use crate::harness::Testbed;
use crate::harness::gateway::Home;
use crate::harness::model::{Model, ModelReply};

/// A home with the testbed, which may write from code, and a suite with one task.
fn home() -> Arc<Home> {
    let home = Home::new(&format!(
        "[policy]\ncode_writes = \"allow\"\n{}",
        Testbed::new("bed").table()
    ));
    let big =
        json!({ "tool": "bed__big", "args": { "bytes": 40 }, "intent": "a text of some bytes" });
    let suite = json!({ "tasks": [{
        "id": "t1",
        "input": "Get a text of 40 bytes for {workspace}/a, and tell how long it is.",
        "before": [{ "tool": "echo", "args": { "message": "{workspace}" } }],
        "after": [{ "tool": "echo", "args": { "message": "{workspace}" }, "contains": ["kitbag-eval"] }],
        "called": ["big"],
        "answer": { "contains": ["40 bytes"] },
        "solution": { "calls": [big], "answer": "It is 40 bytes long." },
    }] });
    fs::write(home.path("suite.json"), suite.to_string()).unwrap();
    home
}

/// The tools in the record of the only task, in order.
fn steps(model: &Value) -> Vec<&str> {
    let steps = model["tasks"]["records"][0]["task"]["steps"].as_array();
    let steps = steps.unwrap_or_else(|| panic!("{model}")).iter();
    steps.map(|it| it["tool"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_task_is_done_through_every_surface_as_its_clients_see_it() {
    let home = home();
    let suite = home.path("suite.json");
    let good = ScriptedModel::start(Character::Good, &suite).await;
    let lazy = ScriptedModel::start(Character::Lazy, &suite).await;
    let confused = ScriptedModel::start(Character::Confused, &suite).await;
    let models = [&good, &lazy, &confused].map(ScriptedModel::endpoint);
    let words = [
        "--concurrency",
        "2",
        "--surface",
        "search,adaptive,code,all",
        "--json",
        "--html",
        "exam.html",
        "--resume",
        "done.jsonl",
        "--model",
        &models[0],
        "--model",
        &models[1],
        "--model",
        &models[2],
    ];
    let output = home.kitbag(&[&EVAL[..], &words].concat()).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = report(&output);
    let models = report["models"].as_array().unwrap();
    let made: Vec<Vec<&str>> = models.iter().map(steps).collect();
    let done: Vec<u64> = models
        .iter()
        .map(|it| it["tasks"]["done"]["count"].as_u64().unwrap())
        .collect();
    let search = "search_available_tools";
    assert_eq!(
        made[..4],
        [
            vec![search, "call_api"],
            // Once found, the tool is listed and called by its name.
            vec![search, "bed__big"],
            vec!["run_code", "run_code"],
            vec!["bed__big"],
        ],
        "{output:?}"
    );
    assert_eq!(done[..4], [1, 1, 1, 1], "{output:?}");
    // The lazy script never searches, and passes the request on where only programs can run.
    assert_eq!(made[4], Vec::<&str>::new());
    assert_eq!((done[4], made[7].as_slice()), (0, &["bed__big"][..]));
    let faults = &models[4]["tasks"]["records"][0]["task"]["faults"];
    assert_eq!(faults[0], "big was not called successfully");
    // The confused script gets corrections, and succeeds with more calls.
    let more = |number: usize| made[8 + number].len() > made[number].len();
    assert!((0..4).all(more), "{made:?}");
    let failed = models[11]["tasks"]["failed_calls"].as_f64().unwrap();
    assert!(failed >= 1.0 && done[11] == 1, "{}", models[11]);

    let page = fs::read_to_string(home.path("exam.html")).unwrap();
    for part in [
        "<h2>Tasks</h2>",
        "tokens written",
        "good (adaptive)",
        "✗ not done",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let before = good.requests() + lazy.requests() + confused.requests();
    let table = home
        .kitbag(&[&EVAL[..], &words[..4], &words[7..]].concat())
        .await;
    for part in [
        "READ, WRITTEN",
        "lazy (search)",
        "0 of 1",
        "NOT DONE BECAUSE",
    ] {
        assert!(table.stdout.contains(part), "{part}: {table:?}");
    }
    let after = good.requests() + lazy.requests() + confused.requests();
    assert_eq!(before, after, "what was done before is not asked again");
}

#[tokio::test]
async fn a_list_too_long_for_an_endpoint_is_truncated_and_reported() {
    let home = home();
    let model = Model::start(|asked| match asked.results.is_empty() {
        true => call("bed__big", json!({ "bytes": 40 })),
        false => ModelReply::Words,
    })
    .await;
    let endpoint = format!("{}#m", model.url);
    let words = [
        "--concurrency",
        "1",
        "--max-tools",
        "3",
        "--max-turns",
        "2",
        "--model",
        &endpoint,
    ];
    let priced = ["--price-in", "3", "--price-out", "15"];
    let output = home
        .kitbag(&[&EVAL[..], &words, &priced, &["--json"]].concat())
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output.stderr.contains("it sees the first 3 of"),
        "{output:?}"
    );
    let figures = &report(&output)["models"][0];
    assert_eq!(figures["cut"]["shown"], 3);
    let shown = model.requests()[0].body["tools"].as_array().unwrap().len();
    assert_eq!(shown, 3);
    let tasks = &figures["tasks"];
    assert_eq!(tasks["usage"], json!({ "input": 200, "output": 20 }));
    assert_eq!(tasks["cost_usd"], json!((200.0 * 3.0 + 20.0 * 15.0) / 1e6));
    assert_eq!(
        tasks["records"][0]["task"]["faults"][0],
        "the answer: `40 bytes` is missing from: i would rather talk."
    );
}

#[tokio::test]
async fn a_dry_run_checks_the_solutions_and_reports_a_trivial_task() {
    let home = home();
    let words = ["--concurrency", "1", "--dry-run"];
    let output = home.kitbag(&[&EVAL[..], &words].concat()).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output
            .stdout
            .contains("tasks that their solutions complete  1 of 1"),
        "{output:?}"
    );

    let idle = json!({
        "id": "idle",
        "input": "Do nothing",
        "after": [{ "tool": "echo", "args": { "message": "a" }, "contains": ["a"] }],
    });
    let unready = json!({
        "id": "unready",
        "input": "Do something",
        "before": [{ "tool": "test_error_handling" }],
        "called": ["echo"],
    });
    let suite = json!({ "tasks": [idle, unready] });
    fs::write(home.path("suite.json"), suite.to_string()).unwrap();
    let output = home.kitbag(&[&EVAL[..], &words].concat()).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    for part in [
        "idle: it is done before any call was made",
        "unready: test_error_handling failed",
    ] {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
}
