//! Vectors from a model directory and from a service, and errors of both.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Listed, found_names, names, retrieve, tool, wait_until_embedded};
use crate::harness::Home;
use crate::harness::embeddings::{Embeddings, Mood};

const SECRET: &str = "sk-very-secret";
const FINE: Mood = Mood::Fine(Embeddings::DIMENSION);

fn tools() -> Vec<Value> {
    vec![
        tool("create_issue", "Opens a new issue"),
        tool("list_users", "Lists the users of the shop"),
        tool("send_mail", "Sends a mail to a user"),
    ]
}

async fn shop(service: &Embeddings, settings: &str) -> Listed {
    let listed = Listed::with(&tools(), &service.table(settings)).await;
    listed.home.export("EMBEDDINGS_KEY", SECRET);
    listed
}

#[tokio::test]
async fn a_service_is_asked_in_batches_with_its_key_which_is_written_nowhere() {
    let service = Embeddings::start(FINE).await;
    let many: Vec<_> = (0..150)
        .map(|number| tool(&format!("tool_{number}"), "Does it"))
        .collect();
    let listed = Listed::with(&many, &service.table("query_prefix = \"query: \"")).await;
    listed.home.export("EMBEDDINGS_KEY", SECRET);
    let gateway = listed.home.serve().await;
    wait_until_embedded(&gateway, 150).await;
    let (_, answer) = retrieve(&gateway, &json!({ "intent": "tool 77", "top_k": 1 })).await;
    assert_eq!(found_names(&answer), ["shop__tool_77"]);
    assert_eq!(answer.get("degraded"), None);

    let requests = service.requests();
    let sizes: Vec<_> = requests
        .iter()
        .map(|(_, body)| body["input"].as_array().unwrap().len())
        .collect();
    assert!(
        sizes.contains(&64) && sizes.iter().all(|size| *size <= 64),
        "{sizes:?}"
    );
    for (headers, body) in &requests {
        assert_eq!(headers["authorization"], format!("Bearer {SECRET}"));
        assert_eq!(body["model"], "words-64");
    }
    let asked = |text: &str| requests.iter().any(|(_, body)| body["input"][0] == text);
    assert!(asked("query: tool 77"), "{requests:?}");
    assert!(!gateway.log().contains(SECRET));
}

