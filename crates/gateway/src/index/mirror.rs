//! The key-value mirror of the index, for lookups by exact name.
//!
//! Each entry is stored with a hash of its definition, from which the next run knows when the tool
//! last changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::ServerName;
use kitbag_relevance::IndexedTool;
use kitbag_store::{Error, Store, TextHash};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::source::IndexSource;
use crate::catalog::list_diff::previous_positions;
use crate::state::clock::now;

/// The namespace of the mirror; for a second configuration over the same store, its prefix.
pub(super) const NAMESPACE: &str = "capability_index";

/// The mirror of one configuration.
pub(super) struct Mirror {
    store: Store,
    /// The files that identify the configuration.
    configuration: String,
    written: Mutex<Option<WrittenSources>>,
}

/// The content of the mirror as last written.
struct WrittenSources {
    sources: Vec<Arc<IndexSource>>,
    /// The number of entries, including entries of unlisted servers.
    entries: u64,
}

/// Up to this many new tools are looked up one by one; for more the mirror is read as a whole.
const FEW: usize = 32;

#[derive(Serialize)]
struct MirrorEntry<'a> {
    #[serde(flatten)]
    entry: &'a IndexedTool,
    definition: &'a str,
    /// The hash of the text from which the tool's vector was computed.
    text: String,
}

#[derive(Deserialize)]
struct StoredEntry {
    #[serde(rename = "provider", alias = "server")]
    server: String,
    last_updated_at: i64,
    definition: String,
}

#[derive(Deserialize)]
struct StoredText {
    text: String,
}

impl Mirror {
    pub(super) fn new(store: Store, configuration: String) -> Self {
        Self {
            store,
            configuration,
            written: Mutex::default(),
        }
    }

    /// Returns the entry of the tool with that name.
    pub(super) async fn read_entry(&self, name: &str) -> Result<Option<String>, Error> {
        self.store
            .mirror_entry(&self.namespace().await?, name)
            .await
    }

    /// Restores the time of the last change, of the definition or the priors, for each new tool
    /// whose definition equals that in the mirror.
    pub(super) async fn restore_change_times(
        &self,
        sources: &mut [Arc<IndexSource>],
        new: &[usize],
    ) -> Result<(), Error> {
        let namespace = self.namespace().await?;
        let mirrored = match new.len() > FEW {
            true => self.store.mirror_entries(&namespace).await?,
            false => HashMap::new(),
        };
        for at in new {
            let source = &mut sources[*at];
            let name = &source.document.entry.tool_name;
            let known = match new.len() > FEW {
                true => mirrored.get(name).and_then(|text| parse_entry(text)),
                false => {
                    let text = self.store.mirror_entry(&namespace, name).await?;
                    text.and_then(|text| parse_entry(&text))
                }
            };
            if let Some(known) = known.filter(|known| known.definition == source.definition) {
                Arc::make_mut(source).set_changed_at(known.last_updated_at);
            }
        }
        Ok(())
    }

    /// Writes the index to the mirror. Entries of servers that are not listed yet stay: their tools
    /// still exist.
    pub(super) async fn write(
        &self,
        sources: &[Arc<IndexSource>],
        unlisted: &HashSet<ServerName>,
    ) -> Result<(), Error> {
        let namespace = self.namespace().await?;
        let mut written = self.written.lock().await;
        let entries = match written.take() {
            Some(before) => {
                self.write_difference(&namespace, &before, sources, unlisted)
                    .await?
            }
            None => None,
        };
        let entries = match entries {
            Some(entries) => entries,
            None => self.write_all(&namespace, sources, unlisted).await?,
        };
        *written = Some(WrittenSources {
            sources: sources.to_vec(),
            entries,
        });
        Ok(())
    }

    /// Writes the difference and returns the number of entries; `None` if another process has
    /// written to the mirror in the meantime.
    async fn write_difference(
        &self,
        namespace: &str,
        before: &WrittenSources,
        sources: &[Arc<IndexSource>],
        unlisted: &HashSet<ServerName>,
    ) -> Result<Option<u64>, Error> {
        let difference = MirrorDifference::between(&before.sources, sources, unlisted);
        let entries = before.entries + difference.new - difference.gone.len() as u64;
        let is_whole = self
            .store
            .change_mirror(namespace, &difference.changed, &difference.gone, entries)
            .await?;
        tracing::debug!(
            changed = difference.changed.len(),
            gone = difference.gone.len(),
            is_whole,
            "updated the mirror of the index"
        );
        Ok(is_whole.then_some(entries))
    }

