//! Starting, pacing and narrowing an eval run.

use super::*;

#[tokio::test]
async fn requests_keep_the_rate_and_the_concurrency_limit() {
    let model = Model::answering_together(3, obey).await;
    let home = home(&["a", "b", "c", "d", "e", "f"]);
    let endpoint = format!("{}#m", model.url);
    let output = run_eval(&home, &endpoint, &["--concurrency", "3"]).await;
    assert_eq!(
        (output.code, model.requests().len()),
        (Some(0), 6),
        "{}",
        output.stderr
    );

    let model = Model::start(obey).await;
    let output = run_eval(
        &home,
        &format!("{}#m", model.url),
        &["--concurrency", "6", "--rpm", "600"],
    )
    .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let asked = model.requests();
    let took = asked[5].at.duration_since(asked[0].at).as_millis();
    assert!(took >= 400, "six requests at ten a second took {took} ms");
}

#[tokio::test]
async fn without_a_model_nothing_is_measured_and_the_remedy_is_printed() {
    let home = home(&["p0"]);
    let fails = async |words: &[&str], parts: &[&str]| {
        let output = home
            .kitbag(&[&["eval", "agents", "--suite", "suite.json"], words].concat())
            .await;
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
        for part in parts {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
    };
    fails(
        &["--server", "bed"],
        &[
            "nothing was measured",
            "no model given",
            "try: pass --model",
        ],
    )
    .await;
    let model = ["--server", "bed", "--model", "anthropic:m"];
    fails(
        &model,
        &[
            "cannot use anthropic:m",
            "`ANTHROPIC_API_KEY`",
            "try: set it",
        ],
    )
    .await;
    let model = ["--server", "bd", "--model", "http://127.0.0.1:1/v1#m"];
    fails(
        &model,
        &[
            "no server `bd`",
            "try: list the servers with `kitbag servers list`",
        ],
    )
    .await;
    let one_price = [
        "--model",
        "http://127.0.0.1:1/v1#m",
        "--model",
        "http://127.0.0.1:1/v1#n",
    ];
    let one_price = [&one_price[..], &["--price-in", "1", "--price-out", "2"]].concat();
    fails(&one_price, &["once for each --model"]).await;
    fails(
        &["--model", "openai:m", "--model", "openai:m"],
        &["model openai:m is given twice"],
    )
    .await;
    fails(
        &["--model", "openai:m", "--key-env", "K"],
        &["--key-env is only for models at a URL"],
    )
    .await;

    let suite = fs::read_to_string(home.path("suite.json")).unwrap();
    let broken =
        |from: &str, to: &str| fs::write(home.path("suite.json"), suite.replace(from, to)).unwrap();
    broken("\"expectedTool\":\"echo\"", "\"expectedTool\":\"eco\"");
    let model = ["--server", "bed", "--dry-run"];
    fails(
        &model,
        &[
            "suite.json does not match the server",
            "the prompt `p0`, field `expectedTool`: the server has no tool `eco`",
        ],
    )
    .await;
    broken("\"resolves\"", "\"resolve\"");
    fails(
        &model,
        &["suite.json: prompts[0] (p0), field `resolve`: unknown field"],
    )
    .await;
}

#[tokio::test]
async fn a_dry_run_asks_no_model_and_tries_the_suite_on_the_server() {
    let model = Model::start(obey).await;
    let home = home(&["p0", "p1"]);
    let output = run_eval(
        &home,
        &format!("{}#m", model.url),
        &["--dry-run", "--runs", "3", "--json"],
    )
    .await;
    let plan = report(&output);
    assert_eq!(
        (output.code, model.requests().len()),
        (Some(1), 0),
        "an odd scenario is a flaw"
    );
    assert_eq!(plan["models"][0]["requests"], 6);
    let tokens = |key: &str| plan["models"][0][key].as_u64().unwrap();
    assert!(tokens("definition_tokens") > 500, "{plan}");
    // "Echo p0" and its like are three tokens each, and there are six of them.
    assert_eq!(
        tokens("input_tokens"),
        6 * tokens("definition_tokens") + 6 * 3
    );
    assert_eq!(
        plan["rehearsal"]["expected"],
        json!({ "right": 2, "total": 2 })
    );
    assert_eq!(
        plan["rehearsal"]["paraphrases"],
        json!({ "right": 2, "total": 2 })
    );
    assert_eq!(plan["rehearsal"]["misses"], json!([]));
    assert!(
        run_eval(&home, "openai:m", &["--dry-run"])
            .await
            .stdout
            .contains("No model was called.")
    );
}

#[tokio::test]
async fn any_program_or_all_servers_can_be_evaluated() {
    let model = Model::start(|asked| {
        let shown = |name: &str| {
            asked
                .body
                .to_string()
                .contains(&format!("\"name\":\"{name}\""))
        };
        let name = if shown("bed__echo") {
            "bed__echo"
        } else {
            "echo"
        };
        let ModelReply::Call(_, arguments) = obey(asked) else {
            unreachable!()
        };
        call(name, arguments)
    })
    .await;
    let home = home(&["p0"]);
    let endpoint = format!("{}#m", model.url);
    let base = [
        "eval",
        "agents",
        "--suite",
        "suite.json",
        "--json",
        "--model",
        &endpoint,
    ];
    let line = Testbed::new("any").line();
    let command = [
        &["--"],
        line.split_whitespace().collect::<Vec<_>>().as_slice(),
    ]
    .concat();
    for words in [vec!["--all"], command] {
        let output = home.kitbag(&[&base[..], &words].concat()).await;
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(right_arguments(&output), 1.0, "{words:?}");
    }
}

/// A model that makes every expected call shows that the repository's suite can be passed, and what the
/// four tools cost.
#[tokio::test]
async fn a_model_that_calls_as_expected_passes_the_benchmark_for_less_than_half_of_the_raw_json() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let suite = root.join("framework/tests/benchmark-prompts.json");
    let prompts: Value = serde_json::from_str(&fs::read_to_string(&suite).unwrap()).unwrap();
    let model = Model::start(move |asked| {
        let mut prompts = prompts["prompts"].as_array().unwrap().iter();
        let expected = prompts
            .find(|it| it["input"] == asked.prompt.as_str())
            .unwrap();
        call(
            expected["expectedTool"].as_str().unwrap(),
            expected["expectedArgs"].clone(),
        )
    })
    .await;
    let home = Home::new("[agents]\nenabled = true\n");
    let endpoint = format!("anthropic:{}#m", model.url);
    let one_agent = root.join("agents/claude-code/capabilities/current.json");
    let (suite, one_agent) = (suite.to_str().unwrap(), one_agent.to_str().unwrap());
    let exam = ["eval", "agents", "--json", "--suite", suite];
    let output = home
        .kitbag(&[&exam[..], &["--model", &endpoint, "--baseline", one_agent]].concat())
        .await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = report(&output);
    let figures = &report["models"][0];
    assert_eq!(share(&figures["argument_accuracy"]), (50, 50, 1.0));
    assert_eq!(share(&figures["retry_rate"]), (0, 50, 0.0));
    let share = figures["tokens"]["share_of_baseline"].as_f64().unwrap();
    assert!(share < 0.5, "{}", figures["tokens"]);
    let reached = |it: &Value| it.get("problem").is_none();
    assert!(
        report["scenarios"].as_array().unwrap().iter().all(reached),
        "{}",
        report["scenarios"]
    );

    let output = home.kitbag(&[&exam[..], &["--dry-run"]].concat()).await;
    let words = &self::report(&output)["rehearsal"]["paraphrases"];
    let [right, total] = ["right", "total"].map(|key| words[key].as_f64().unwrap());
    assert!(total == 150.0 && right / total >= 0.98, "{words}");
}

