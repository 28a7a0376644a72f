//! An updated index gives the same results as one built from scratch.

use proptest::prelude::*;

use super::*;
use crate::{Options, Query, retrieve};

const SMALL: BlockSizes = BlockSizes {
    least: 2,
    most: 12,
    one_in: 4,
};
const WORDS: [&str; 12] = [
    "create",
    "list",
    "issue",
    "issues",
    "file",
    "mail",
    "weather",
    "send",
    "repository",
    "page",
    "search",
    "delete",
];

/// A change to one tool.
#[derive(Debug, Clone)]
enum Edit {
    Insert(usize, u32),
    Remove(usize),
    Describe(usize, u32),
    Embed(usize, u32),
    Forget(usize),
    Measure(usize, u32),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<usize>();
    prop_oneof![
        4 => (at, any::<u32>()).prop_map(|(at, seed)| Edit::Insert(at, seed)),
        2 => at.prop_map(Edit::Remove),
        1 => (at, any::<u32>()).prop_map(|(at, seed)| Edit::Describe(at, seed)),
        3 => (at, any::<u32>()).prop_map(|(at, seed)| Edit::Embed(at, seed)),
        1 => at.prop_map(Edit::Forget),
        1 => (at, any::<u32>()).prop_map(|(at, seed)| Edit::Measure(at, seed)),
    ]
}

fn phrase(seed: u32) -> String {
    let words = (0..2 + seed % 7).map(|n| WORDS[(seed as usize >> n) % WORDS.len()]);
    words.collect::<Vec<_>>().join(" ")
}

fn vector(seed: u32) -> Arc<[f32]> {
    let values = [
        1.0,
        (seed % 13) as f32,
        (seed % 7) as f32,
        -((seed % 5) as f32),
    ];
    let norm = values.iter().map(|x| x * x).sum::<f32>().sqrt();
    values.iter().map(|x| x / norm).collect()
}

fn document(number: u32) -> Document {
    let name = phrase(number).replace(' ', "_");
    Document {
        entry: Arc::new(IndexedTool {
            tool_name: format!("server{}__{name}_{number}", number % 3),
            server: format!("server{}", number % 3),
            description: phrase(number.wrapping_mul(2_654_435_761)),
            tags: vec![phrase(number >> 3)],
            ..IndexedTool::default()
        }),
        name,
        parameters: vec![phrase(number >> 5)],
        twin: number.is_multiple_of(11).then_some(u64::from(number % 2)),
        vector: (!number.is_multiple_of(3)).then(|| vector(number)),
    }
}

fn change(documents: &mut Vec<Arc<Document>>, edit: &Edit) {
    let len = documents.len();
    match *edit {
        Edit::Insert(at, seed) => documents.insert(at % (len + 1), Arc::new(document(seed))),
        _ if len == 0 => {}
        Edit::Remove(at) => drop(documents.remove(at % len)),
        Edit::Describe(at, seed) => {
            change_entry(&mut documents[at % len], |it| it.description = phrase(seed));
        }
        Edit::Measure(at, seed) => {
            change_entry(&mut documents[at % len], |it| {
                it.p95_latency_ms = Some(f64::from(seed));
            });
        }
        Edit::Embed(at, seed) => {
            Arc::make_mut(&mut documents[at % len]).vector = Some(vector(seed));
        }
        Edit::Forget(at) => Arc::make_mut(&mut documents[at % len]).vector = None,
    }
}

fn change_entry(document: &mut Arc<Document>, change: impl FnOnce(&mut IndexedTool)) {
    change(Arc::make_mut(&mut Arc::make_mut(document).entry));
}

