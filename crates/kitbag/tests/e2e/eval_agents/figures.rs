//! Statistics over many answers: confidence, by tool, and differences between models.

use std::fs;

use serde_json::{Value, json};

use super::{EVAL, call, home, obey, report, share};
use crate::harness::gateway::Home;
use crate::harness::model::{Model, ModelRequest};
use kitbag_testkit::home::CommandOutcome;

/// Two models at one address: `good` is always right, `poor` only by luck.
async fn run_eval(home: &Home, words: &[&str]) -> CommandOutcome {
    let poor = |asked: &ModelRequest| match asked.prompt.trim_start_matches("Echo ") {
        "a" | "b" => obey(asked),
        // Right only the first time.
        "c" if asked.before_of_the_model() == 0 => obey(asked),
        _ => call("environment", json!({})),
    };
    let model = Model::start(move |asked| {
        if asked.body["model"] == "good" {
            obey(asked)
        } else {
            poor(asked)
        }
    })
    .await;
    let [good, poor] = ["good", "poor"].map(|name| format!("{}#{name}", model.url));
    home.kitbag(
        &[
            &EVAL[..],
            &[
                "--runs",
                "2",
                "--concurrency",
                "1",
                "--model",
                &good,
                "--model",
                &poor,
            ],
            words,
        ]
        .concat(),
    )
    .await
}

impl ModelRequest {
    /// The number of earlier requests of the current model: `good` gets all prompts before `poor`.
    fn before_of_the_model(&self) -> usize {
        self.before - 2
    }
}

/// A home whose first two prompts have a different category.
fn home_with_categories() -> std::sync::Arc<Home> {
    let home = home(&["a", "b", "c", "d", "e"]);
    let path = home.path("suite.json");
    let mut suite: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    for (number, prompt) in suite["prompts"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        prompt["category"] = if number < 2 { "easy" } else { "hard" }.into();
    }
    fs::write(path, suite.to_string()).unwrap();
    home
}

#[tokio::test]
async fn figures_have_a_denominator_and_an_interval() {
    let output = run_eval(&home_with_categories(), &["--json"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = report(&output);
    let poor = &report["models"][1];
    let rate = &poor["argument_accuracy"];
    assert_eq!(share(rate), (5, 10, 0.5));
    // Five prompts, however often they ran: Wilson's interval for half of five.
    let (low, high) = (
        rate["low"].as_f64().unwrap(),
        rate["high"].as_f64().unwrap(),
    );
    assert!(
        (low - 0.1704).abs() < 1e-3 && (high - 0.8296).abs() < 1e-3,
        "{rate}"
    );
    assert_eq!(share(&poor["right_every_time"]), (2, 5, 0.4));
    assert_eq!(share(&report["models"][0]["right_every_time"]), (5, 5, 1.0));
}

#[tokio::test]
async fn figures_are_broken_down_by_tool_and_by_category() {
    let report = report(&run_eval(&home_with_categories(), &["--json"]).await);
    let poor = &report["models"][1];
    let tool = &poor["by_tool"][0];
    assert_eq!(
        (
            &tool["name"],
            &tool["prompts"],
            share(&tool["right_tool"]).0
        ),
        (&json!("echo"), &json!(5), 5)
    );
    assert_eq!(
        tool["instead"],
        json!([{ "tool": "environment", "count": 5 }])
    );
    let category = |number: usize| {
        let group = &poor["by_category"][number];
        (
            group["name"].as_str().unwrap(),
            share(&group["right_arguments"]),
        )
    };
    assert_eq!(
        [category(0), category(1)],
        [("easy", (4, 4, 1.0)), ("hard", (1, 6, 1.0 / 6.0))]
    );
}

#[tokio::test]
async fn two_models_are_compared_prompt_by_prompt() {
    let home = home_with_categories();
    let report = report(&run_eval(&home, &["--json"]).await);
    let comparison = &report["comparisons"][0];
    let [first, second] = [0, 1].map(|number| report["models"][number]["model"].clone());
    let expected = json!({
        "first": first, "first_surface": "all", "second": second, "second_surface": "all", "prompts": 5, "alike": 2,
        "first_better": ["c", "d", "e"], "second_better": [], "chance": 0.25,
    });
    assert_eq!(without_rounding(comparison), expected);

    let output = run_eval(&home, &["--html", "exam.html"]).await.stdout;
    for part in [
        "CATEGORY",
        "easy",
        "4 of 4",
        "good more often",
        "c, d, e",
        "3 prompts at least this unevenly in 25.0 %",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let page = fs::read_to_string(home.path("exam.html")).unwrap();
    for part in [
        "By category",
        "Compared with the first model",
        "Models differ (3)",
        "1 of 2 runs",
        "5 of 10",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

fn without_rounding(comparison: &Value) -> Value {
    let mut comparison = comparison.clone();
    let chance = comparison["chance"].as_f64().unwrap();
    comparison["chance"] = json!((chance * 1e6).round() / 1e6);
    comparison
}
