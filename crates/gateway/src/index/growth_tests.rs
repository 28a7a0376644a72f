//! Counts the work for one tool among many: after a change, an index shares everything else with
//! its predecessor.

use std::collections::BTreeMap;

use kitbag_config::{Embedder, Lock, ToolOverride};
use kitbag_domain::Lookup;
use kitbag_upstream::Listing;
use kitbag_wire::{Era, raw};
use serde_json::{Value, json};

use super::*;
use crate::catalog::CatalogSources;
use crate::catalog::tool_files::FileTools;

const TOOLS: usize = 3_000;

struct GrowingGateway {
    index: CapabilityIndex,
    catalog: Catalog,
    providers: Providers,
    store: Store,
    _folder: tempfile::TempDir,
}

fn tools(count: usize) -> Vec<Value> {
    let tool = |number| {
        json!({
            "name": format!("tool_{number}"),
            "description": format!("Does thing number {number}"),
            "inputSchema": { "type": "object", "properties": { "path": {}, "mode": {} } },
        })
    };
    (0..count).map(tool).collect()
}

fn listing(tools: &[Value]) -> Arc<Listing> {
    Arc::new(Listing {
        listed_at: Timestamp::default(),
        era: Era::Modern,
        version: "2026-07-28".to_owned(),
        capabilities: raw(&json!({ "tools": {} })),
        server_info: None,
        instructions: None,
        tools: tools.iter().map(raw).collect(),
        prompts: Vec::new(),
        resources: Vec::new(),
        templates: Vec::new(),
        skills: Vec::new(),
        problems: Vec::new(),
        unmasked: Vec::new(),
    })
}

impl GrowingGateway {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        let nothing: Lookup = Arc::new(|_| None);
        let embedder = Arc::new(TextEmbedder::new(&Embedder::BuiltIn, &nothing));
        Self {
            index: CapabilityIndex::new(embedder, store.clone(), "test".to_owned()),
            catalog: Catalog::default(),
            providers: Providers::new(&BTreeMap::default(), &nothing),
            store,
            _folder: folder,
        }
    }

    /// Updates the index with this listing, and returns the snapshot. No vectors are computed.
    async fn list(&mut self, tools: &[Value]) -> Arc<Snapshot> {
        self.catalog = Catalog::build(CatalogSources {
            listings: BTreeMap::from([("bed".parse().unwrap(), listing(tools))]),
            lock: &Lock::default(),
            tool_files: &FileTools::default(),
            overrides: &BTreeMap::<String, ToolOverride>::new(),
            before: &self.catalog,
        });
        let contents = IndexContents {
            catalog: &self.catalog,
            providers: &self.providers,
            overrides: &ToolOverrides::default(),
            usd_per_million_tokens: None,
            unlisted: &HashSet::new(),
        };
        self.index.update_priors(&contents).await.unwrap();
        self.index.snapshot()
    }

    async fn count_mirrored(&self) -> usize {
        let namespace = self.index.namespace().await.unwrap();
        self.store.mirror_entries(&namespace).await.unwrap().len()
    }
}

/// Counts the tools whose entry, source and document were rebuilt.
fn count_rebuilt(before: &Snapshot, after: &Snapshot) -> [usize; 3] {
    let entry = |subject: &IndexSubject| subject.entry().map(Arc::as_ptr);
    let entries: HashSet<_> = before.subjects.iter().map(entry).collect();
    let sources: HashSet<_> = before.sources.iter().map(Arc::as_ptr).collect();
    let documents: HashSet<_> = before.index.documents().iter().map(Arc::as_ptr).collect();
    [
        after
            .subjects
            .iter()
            .filter(|it| !entries.contains(&entry(it)))
            .count(),
        after
            .sources
            .iter()
            .filter(|it| !sources.contains(&Arc::as_ptr(it)))
            .count(),
        after
            .index
            .documents()
            .iter()
            .filter(|it| !documents.contains(&Arc::as_ptr(it)))
            .count(),
    ]
}

#[tokio::test]
async fn only_the_changed_one_of_thousands_of_tools_is_indexed_again() {
    let mut gateway = GrowingGateway::new().await;
    let mut listed = tools(TOOLS);
    let before = gateway.list(&listed).await;
    assert_eq!(before.index.len(), TOOLS);

    listed.insert(TOOLS / 2, json!({ "name": "new", "description": "Is new" }));
    let added = gateway.list(&listed).await;
    assert_eq!(count_rebuilt(&before, &added), [1, 1, 1]);
    assert_eq!(
        added.index.get("bed__new").unwrap().entry.description,
        "Is new"
    );
    assert_eq!(gateway.count_mirrored().await, TOOLS + 1);

    listed[7]["description"] = json!("Does something else");
    let changed = gateway.list(&listed).await;
    assert_eq!(count_rebuilt(&added, &changed), [1, 1, 1]);

    listed.remove(TOOLS / 2);
    let removed = gateway.list(&listed).await;
    assert_eq!(count_rebuilt(&changed, &removed), [0, 0, 0]);
    assert_eq!(
        (removed.index.len(), gateway.count_mirrored().await),
        (TOOLS, TOOLS)
    );
}

#[tokio::test]
async fn the_mirror_is_complete_again_after_another_process_wrote_to_it() {
    let mut gateway = GrowingGateway::new().await;
    let mut listed = tools(3);
    gateway.list(&listed).await;
    let namespace = gateway.index.namespace().await.unwrap();
    gateway.store.replace_mirror(&namespace, &[]).await.unwrap();
    listed.push(json!({ "name": "new" }));
    gateway.list(&listed).await;
    assert_eq!(gateway.count_mirrored().await, 4);
    assert!(
        gateway
            .index
            .mirror_entry("bed__tool_0")
            .await
            .unwrap()
            .is_some()
    );
}
