//! The key-value mirror of the index: what an exact name reads.
//!
//! Beside each entry stands a hash of the definition it was made from, so that the next run
//! knows since when the tool is as it is.

use std::sync::Arc;

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
    last_updated_at: i64,
    definition: String,
}

/// Gives tools that are what they were the time since when they are so.
pub(super) async fn date(store: &Store, sources: &mut [Source]) -> Result<(), Error> {
    let mirrored = store.mirrored(NAMESPACE).await?;
    for source in sources {
        let entry = &source.document.entry;
        let known = mirrored.get(&entry.tool_name).and_then(|text| serde_json::from_str::<Dated>(text).ok());
        if let Some(known) = known.filter(|known| known.definition == source.definition) {
            Arc::make_mut(&mut source.document.entry).last_updated_at = known.last_updated_at;
        }
    }
    Ok(())
}

pub(super) async fn write(store: &Store, sources: &[Source]) -> Result<(), Error> {
    let entries: Vec<(String, String)> = sources
        .iter()
        .map(|it| {
            let written = Written { entry: &it.document.entry, definition: &it.definition };
            let text = serde_json::to_string(&written).expect("an entry is plain JSON");
            (it.document.entry.tool_name.clone(), text)
        })
        .collect();
    let written = store.put_mirror(NAMESPACE, &entries).await?;
    tracing::debug!(written, "the mirror of the index is up to date");
    Ok(())
}
