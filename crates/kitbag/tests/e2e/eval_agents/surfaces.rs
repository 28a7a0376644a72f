//! Models on the search surface: what they see, what is counted and stored, and how they compare with
//! themselves on the surface `all`.

use std::fs;

use serde_json::{Value, json};

use super::{KEY, call, home, obey, report, run_eval, share};
use crate::harness::client::Era;
use crate::harness::model::{Model, ModelReply, ModelRequest};
use crate::harness::{Testbed, until};
use kitbag_testkit::home::CommandOutcome;

pub(super) const SEARCH: [&str; 3] = ["--surface", "search", "--json"];

impl ModelRequest {
    pub(super) fn id(&self) -> &str {
        self.prompt.trim_start_matches("Echo ")
    }

    fn is_shown(&self, tool: &str) -> bool {
        self.body["tools"]
            .to_string()
            .contains(&format!("\"{tool}\""))
    }
}

pub(super) fn search() -> ModelReply {
    call(
        "search_available_tools",
        json!({ "query": "echo a message" }),
    )
}

pub(super) fn call_api(tool: &str, arguments: &Value) -> ModelReply {
    call("call_api", json!({ "tool": tool, "arguments": arguments }))
}

/// Searches and calls what it finds; on the surface `all` it calls at once.
pub(super) fn find(asked: &ModelRequest) -> ModelReply {
    if asked.is_shown("echo") {
        return obey(asked);
    }
    match asked.results.last() {
        None => search(),
        Some(found) if found.contains("bed__echo") => {
            call_api("bed__echo", &json!({ "message": asked.id() }))
        }
        Some(_) => ModelReply::Words,
    }
}

pub(super) fn only_record(output: &CommandOutcome) -> Value {
    report(output)["models"][0]["records"][0].clone()
}

