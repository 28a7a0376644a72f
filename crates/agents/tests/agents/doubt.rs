//! Answers to ambiguous names: short rows, candidates and the nearest names.

use serde_json::json;

use crate::suite::{answers, miss, run};

#[tokio::test]
async fn an_unknown_agent_is_a_short_row_among_the_known_ones() {
    let agents = json!({ "capability": "mcp", "agents": ["claude-code", "clippy"] });
    let answer = run(&answers(), "compare_capability", &agents)
        .await
        .unwrap();
    assert_eq!(answer["comparison"][0]["available"], true, "{answer}");
    assert_eq!(
        answer["comparison"][1],
        json!({ "agent": "clippy", "available": false })
    );
    assert_eq!(answer["unknownAgents"], json!(["clippy"]));
    let agents = json!({ "capability": "mcp", "agents": ["clippy"] });
    let reported = miss(&answers(), "compare_capability", &agents).await;
    assert!(reported.starts_with("No agent `clippy`."), "{reported}");
}

#[tokio::test]
async fn candidates_whose_own_name_has_the_word_come_before_those_that_other_words_suggest() {
    let arguments = json!({ "capability": "code" });
    let answer = run(&answers(), "compare_capability", &arguments)
        .await
        .unwrap();
    let matches = answer["matches"].as_array().unwrap();
    let names: Vec<&str> = matches
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"Code Generation"), "{answer}");
    assert!(names.iter().all(|it| it.starts_with("Code ")), "{answer}");
}

#[tokio::test]
async fn an_unfamiliar_name_gets_the_nearest_with_low_confidence() {
    for (tool, arguments) in [
        ("compare_capability", json!({ "capability": "zzz" })),
        (
            "lookup_capability",
            json!({ "agent": "zed", "capability": "zzz" }),
        ),
        ("get_sources", json!({ "capability": "zzz" })),
    ] {
        let answer = run(&answers(), tool, &arguments).await.unwrap();
        let matches = answer["matches"].as_array().unwrap();
        assert_eq!(matches.len(), 3, "{answer}");
        for row in matches {
            let confidence = row["matchConfidence"].as_f64().unwrap();
            assert!((0.0..=0.1).contains(&confidence), "{answer}");
        }
        let note = answer["note"].as_str().unwrap();
        assert!(note.starts_with("No capability like `zzz`"), "{note}");
    }
}
