//! The part of the benchmark that needs no model: questions find their answers in any wording.

use std::collections::BTreeMap;
use std::fs;

use kitbag_agents::{AgentAnswers, Library};
use kitbag_tool_server::ToolServer as _;
use kitbag_wire::RawObject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::root;

#[derive(Deserialize)]
struct Suite {
    prompts: Vec<Prompt>,
    scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    id: String,
    expected_tool: String,
    expected_args: Value,
    #[serde(default)]
    accept: Vec<Call>,
    paraphrases: Vec<Value>,
    resolves: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scenario {
    id: String,
    max_calls: usize,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(flatten)]
    call: Call,
    /// JSON pointers into the answer, and the expected values.
    expect: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Call {
    tool: String,
    args: Value,
}

/// Without vectors, which only improve it.
#[tokio::test]
async fn the_arguments_of_fifty_prompts_are_understood_in_three_paraphrases_each() {
    let (suite, answers) = (suite(), answers());
    assert_eq!(suite.prompts.len(), 50);
    let (mut total, mut missed) = (0, Vec::new());
    for prompt in &suite.prompts {
        assert_eq!(prompt.paraphrases.len(), 3, "{}", prompt.id);
        let accepted = prompt.accept.iter().map(|it| (&it.tool, &it.args));
        for (tool, arguments) in accepted {
            assert!(
                run(&answers, tool, arguments).await.is_some(),
                "{}: {arguments}",
                prompt.id
            );
        }
        for arguments in prompt.paraphrases.iter().chain([&prompt.expected_args]) {
            total += 1;
            let answer = run(&answers, &prompt.expected_tool, arguments)
                .await
                .unwrap_or_default();
            if !contains(&answer, &prompt.resolves) {
                missed.push(format!("{} {arguments} gives {answer:.200}", prompt.id));
            }
        }
    }
    assert_eq!(total, 200);
    println!(
        "{} of {total} understood\n{}",
        total - missed.len(),
        missed.join("\n")
    );
    assert!(
        missed.len() * 50 <= total,
        "{} of {total}:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[tokio::test]
async fn each_scenario_is_done_within_its_calls_and_no_call_is_repeated() {
    let (suite, answers) = (suite(), answers());
    assert_eq!(suite.scenarios.len(), 5);
    for scenario in &suite.scenarios {
        assert!(
            scenario.steps.len() <= scenario.max_calls,
            "{}",
            scenario.id
        );
        for step in &scenario.steps {
            let answer = run(&answers, &step.call.tool, &step.call.args).await;
            let answer =
                answer.unwrap_or_else(|| panic!("{} would have to ask again", scenario.id));
            for (pointer, expected) in &step.expect {
                assert_eq!(
                    answer.pointer(pointer),
                    Some(expected),
                    "{} {pointer} in {answer}",
                    scenario.id
                );
            }
        }
    }
}

#[tokio::test]
async fn an_agent_without_the_capability_is_one_short_row() {
    let rows = run(
        &answers(),
        "compare_capability",
        &json!({ "capability": "hooks" }),
    )
    .await
    .unwrap();
    let zed = rows["comparison"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["agent"] == "zed")
        .unwrap();
    assert_eq!(*zed, json!({ "agent": "zed", "available": false }));
    let undocumented = rows["undocumented"].as_array().unwrap();
    assert!(undocumented.contains(&json!("zed")), "{rows}");
}

#[tokio::test]
async fn lists_have_no_notes_and_need_a_filter() {
    let answers = answers();
    let list = run(
        &answers,
        "list_capabilities",
        &json!({ "agent": "claude-code" }),
    )
    .await
    .unwrap();
    let row = json!({ "name": "Agent Mode", "category": "agent-orchestration", "tier": "pro", "available": true });
    assert!(
        list["capabilities"].as_array().unwrap().contains(&row),
        "{list}"
    );
    assert!(!list.to_string().contains("implementationNotes"));
    assert_eq!(
        list["undocumented"],
        json!([
            "Code Completion",
            "Next Edit Suggestions",
            "Agent Client Protocol"
        ])
    );
    let reported = miss(&answers, "list_capabilities", &json!({})).await;
    assert_eq!(reported, "Give `agent`, `category` or both.");
}

/// Every way to ask, with a field that does not exist.
#[tokio::test]
async fn a_field_that_does_not_exist_is_rejected_by_every_tool() {
    for (tool, arguments, known) in [
        (
            "lookup_capability",
            json!({ "agent": "zed", "capability": "mcp", "agents": [] }),
            "`agent` and `capability`",
        ),
        (
            "compare_capability",
            json!({ "capability": "mcp", "agent": "zed" }),
            "`capability` and `agents`",
        ),
        (
            "list_capabilities",
            json!({ "agent": "zed", "catgory": "testing" }),
            "`agent` and `category`",
        ),
        (
            "get_sources",
            json!({ "agentt": "zed" }),
            "`agent` and `capability`",
        ),
    ] {
        let reported = miss(&answers(), tool, &arguments).await;
        assert!(
            reported.contains("has no parameter `") && reported.ends_with(known),
            "{tool}: {reported}"
        );
    }
}

#[tokio::test]
async fn a_word_that_could_be_many_things_is_answered_with_candidates() {
    for said in ["code", "support", "Code", "is it supported"] {
        let answer = run(
            &answers(),
            "compare_capability",
            &json!({ "capability": said }),
        )
        .await
        .unwrap();
        let matches = answer["matches"]
            .as_array()
            .unwrap_or_else(|| panic!("{said}: {answer}"));
        assert_eq!(matches.len(), 3, "{said}: {answer}");
        assert!(
            matches
                .iter()
                .all(|row| row["matchConfidence"].as_f64().unwrap() < 1.0),
            "{answer}"
        );
        let arguments = json!({ "agent": "cursor", "capability": said });
        let answer = run(&answers(), "lookup_capability", &arguments)
            .await
            .unwrap();
        assert!(
            answer["matches"].is_array() && answer["capability"].is_null(),
            "{said}: {answer}"
        );
    }
}

#[tokio::test]
async fn rows_have_the_same_shape_whether_it_is_there_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let capability = |name: &str, available: Value| {
        let status = if available.is_null() {
            "unknown"
        } else {
            "active"
        };
        json!({
            "name": name, "category": "testing", "available": available, "status": status, "tier": "pro",
            "maturityLevel": "stable", "description": name, "implementationNotes": { "setup": "press" },
            "sources": [{
                "url": "https://example.com/", "description": "docs", "verifiedDate": "2026-01-01",
                "status": "active", "granularity": "dedicated",
            }],
        })
    };
    let file = |id: &str, available: Value| {
        json!({
            "agent": { "id": id, "name": id, "vendor": "Me", "version": "1", "lastUpdated": "2026-01-01" },
            "capabilities": [capability("Cooking", available)],
        })
    };
    for (id, available) in [
        ("has", json!(true)),
        ("lacks", json!(false)),
        ("silent", Value::Null),
    ] {
        let place = folder.path().join("agents").join(id).join("capabilities");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("current.json"), file(id, available).to_string()).unwrap();
    }
    let answers = AgentAnswers::new(Library::open(folder.path()).unwrap(), None);
    let compared = run(
        &answers,
        "compare_capability",
        &json!({ "capability": "cooking" }),
    )
    .await
    .unwrap();
    let rows = compared["comparison"].as_array().unwrap();
    let of = |id: &str| rows.iter().find(|row| row["agent"] == id).unwrap().clone();
    assert_eq!(of("lacks"), json!({ "agent": "lacks", "available": false }));
    assert_eq!(
        of("silent"),
        json!({ "agent": "silent", "available": false })
    );
    assert_eq!(compared["undocumented"], json!(["silent"]));
    let listed = run(
        &answers,
        "list_capabilities",
        &json!({ "category": "testing" }),
    )
    .await
    .unwrap();
    let rows = listed["capabilities"].as_array().unwrap();
    let keys = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert!(
        rows.iter()
            .all(|row| keys(row) == ["agent", "name", "category", "tier", "available"]),
        "{listed}"
    );
    let lacks = rows.iter().find(|row| row["agent"] == "lacks").unwrap();
    assert_eq!(
        (&lacks["tier"], &lacks["available"]),
        (&Value::Null, &json!(false))
    );
}

#[tokio::test]
async fn sources_of_everything_have_a_capability_and_a_status() {
    let all = run(&answers(), "get_sources", &json!({})).await.unwrap();
    for row in all["sources"].as_array().unwrap() {
        assert!(
            row["description"]
                .as_str()
                .is_some_and(|text| text.starts_with("Documentation of ")),
            "{row}"
        );
        assert!(
            ["active", "deprecated", "unknown"].contains(&row["status"].as_str().unwrap()),
            "{row}"
        );
        assert!(row["verifiedDate"].is_string(), "{row}");
    }
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_the_known_ones() {
    let answers = answers();
    let reported = miss(
        &answers,
        "lookup_capability",
        &json!({ "agent": "clippy", "capability": "mcp" }),
    )
    .await;
    assert!(
        reported.starts_with("No agent `clippy`. Agents: claude-code, copilot-cli, "),
        "{reported}"
    );
    let reported = miss(
        &answers,
        "list_capabilities",
        &json!({ "category": "cooking" }),
    )
    .await;
    assert!(
        reported.contains("agent-orchestration, api-integration"),
        "{reported}"
    );
}

#[tokio::test]
async fn an_agent_named_with_the_capability_does_no_harm() {
    let answers = answers();
    for (said, meant) in [
        ("claude code hooks", "Lifecycle Hooks"),
        ("MCP in Cursor", "MCP Support"),
        ("Gemini CLI sandbox", "Sandboxing"),
        ("claude.md", "Custom Instructions"),
    ] {
        let answer = run(
            &answers,
            "compare_capability",
            &json!({ "capability": said }),
        )
        .await
        .unwrap();
        assert_eq!(answer["capability"], meant, "{said}");
    }
}

#[tokio::test]
async fn a_text_that_is_longer_than_any_name_is_rejected() {
    let (answers, long) = (answers(), "mcp ".repeat(200));
    let reported = miss(
        &answers,
        "compare_capability",
        &json!({ "capability": long }),
    )
    .await;
    assert_eq!(reported, "`capability` may have at most 500 characters");
    let many = vec!["zed"; 200];
    let reported = miss(
        &answers,
        "compare_capability",
        &json!({ "capability": "mcp", "agents": many }),
    )
    .await;
    assert_eq!(reported, "`agents` may have at most 100 entries");
}

#[tokio::test]
async fn several_candidates_are_returned_with_their_confidence() {
    let arguments = json!({ "agent": "claude-code", "capability": "agents that talk" });
    let answer = run(&answers(), "lookup_capability", &arguments)
        .await
        .unwrap();
    let matches = answer["matches"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(matches.len(), 3, "{answer}");
    for row in matches {
        assert!(
            row["matchConfidence"].as_f64().unwrap() < 1.0 && row["description"].is_string(),
            "{row}"
        );
    }
}

#[tokio::test]
async fn a_word_for_two_agents_means_the_likelier_and_mentions_the_other() {
    let answers = answers();
    let arguments = json!({ "agent": "Copilot", "capability": "mcp" });
    let answer = run(&answers, "lookup_capability", &arguments)
        .await
        .unwrap();
    assert_eq!(
        (&answer["agent"], &answer["seeAlso"]),
        (&json!("vscode-copilot"), &json!(["copilot-cli"]))
    );
    let arguments = json!({ "capability": "mcp", "agents": ["copilot"] });
    let answer = run(&answers, "compare_capability", &arguments)
        .await
        .unwrap();
    let agents: Vec<&Value> = answer["comparison"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["agent"])
        .collect();
    assert_eq!(agents, ["vscode-copilot", "copilot-cli"]);
}

fn suite() -> Suite {
    let text = fs::read_to_string(root().join("framework/tests/benchmark-prompts.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn answers() -> AgentAnswers {
    AgentAnswers::new(Library::built_in(), None)
}

/// The answer, or nothing if the call would have to be repeated.
pub(crate) async fn run(answers: &AgentAnswers, tool: &str, arguments: &Value) -> Option<Value> {
    call(answers, tool, arguments).await.ok()
}

pub(crate) async fn miss(answers: &AgentAnswers, tool: &str, arguments: &Value) -> String {
    call(answers, tool, arguments).await.unwrap_err()
}

async fn call(answers: &AgentAnswers, tool: &str, arguments: &Value) -> Result<Value, String> {
    let arguments: RawObject = serde_json::from_value(arguments.clone()).unwrap();
    let answer = answers.call(tool, arguments).await;
    answer.map_err(|error| error.message)?
}

/// True if the answer contains everything expected; it may contain more.
fn contains(answer: &Value, expected: &Value) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| answer.get(key).is_some_and(|it| contains(it, value))),
        _ => answer == expected,
    }
}