pub(super) fn outcomes(record: &Value) -> Vec<&str> {
    let calls = record["calls"].as_array().unwrap().iter();
    calls.map(|it| it["outcome"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_model_that_searches_and_then_calls_is_judged_by_the_call_in_both_formats() {
    for format in ["", "anthropic:"] {
        let model = Model::start(find).await;
        let home = home(&["one", "two"]);
        let endpoint = format!("{format}{}#m", model.url);
        let words = [
            &SEARCH[..],
            &[
                "--price-in",
                "3",
                "--price-out",
                "15",
                "--html",
                "exam.html",
            ],
        ]
        .concat();
        let output = run_eval(&home, &endpoint, &words).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let report = report(&output);
        assert_eq!(
            report["surfaces"],
            json!([{ "surface": "search", "tools": 4, "max_turns": 6 }])
        );
        let figures = &report["models"][0];
        assert_eq!(share(&figures["argument_accuracy"]), (2, 2, 1.0));
        assert_eq!(
            (&figures["surface"], &figures["short"]),
            (&json!("search"), &json!("m (search)"))
        );
        assert_eq!(
            (&figures["turns"], model.requests().len()),
            (&json!(2.0), 4)
        );
        assert_eq!(figures["usage"], json!({ "input": 400, "output": 40 }));
        assert_eq!(
            figures["cost_usd"],
            json!((400.0 * 3.0 + 40.0 * 15.0) / 1e6)
        );

        let record = &figures["records"][0];
        assert_eq!(
            (&record["turns"], outcomes(record)),
            (&json!(2), vec!["right"])
        );
        let (looked, made) = (&record["looked"][0], &record["calls"][0]);
        assert_eq!(looked["tool"], "search_available_tools");
        assert_eq!(
            (&made["tool"], &made["arguments"]),
            (&json!("echo"), &json!({ "message": "one" }))
        );
        check_tokens(figures);

        let page = fs::read_to_string(home.path("exam.html")).unwrap();
        for part in [
            "m (search)",
            "at most 6 turns for a prompt",
            "searched: <code>search_available_tools",
            "2 turns",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let table = run_eval(&home, &endpoint, &SEARCH[..2]).await.stdout;
        for part in [
            "m (search)",
            "turns a prompt",
            "Models were shown 4 tools with which to find and call",
        ] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }
}

/// The context contains everything once; the second request of a prompt repeats the definitions and the
/// search results.
#[track_caller]
fn check_tokens(figures: &Value) {
    let tokens = &figures["tokens"];
    let definitions = tokens["definitions"].as_f64().unwrap();
    let of = |key: &str| -> f64 {
        let records = figures["records"].as_array().unwrap().iter();
        records
            .map(|it| it[key][0]["tokens"].as_f64().unwrap())
            .sum::<f64>()
            / 2.0
    };
    let close = |key: &str, expected: f64| {
        assert!(
            (tokens[key].as_f64().unwrap() - expected).abs() < 1e-6,
            "{key} is not {expected}: {tokens}"
        );
    };
    close("per_prompt", definitions + of("looked") + of("calls"));
    close("sent_per_prompt", 2.0 * definitions + of("looked"));
}

#[tokio::test]
async fn a_model_sees_the_tools_and_results_of_a_real_gateway() {
    let model = Model::start(find).await;
    let home = home(&["p"]);
    run_eval(&home, &format!("anthropic:{}#m", model.url), &SEARCH).await;
    let gateway = home.serve().await;
    let client = gateway
        .client_at("/mcp/search", Era::Modern)
        .connect()
        .await;
    let listed = client.list("tools/list", "tools").await;
    let shown = model.requests()[0].body["tools"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(listed.len(), shown.len());
    for (listed, shown) in listed.iter().zip(&shown) {
        assert_eq!(
            [&listed["name"], &listed["description"]],
            [&shown["name"], &shown["description"]]
        );
        assert_eq!(listed["inputSchema"], shown["input_schema"]);
    }
    // A gateway that has just started may not have all its vectors yet.
    let output = json!(model.requests()[1].results[0]);
    until("the gateway finds the same", async || {
        let found = client
            .call(
                "search_available_tools",
                &json!({ "query": "echo a message" }),
            )
            .await;
        (found.result()["content"][0]["text"] == output).then_some(())
    })
    .await;
}

#[tokio::test]
async fn answers_on_one_surface_do_not_count_for_another() {
    let model = Model::start(find).await;
    let home = home(&["one", "two"]);
    let endpoint = format!("{}#m", model.url);
    let asks = async |surfaces: &[&str]| {
        let before = model.requests().len();
        let words = [&["--resume", "done.jsonl", "--json"], surfaces].concat();
        let output = run_eval(&home, &endpoint, &words).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let models = report(&output)["models"].as_array().unwrap().clone();
        assert!(
            models
                .iter()
                .all(|it| share(&it["argument_accuracy"]) == (2, 2, 1.0)),
            "{models:?}"
        );
        model.requests().len() - before
    };
    assert_eq!(asks(&["--surface", "search"]).await, 4);
    assert_eq!(asks(&["--surface", "search"]).await, 0);
    assert_eq!(asks(&["--surface", "all"]).await, 2);
    assert_eq!(asks(&["--surface", "all,search"]).await, 0);
    assert_eq!(
        asks(&["--surface", "search", "--max-turns", "4"]).await,
        4,
        "another limit, another question"
    );
}

#[tokio::test]
async fn surfaces_are_compared_prompt_by_prompt_and_model_by_model() {
    // `good` finds everything; `poor` gives up on the search surface, except for `a`.
    let model = Model::start(|asked| {
        let gives_up =
            asked.body["model"] == "poor" && !asked.is_shown("echo") && asked.id() != "a";
        if gives_up {
            ModelReply::Words
        } else {
            find(asked)
        }
    })
    .await;
    let home = home(&["a", "b", "c", "d"]);
    let [good, poor] = ["good", "poor"].map(|name| format!("{}#{name}", model.url));
    let words = ["--model", &poor, "--surface", "all", "--surface", "search"];
    let output = run_eval(
        &home,
        &good,
        &[&words[..], &["--json", "--html", "exam.html"]].concat(),
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = report(&output);
    let names: Vec<_> = report["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["short"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["good (all)", "good (search)", "poor (all)", "poor (search)"]
    );
    let compared = |it: &Value| {
        let side = |key: &str| {
            let model = it[key]
                .as_str()
                .unwrap()
                .rsplit('#')
                .next()
                .unwrap()
                .to_owned();
            format!("{model} {}", it[format!("{key}_surface")].as_str().unwrap())
        };
        let better = it["first_better"].as_array().unwrap().len();
        (
            side("first"),
            side("second"),
            better,
            it["chance"].as_f64().map(|it| (it * 100.0).round()),
        )
    };
    let comparisons: Vec<_> = report["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .map(compared)
        .collect();
    let expected = |first: &str, second: &str, better: usize, chance: Option<f64>| {
        (first.to_owned(), second.to_owned(), better, chance)
    };
    assert_eq!(
        comparisons,
        [
            expected("good all", "poor all", 0, None),
            expected("good search", "poor search", 3, Some(25.0)),
            expected("good all", "good search", 0, None),
            expected("poor all", "poor search", 3, Some(25.0)),
        ]
    );
    let page = fs::read_to_string(home.path("exam.html")).unwrap();
    for part in [
        "<h3>poor (all) and poor (search)</h3>",
        "Compared on the same prompts",
        "Answers differ (3)",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let table = run_eval(&home, &good, &words).await.stdout;
    assert!(
        table.contains("poor (all) more often") && table.contains("b, c, d"),
        "{table}"
    );
}

#[tokio::test]
async fn searches_of_an_eval_do_not_count_as_use_and_leave_the_index_of_other_runs_alone() {
    let model = Model::start(find).await;
    let home = home(&["p"]);
    home.configure(
        &["bed", "other"]
            .map(|name| Testbed::new(name).table())
            .concat(),
    );
    home.kitbag(&["index", "build"]).await;
    let entry = home
        .kitbag(&["index", "show", "other__echo", "--json"])
        .await;
    assert_eq!(entry.code, Some(0), "{}", entry.stderr);
    let output = run_eval(&home, &format!("{}#m", model.url), &SEARCH).await;
    assert_eq!(outcomes(&only_record(&output)), ["right"]);
    assert!(
        !model.requests()[1].results[0].contains("other__"),
        "only the server of the exam is searched"
    );

    let after = home
        .kitbag(&["index", "show", "other__echo", "--json"])
        .await;
    assert_eq!(after.stdout, entry.stdout);
    let store = kitbag_store::Store::open(home.store_address())
        .await
        .unwrap();
    let since = kitbag_domain::Timestamp(0);
    let span = kitbag_store::AuditSpan::starting_at(since);
    assert!(store.tool_statistics(&span).await.unwrap().is_empty());
    let everything = kitbag_store::AuditQuery::newest(1000);
    let rows = store.read_audit(&everything).await.unwrap();
    let searches = rows.iter().filter_map(|row| match &row.content {
        kitbag_store::AuditRowContent::Inquiry { purpose, .. } => Some(*purpose),
        _ => None,
    });
    let searches: Vec<_> = searches.collect();
    assert!(!searches.is_empty(), "{rows:?}");
    assert!(
        searches
            .iter()
            .all(|it| *it == kitbag_domain::Purpose::Measurement)
    );
    let all = kitbag_store::LessonFilter::default();
    assert_eq!(store.count_lessons(&all).await.unwrap(), 0);
}

#[tokio::test]
async fn inapplicable_surfaces_are_rejected_and_a_dry_run_shows_what_a_search_would_send() {
    let home = home(&["p0", "p1"]);
    let model = "http://127.0.0.1:1/v1#m";
    let fails = async |words: &[&str], part: &str| {
        let output = run_eval(&home, model, words).await;
        assert!(
            output.code != Some(0) && output.stderr.contains(part),
            "{part}: {}",
            output.stderr
        );
        assert!(!output.stderr.contains(KEY));
    };
    fails(
        &["--surface", "everything"],
        "known: all (every tool), search",
    )
    .await;
    fails(
        &["--surface", "adaptive"],
        "the suite has only prompts, whose first call cannot be judged on surface adaptive",
    )
    .await;
    fails(&["--surface", "all,all"], "surface all is given twice").await;
    fails(
        &["--max-turns", "3"],
        "--max-turns applies only to --surface search",
    )
    .await;
    fails(
        &["--surface", "search", "--max-turns", "0"],
        "0 is not in 1..",
    )
    .await;

    let output = run_eval(
        &home,
        model,
        &[
            "--dry-run",
            "--surface",
            "all,search",
            "--max-turns",
            "5",
            "--json",
        ],
    )
    .await;
    let planned = report(&output)["models"].clone();
    let of = |number: usize| {
        ["surface", "requests", "most_requests"].map(|key| planned[number][key].clone())
    };
    assert_eq!(of(0), [json!("all"), json!(2), json!(4)]);
    assert_eq!(of(1), [json!("search"), json!(2), json!(10)]);
    let tokens = |number: usize| planned[number]["definition_tokens"].as_u64().unwrap();
    assert!(tokens(1) < tokens(0), "{planned}");
    let table = run_eval(
        &home,
        model,
        &["--dry-run", "--surface", "search", "--max-turns", "5"],
    )
    .await
    .stdout;
    assert!(
        table.contains("search: requests") && table.contains("2 to 10"),
        "{table}"
    );
}
