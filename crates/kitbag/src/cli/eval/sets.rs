//! Datasets: tools, requests, and an index of the tools.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use kitbag_relevance::Index;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::Invocation;
use crate::cli::index::format_progress;
use crate::cli::progress::ProgressDisplay;
use kitbag_embedding::TextEmbedder;
use kitbag_gateway::index::CapabilityIndex;
use kitbag_gateway::index::embedded_query::EmbeddedQuery;
use kitbag_gateway::index::priors::Priors;
use kitbag_gateway::index::source::ToolSource;
use kitbag_gateway::secrets::vault;
use kitbag_gateway::state::clock::now;
use kitbag_gateway::state::store_address::store_address;

#[derive(Debug, Deserialize)]
struct ToolLine {
    id: String,
    #[serde(default)]
    server: Option<String>,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    schema: Value,
    #[serde(default)]
    tags: Option<Vec<String>>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    group: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct QueryLine {
    pub(super) query: String,
    pub(super) relevant: Vec<String>,
    /// How it is worded, such as `short`.
    #[serde(default)]
    pub(super) kind: Option<String>,
}

/// Opens the index that embeds requests; only vectors are stored.
pub(super) async fn capability_index(invocation: &Invocation) -> anyhow::Result<CapabilityIndex> {
    let config = invocation.config()?;
    let store = kitbag_store::Store::open(store_address(&config)?).await?;
    let lookup = vault::open_lookup(&config, &store).await?;
    let embedder = Arc::new(TextEmbedder::new(&config.embedder, &lookup));
    Ok(CapabilityIndex::new(embedder, store, config.identity()))
}

/// Indexes only these tools, separate from the gateway's tools.
pub(super) async fn index_tools(
    tools: Vec<ToolSource>,
    index: &CapabilityIndex,
    with_vectors: bool,
    progress: &ProgressDisplay,
) -> anyhow::Result<Index> {
    let sources: Vec<_> = tools
        .into_iter()
        .map(|tool| tool.into_source(Priors::default(), now()))
        .collect();
    let index_of = index.build_detached(&sources, with_vectors, |done, total| {
        progress.update(&format_progress(done, total));
    });
    Ok(index_of.await?)
}

/// Embeds a request. Fails if only words could be used, which would measure something else.
pub(super) async fn embed_request(
    index: &CapabilityIndex,
    text: &str,
) -> anyhow::Result<EmbeddedQuery> {
    let intent = index.embed_query(text).await;
    match intent.degraded {
        Some(degraded) => anyhow::bail!("the measurement was aborted: {degraded}"),
        None => Ok(intent),
    }
}

/// Reads the tools of the set, then those of the catalogs that are not in it.
pub(in crate::cli) fn read_tools(
    dataset: &Path,
    catalogs: &[PathBuf],
) -> anyhow::Result<Vec<ToolSource>> {
    let mut seen = HashSet::new();
    let mut tools = Vec::new();
    for folder in std::iter::once(dataset).chain(catalogs.iter().map(PathBuf::as_path)) {
        for line in read_lines::<ToolLine>(&folder.join("tools.jsonl"))? {
            if seen.insert(line.id.clone()) {
                tools.push(ToolSource {
                    exposed: line.id,
                    name: line.name,
                    server: line.server.unwrap_or_default(),
                    description: line.description.unwrap_or_default(),
                    schema: line.schema,
                    tags: line.tags.unwrap_or_default(),
                    scopes: line.scopes,
                    group: line.group,
                    ..ToolSource::default()
                });
            }
        }
    }
    Ok(tools)
}

pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("{}, line {}", path.display(), number + 1))
        })
        .collect()
}
