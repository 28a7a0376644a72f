//! The shipped model and a tool's text, compared with the training program's fixtures
//! (`training/fixtures.py`).
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use kitbag_encoder::Encoder;
use kitbag_relevance::tool_text::ToolText;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const MODEL: &[u8] = include_bytes!("../../embedding/kitbag-embedder.bin");
const DOCUMENTS: &str = include_str!("../../../training/fixtures/documents.jsonl");
const VECTORS: &str = include_str!("../../../training/fixtures/vectors.jsonl");

#[derive(Deserialize)]
struct Documented {
    tool: Tool,
    text: String,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    server: String,
    #[serde(default)]
    group: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
}

#[test]
fn a_tool_has_the_text_the_model_was_trained_on() {
    for Documented { tool, text } in lines(DOCUMENTS) {
        let parameters = parameters(&tool.schema);
        let found = ToolText {
            name: &tool.name,
            description: &tool.description,
            server: &tool.server,
            group: &tool.group,
            parameters: &parameters,
            scopes: &tool.scopes,
            tags: &tool.tags,
        };
        assert_eq!(found.to_embedded_text(), text);
    }
}

/// Handles the schema shapes in the fixtures; the gateway handles all.
fn parameters(schema: &Value) -> Vec<String> {
    let names = |list: &Value| -> Vec<String> {
        let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
        items
            .iter()
            .map(|it| it["name"].as_str().or(it.as_str()).unwrap().to_owned())
            .collect()
    };
    if let Some(properties) = schema["properties"].as_object() {
        let mut found = names(&schema["required"]);
        found.retain(|name| properties.contains_key(name));
        let rest: Vec<_> = properties
            .keys()
            .filter(|name| !found.contains(name))
            .cloned()
            .collect();
        return [found, rest].concat();
    }
    match schema {
        Value::Array(_) => names(schema),
        Value::Object(members) if members.contains_key("required") => {
            [names(&schema["required"]), names(&schema["optional"])].concat()
        }
        Value::Object(members) => members
            .iter()
            .filter(|(_, it)| it.is_object())
            .map(|(name, _)| name.clone())
            .collect(),
        _ => Vec::new(),
    }
}

#[derive(Deserialize)]
struct Embedded {
    text: String,
    vector: Vec<f32>,
}

#[test]
fn the_shipped_model_gives_the_vectors_of_the_training_program() {
    let encoder = Encoder::from_container(MODEL).unwrap();
    for Embedded { text, vector } in lines(VECTORS) {
        let found = encoder.embed(&text);
        let cosine: f32 = found.iter().zip(&vector).map(|(a, b)| a * b).sum();
        assert!(cosine >= 0.99, "{cosine} for {text:?}");
    }
}

fn lines<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}