#[tokio::test]
async fn calls_of_an_eval_do_not_count_as_use() {
    let model = Model::start(obey).await;
    let home = home(&["one", "two"]);
    let output = run_eval(&home, &format!("{}#any", model.url), &["--json"]).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let store = kitbag_store::Store::open(home.store_address())
        .await
        .unwrap();
    let rows = store
        .read_audit(&kitbag_store::AuditQuery::newest(1000))
        .await
        .unwrap();
    let measured = |row: &kitbag_store::AuditRow| {
        matches!(
            row.content,
            kitbag_store::AuditRowContent::Call {
                purpose: kitbag_domain::Purpose::Measurement,
                ..
            }
        )
    };
    assert!(!rows.is_empty() && rows.iter().all(measured), "{rows:?}");
    let since = kitbag_domain::Timestamp(0);
    let span = kitbag_store::AuditSpan::starting_at(since);
    assert!(store.tool_statistics(&span).await.unwrap().is_empty());
    let all = kitbag_store::LessonFilter::default();
    assert_eq!(store.count_lessons(&all).await.unwrap(), 0);

    home.kitbag(&["call", "bed__echo", "message=hello"]).await;
    assert_eq!(store.tool_statistics(&span).await.unwrap().len(), 1);
    assert_eq!(store.count_lessons(&all).await.unwrap(), 1);
}
