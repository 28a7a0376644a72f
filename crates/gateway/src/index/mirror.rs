//! The key-value mirror of the index: what an exact name reads.
//!
//! Beside each entry stands a hash of the definition it was made from, so that the next run
//! knows since when the tool is as it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::ServerName;
use kitbag_relevance::Entry;
use kitbag_store::{Error, Store};
use serde::{Deserialize, Serialize};

use super::source::Source;

/// The namespace of the mirror.
pub(crate) const NAMESPACE: &str = "capability_index";

#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    entry: &'a Entry,
    definition: &'a str,
}

#[derive(Deserialize)]
struct Dated {
    provider: String,
    last_updated_at: i64,
    definition: String,
}

/// Gives tools that are what they were the time since when they are so.
pub(super) async fn date(store: &Store, sources: &mut [Source]) -> Result<(), Error> {
    let mirrored = store.mirrored(NAMESPACE).await?;
    for source in sources {
        let known = mirrored.get(&source.document.entry.tool_name).and_then(|text| read(text));
        if let Some(known) = known.filter(|known| known.definition == source.definition) {
            Arc::make_mut(&mut source.document.entry).last_updated_at = known.last_updated_at;
        }
    }
    Ok(())
}

/// Makes the mirror say what the index has. What it says of servers nobody has listed yet stays:
/// their tools are not gone, only not known.
pub(super) async fn write(
    store: &Store,
    sources: &[Source],
    unlisted: &HashSet<ServerName>,
) -> Result<(), Error> {
    let mut entries: HashMap<String, String> = HashMap::new();
    if !unlisted.is_empty() {
        let of_unlisted = |text: &str| {
            let server = read(text).and_then(|it| it.provider.parse().ok());
            server.is_some_and(|server: ServerName| unlisted.contains(&server))
        };
        entries = store.mirrored(NAMESPACE).await?;
        entries.retain(|_, text| of_unlisted(text));
    }
    entries.extend(sources.iter().map(|it| {
        let written = Written { entry: &it.document.entry, definition: &it.definition };
        let text = serde_json::to_string(&written).expect("an entry is plain JSON");
        (it.document.entry.tool_name.clone(), text)
    }));
    let written = store.put_mirror(NAMESPACE, &entries.into_iter().collect::<Vec<_>>()).await?;
    tracing::debug!(written, "the mirror of the index is up to date");
    Ok(())
}

fn read(text: &str) -> Option<Dated> {
    serde_json::from_str(text).ok()
}