/// Checks the stderr of `kitbag search` while the service is in this mood. The tool is found by words
/// anyway.
async fn check(mood: Mood, settings: &str, expected: &str) {
    let service = Embeddings::start(mood).await;
    let listed = shop(&service, settings).await;
    let output = listed.home.kitbag(&["search", "send mail", "--json"]).await;
    assert_eq!(names(&output)[0], "shop__send_mail");
    assert!(
        output
            .stderr
            .contains(&expected.replace("URL", &service.url)),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains(SECRET), "{}", output.stderr);

    let gateway = listed.home.serve().await;
    gateway.client(crate::harness::Era::Modern).await;
    crate::harness::until("the words are indexed", async || {
        let (_, answer) = retrieve(&gateway, &json!({ "intent": "send mail" })).await;
        (answer["indexed"] == 3).then_some(())
    })
    .await;
    let (status, answer) = retrieve(&gateway, &json!({ "intent": "send mail" })).await;
    assert_eq!((status, found_names(&answer)[0]), (200, "shop__send_mail"));
    let degraded = answer["degraded"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:#}"));
    assert!(
        degraded.contains(&expected.replace("URL", &service.url)),
        "{degraded}"
    );
    assert!(!gateway.log().contains(SECRET), "{}", gateway.log());
}

#[tokio::test]
async fn a_service_that_rejects_the_key_leaves_keywords_and_the_answer_says_so() {
    let expected = "found by keywords only: the embeddings endpoint URL rejected the key (401 Unauthorized); \
                    check `api_key` under [index.embedder]";
    check(Mood::Unauthorized, "", expected).await;
}

#[tokio::test]
async fn a_service_that_hangs_is_not_waited_for() {
    check(
        Mood::Hung,
        "timeout = \"300ms\"",
        "the embeddings endpoint URL did not answer within 300ms",
    )
    .await;
}

#[tokio::test]
async fn a_service_that_sends_nonsense_is_named() {
    check(
        Mood::Confused,
        "",
        "the embeddings endpoint URL sent an invalid answer: missing field `data`",
    )
    .await;
}

#[tokio::test]
async fn vectors_of_another_length_than_declared_are_rejected() {
    let expected = "the embeddings endpoint URL returned vectors with 64 dimensions, expected 16";
    check(FINE, "dimensions = 16", expected).await;
}

#[tokio::test]
async fn vectors_of_another_length_than_the_index_has_are_rejected_after_a_restart_too() {
    let service = Embeddings::start(FINE).await;
    let listed = shop(&service, "").await;
    let built = listed.home.kitbag(&["index", "build"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    service.set_mood(Mood::Fine(32));
    let output = listed.home.kitbag(&["search", "send mail", "--json"]).await;
    assert_eq!(names(&output)[0], "shop__send_mail");
    assert!(
        output
            .stderr
            .contains("returned vectors with 32 dimensions, expected 64"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_busy_service_is_asked_again() {
    let service = Embeddings::start(Mood::Busy(3)).await;
    let listed = shop(&service, "").await;
    let built = listed.home.kitbag(&["index", "build"]).await;
    assert_eq!(built.code, Some(0), "{}", built.stderr);
    assert_eq!(service.requests().len(), 4);
    let verdict = listed.home.kitbag(&["index", "verify", "--json"]).await;
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    assert_eq!(
        (&verdict["embedded"], &verdict["flaws"]),
        (&json!(3), &json!([])),
        "{verdict:#}"
    );
}

#[tokio::test]
async fn a_build_that_cannot_finish_fails_and_says_what_to_do() {
    let service = Embeddings::start(Mood::Unauthorized).await;
    let listed = shop(&service, "").await;
    let output = listed.home.kitbag(&["index", "build"]).await;
    assert_eq!(output.code, Some(1));
    assert!(
        output
            .stderr
            .contains("check `api_key` under [index.embedder]"),
        "{}",
        output.stderr
    );
    assert_eq!(
        service.requests().len(),
        1,
        "a refused key is not tried again"
    );
}

#[tokio::test]
async fn a_missing_key_is_named_before_anything_starts() {
    let service = Embeddings::start(FINE).await;
    let listed = Listed::with(&tools(), &service.table("")).await;
    for verb in [&["search", "mail"][..], &["index", "build"], &["serve"]] {
        let output = listed.home.kitbag(verb).await;
        assert_eq!(output.code, Some(1), "{verb:?}");
        assert!(
            output.stderr.contains("set the variable `EMBEDDINGS_KEY`"),
            "{verb:?}: {}",
            output.stderr
        );
    }
}

const TINY: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../encoder/tests/fixtures/tiny"
);

/// A model directory `model` next to the configuration.
fn model(home: &Arc<Home>) {
    fs::create_dir(home.path("model")).unwrap();
    for file in ["config.json", "model.safetensors", "vocab.txt"] {
        fs::copy(format!("{TINY}/{file}"), home.path("model").join(file)).unwrap();
    }
}

#[tokio::test]
async fn a_model_directory_gives_the_vectors() {
    let listed = Listed::with(&tools(), "[index]\nembedder = { directory = \"model\" }\n").await;
    model(&listed.home);
    let gateway = listed.home.serve().await;
    wait_until_embedded(&gateway, 3).await;
    let (_, answer) = retrieve(&gateway, &json!({ "intent": "send a mail" })).await;
    assert_eq!(found_names(&answer)[0], "shop__send_mail");
    assert!(
        answer["candidates"][0]["cosine"].is_number() && answer.get("degraded").is_none(),
        "{answer:#}"
    );
}

#[tokio::test]
async fn a_directory_without_a_model_is_rejected_before_anything_starts() {
    let listed = Listed::with(&tools(), "[index]\nembedder = { directory = \"model\" }\n").await;
    for verb in [&["search", "mail"][..], &["index", "build"], &["serve"]] {
        let output = listed.home.kitbag(verb).await;
        assert_eq!(output.code, Some(1), "{verb:?}");
        assert!(
            output.stderr.contains("`config.json` cannot be read"),
            "{verb:?}: {}",
            output.stderr
        );
        assert!(
            output
                .stderr
                .contains("must contain config.json, model.safetensors"),
            "{}",
            output.stderr
        );
    }
}

#[tokio::test]
async fn another_embedder_computes_its_own_vectors_and_the_former_ones_stay() {
    let listed = Listed::with(&tools(), "").await;
    let build = async || listed.home.kitbag(&["index", "build"]).await.stderr;
    assert!(build().await.contains("3 of 3 texts embedded"));
    model(&listed.home);
    listed.configure("[index]\nembedder = { directory = \"model\" }\n");
    assert!(build().await.contains("3 of 3 texts embedded"));
    listed.configure("");
    assert!(!build().await.contains("texts embedded"));
}
