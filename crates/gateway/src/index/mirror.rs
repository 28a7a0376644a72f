//! The key-value mirror of the index: what an exact name reads.
//!
//! Beside each entry stands a hash of the definition it was made from, so that the next run
//! knows since when the tool is as it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::ServerName;
use kitbag_relevance::IndexedTool;
use kitbag_store::{Error, Store, TextHash};
use serde::{Deserialize, Serialize};

use super::source::IndexSource;
use crate::clock::now;

/// The namespace of the mirror; of a second configuration over the same store, how it begins.
pub(super) const NAMESPACE: &str = "capability_index";

/// The mirror of one configuration.
#[derive(Debug, Clone)]
pub(super) struct Mirror {
    store: Store,
    /// The files by which the configuration is told from others.
    configuration: String,
}

#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    entry: &'a IndexedTool,
    definition: &'a str,
    /// The hash of the text from which the vector of the tool was made.
    text: String,
}

#[derive(Deserialize)]
struct Dated {
    provider: String,
    last_updated_at: i64,
    definition: String,
}

#[derive(Deserialize)]
struct Embedded {
    text: String,
}

impl Mirror {
    pub(super) fn new(store: Store, configuration: String) -> Self {
        Self {
            store,
            configuration,
        }
    }

    /// Returns the entry of the tool of that name.
    pub(super) async fn entry(&self, name: &str) -> Result<Option<String>, Error> {
        self.store.mirror(&self.namespace().await?, name).await
    }

    /// Gives each tool whose definition is unchanged the time of its last change: of the definition,
    /// or of its priors.
    pub(super) async fn date(&self, sources: &mut [IndexSource]) -> Result<(), Error> {
        let mirrored = self.store.mirrored(&self.namespace().await?).await?;
        for source in sources {
            let known = mirrored
                .get(&source.document.entry.tool_name)
                .and_then(|text| read(text));
            if let Some(known) = known.filter(|known| known.definition == source.definition) {
                let since = known
                    .last_updated_at
                    .max(source.priors_at.unwrap_or(i64::MIN));
                Arc::make_mut(&mut source.document.entry).last_updated_at = since;
            }
        }
        Ok(())
    }

    /// Writes what the index has into the mirror. The entries of servers that the gateway has not
    /// listed yet stay: their tools are not gone, only not known.
    pub(super) async fn write(
        &self,
        sources: &[IndexSource],
        unlisted: &HashSet<ServerName>,
    ) -> Result<(), Error> {
        let namespace = self.namespace().await?;
        let mut entries: HashMap<String, String> = HashMap::new();
        if !unlisted.is_empty() {
            entries = self.store.mirrored(&namespace).await?;
            entries.retain(|_, text| owner(text).is_some_and(|it| unlisted.contains(&it)));
        }
        entries.extend(sources.iter().map(written));
        let written = self
            .store
            .put_mirror(&namespace, &entries.into_iter().collect::<Vec<_>>())
            .await?;
        tracing::debug!(written, "the mirror of the index is up to date");
        Ok(())
    }

    /// The texts that other configurations over the same store have vectors of.
    pub(super) async fn texts_elsewhere(&self) -> Result<HashSet<TextHash>, Error> {
        let entries = self
            .store
            .mirrored_elsewhere(&self.namespace().await?)
            .await?;
        Ok(entries.iter().filter_map(|it| embedded_text(it)).collect())
    }

    pub(super) async fn namespace(&self) -> Result<String, Error> {
        self.store
            .mirror_namespace(NAMESPACE, &self.configuration, now())
            .await
    }
}

/// The name of a tool, and what is written down under it.
fn written(source: &IndexSource) -> (String, String) {
    let entry = &*source.document.entry;
    let written = Written {
        entry,
        definition: &source.definition,
        text: source.hash.to_string(),
    };
    let text = serde_json::to_string(&written).expect("an entry is plain JSON");
    (entry.tool_name.clone(), text)
}

/// The server or API that an entry belongs to.
fn owner(text: &str) -> Option<ServerName> {
    read(text)?.provider.parse().ok()
}

fn embedded_text(text: &str) -> Option<TextHash> {
    let embedded: Embedded = serde_json::from_str(text).ok()?;
    TextHash::parse(&embedded.text)
}

fn read(text: &str) -> Option<Dated> {
    serde_json::from_str(text).ok()
}