    async fn write_all(
        &self,
        namespace: &str,
        sources: &[Arc<IndexSource>],
        unlisted: &HashSet<ServerName>,
    ) -> Result<u64, Error> {
        let mut entries: HashMap<String, String> = HashMap::new();
        if !unlisted.is_empty() {
            entries = self.store.mirror_entries(namespace).await?;
            entries.retain(|_, text| entry_server(text).is_some_and(|it| unlisted.contains(&it)));
        }
        entries.extend(sources.iter().map(|it| to_mirror_row(it)));
        let entries: Vec<_> = entries.into_iter().collect();
        let written = self.store.replace_mirror(namespace, &entries).await?;
        tracing::debug!(written, "the mirror of the index is up to date");
        Ok(entries.len() as u64)
    }

    /// Returns the texts whose vectors other configurations over the same store need.
    pub(super) async fn texts_elsewhere(&self) -> Result<HashSet<TextHash>, Error> {
        let entries = self
            .store
            .other_mirror_entries(&self.namespace().await?)
            .await?;
        Ok(entries.iter().filter_map(|it| embedded_text(it)).collect())
    }

    pub(super) async fn namespace(&self) -> Result<String, Error> {
        self.store
            .mirror_namespace(NAMESPACE, &self.configuration, now())
            .await
    }
}

/// The entries to write and to remove.
#[derive(Default)]
struct MirrorDifference {
    changed: Vec<(String, String)>,
    gone: Vec<String>,
    /// The number of written entries that are new.
    new: u64,
}

impl MirrorDifference {
    fn between(
        before: &[Arc<IndexSource>],
        sources: &[Arc<IndexSource>],
        unlisted: &HashSet<ServerName>,
    ) -> Self {
        let mut difference = Self::default();
        let mut stays = vec![false; before.len()];
        let [names_before, names] = [before, sources].map(tool_names);
        for (source, position) in sources
            .iter()
            .zip(previous_positions(&names_before, &names))
        {
            if let Some(at) = position {
                stays[at] = true;
            }
            if position.is_none_or(|at| !Arc::ptr_eq(&before[at], source)) {
                difference.changed.push(to_mirror_row(source));
                difference.new += u64::from(position.is_none());
            }
        }
        let gone = before.iter().zip(stays).filter(|(_, stays)| !stays);
        let gone = gone.map(|(source, _)| &*source.document.entry);
        let is_unlisted = |tool: &IndexedTool| {
            let owner = tool.server.parse::<ServerName>();
            owner.is_ok_and(|owner| unlisted.contains(&owner))
        };
        let gone = gone.filter(|tool| !is_unlisted(tool));
        difference.gone = gone.map(|tool| tool.tool_name.clone()).collect();
        difference
    }
}

fn tool_names(sources: &[Arc<IndexSource>]) -> Vec<&str> {
    let names = sources.iter();
    names
        .map(|it| it.document.entry.tool_name.as_str())
        .collect()
}

/// Returns the name of a tool, and its serialized entry.
fn to_mirror_row(source: &IndexSource) -> (String, String) {
    let entry = &*source.document.entry;
    let written = MirrorEntry {
        entry,
        definition: &source.definition,
        text: source.hash.to_string(),
    };
    let text = serde_json::to_string(&written).expect("an entry is plain JSON");
    (entry.tool_name.clone(), text)
}

/// Returns the server or API of an entry.
fn entry_server(text: &str) -> Option<ServerName> {
    parse_entry(text)?.server.parse().ok()
}

fn embedded_text(text: &str) -> Option<TextHash> {
    let embedded: StoredText = serde_json::from_str(text).ok()?;
    TextHash::parse(&embedded.text)
}

fn parse_entry(text: &str) -> Option<StoredEntry> {
    serde_json::from_str(text).ok()
}