#[track_caller]
fn assert_same(one: &Index, other: &Index) {
    assert_eq!(one.len(), other.len());
    for (number, text) in WORDS.iter().enumerate() {
        let (text, vector) = (
            format!("{text} {}", phrase(number as u32 + 40)),
            vector(number as u32),
        );
        let (words, others) = (
            one.lexical.score_text(&text),
            other.lexical.score_text(&text),
        );
        assert_eq!(words.scores, others.scores);
        assert_eq!(words.attainable.to_bits(), others.attainable.to_bits());
        for vector in [Some(&*vector), None] {
            let found = [one, other].map(|index| {
                let query = Query {
                    text: &text,
                    vector,
                    steps: &[],
                    votes: None,
                };
                retrieve(index, query, &Options::default(), |_| true)
            });
            assert_eq!(found[0], found[1]);
        }
    }
    for (at, document) in one.documents.iter().enumerate() {
        let name = &document.entry.tool_name;
        assert_eq!(one.position(name), other.position(name));
        assert_eq!(one.is_embedded(at), other.is_embedded(at));
    }
}

proptest! {
    #[test]
    fn after_any_changes_an_index_finds_the_same_as_a_new_one(
        start in proptest::collection::vec(any::<u32>(), 0..60),
        edits in proptest::collection::vec((edit(), any::<bool>()), 1..40),
    ) {
        let mut documents: Vec<_> = start.into_iter().map(|it| Arc::new(document(it))).collect();
        let mut index = Index::default().with_documents_in_blocks(documents.clone(), SMALL);
        for (edit, is_seen) in edits {
            change(&mut documents, &edit);
            if is_seen {
                index = index.with_documents_in_blocks(documents.clone(), SMALL);
            }
        }
        index = index.with_documents_in_blocks(documents.clone(), SMALL);
        let plain = documents.iter().map(|it| Document::clone(it)).collect();
        assert_same(&index, &Index::build(plain));
    }
}

/// Counts the tools in blocks whose words, and whose vectors, the later index does not share.
fn rebuilt(before: &Index, after: &Index) -> (usize, usize) {
    let mut rebuilt = (0, 0);
    for block in &after.blocks {
        let len = block.words.len();
        if !before
            .blocks
            .iter()
            .any(|it| Arc::ptr_eq(&it.words, &block.words))
        {
            rebuilt.0 += len;
        }
        if !before
            .blocks
            .iter()
            .any(|it| Arc::ptr_eq(&it.vectors, &block.vectors))
        {
            rebuilt.1 += len;
        }
    }
    rebuilt
}

#[test]
fn a_change_of_one_of_ten_thousand_tools_rebuilds_only_its_block() {
    let documents: Vec<_> = (0..10_000).map(|it| Arc::new(document(it))).collect();
    let index = Index::default().with_documents(documents.clone());
    let most = BlockSizes::DEFAULT.most;
    let check = |what: &str, edit: Edit, words: bool, vectors: bool| {
        let mut documents = documents.clone();
        change(&mut documents, &edit);
        let after = index.with_documents(documents);
        let rebuilt = rebuilt(&index, &after);
        assert!(
            rebuilt.0 <= most && rebuilt.1 <= most,
            "{what}: {rebuilt:?}"
        );
        assert_eq!((rebuilt.0 > 0, rebuilt.1 > 0), (words, vectors), "{what}");
    };
    check("added", Edit::Insert(5_000, 20_001), true, true);
    check("removed", Edit::Remove(5_000), true, true);
    check("described", Edit::Describe(5_000, 7), true, false);
    check("embedded", Edit::Embed(5_000, 7), false, true);
    check("measured", Edit::Measure(5_000, 7), false, false);
}

#[test]
fn the_words_of_a_tool_are_read_once() {
    let documents: Vec<_> = (0..10_000).map(|it| Arc::new(document(it))).collect();
    let index = Index::default().with_documents(documents.clone());
    let mut known = KnownWords::default();
    let unread = documents
        .iter()
        .filter(|it| known.get(&index, it).is_none());
    assert_eq!(unread.count(), 0);
    let new = document(10_001);
    assert!(known.get(&index, &new).is_none());
    let changed = Document {
        name: "other".to_owned(),
        ..Document::clone(&documents[9])
    };
    assert!(known.get(&index, &changed).is_none());
}
