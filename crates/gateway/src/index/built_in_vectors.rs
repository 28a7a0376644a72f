//! Checks that the embedded vectors match the embedded texts and model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kitbag_agents::{AgentTool, Library};
use kitbag_config::Lock;
use kitbag_domain::Timestamp;
use kitbag_embedding::{built_in, precomputed};
use kitbag_upstream::Listing;
use kitbag_wire::{Era, raw};
use serde_json::json;

use super::priors::Priors;
use super::source;
use crate::catalog::tool_files::FileTools;
use crate::catalog::{Catalog, CatalogSources};

/// If set, the test writes the file instead of checking it.
const WRITE: &str = "KITBAG_WRITE_VECTORS";
const PATH: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../embedding/built-in-vectors.bin"
);

/// Returns every embedded text that needs a vector.
fn built_in_texts() -> BTreeSet<String> {
    let library = Library::built_in();
    let listing = Listing {
        listed_at: Timestamp(0),
        era: Era::Modern,
        version: String::new(),
        capabilities: raw(&json!({ "tools": {} })),
        server_info: None,
        instructions: None,
        tools: AgentTool::ALL
            .iter()
            .map(|tool| raw(&tool.definition(&library)))
            .collect(),
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        skills: Vec::new(),
        problems: Vec::new(),
        unmasked: Vec::new(),
    };
    let server = "agents".parse().unwrap();
    let catalog = Catalog::build(CatalogSources {
        listings: BTreeMap::from([(server, Arc::new(listing))]),
        tool_files: &FileTools::default(),
        lock: &Lock::default(),
        overrides: &BTreeMap::new(),
        before: &Catalog::default(),
    });
    let sources = catalog
        .tools
        .iter()
        .map(|it| source::ToolSource::from_entry(it));
    let tools = sources.map(|tool| tool.into_source(Priors::default(), Timestamp(0)).text);
    library.embedded_texts().into_iter().chain(tools).collect()
}

#[test]
fn the_embedded_vectors_match_the_embedded_texts_and_model() {
    let (encoder, texts) = (built_in(), built_in_texts());
    if std::env::var_os(WRITE).is_some() {
        let table = precomputed::table(&encoder, texts.iter().map(String::as_str));
        std::fs::write(PATH, table).unwrap();
        return;
    }
    let how =
        format!("write them again: {WRITE}=1 cargo test -p kitbag-gateway --lib built_in_vectors");
    assert_eq!(precomputed::count(), texts.len(), "{how}");
    for (number, text) in texts.iter().enumerate() {
        let stored =
            precomputed::vector(text).unwrap_or_else(|| panic!("`{text}` has no vector; {how}"));
        // Each takes milliseconds; a changed model shows in every one.
        if number % 10 == 0 {
            let computed = encoder.embed(text);
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            let cosine = product(&stored, &computed)
                / (product(&stored, &stored) * product(&computed, &computed)).sqrt();
            assert!(
                cosine > 0.999,
                "`{text}` has another vector ({cosine}); {how}"
            );
        }
    }
}
