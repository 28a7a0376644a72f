//! The index of tools: an immutable snapshot to search, replaced when a tool changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::blocks::BlockSizes;
use crate::dense::{BlockVectors, Dense, find_dimension, similarity};
use crate::indexed_tool::IndexedTool;
use crate::lexical::{BlockWords, DocumentWords, Lexical, ToolFields};

/// All that the index needs to know about one tool.
#[derive(Debug, Clone)]
pub struct Document {
    pub entry: Arc<IndexedTool>,
    /// The tool's name without the server prefix.
    pub name: String,
    pub parameters: Vec<String>,
    /// Equal for copies of one tool on different servers. `None` if the definition is too short to
    /// decide.
    pub twin: Option<u64>,
    /// Absent until the embedder has computed it; until then only words find the tool.
    pub vector: Option<Arc<[f32]>>,
}

#[derive(Debug, Default)]
pub struct Index {
    pub(crate) documents: Vec<Arc<Document>>,
    pub(crate) lexical: Lexical,
    pub(crate) dense: Dense,
    blocks: Vec<Block>,
}

/// A run of consecutive tools with their search data. Consecutive snapshots share the parts that
/// did not change.
#[derive(Debug, Clone)]
struct Block {
    /// The position of its first tool in the index.
    first: usize,
    /// Positions within the block.
    by_name: Arc<HashMap<String, usize>>,
    words: Arc<BlockWords>,
    vectors: Arc<BlockVectors>,
}

impl Index {
    pub fn build(documents: Vec<Document>) -> Self {
        Self::default().with_documents(documents.into_iter().map(Arc::new).collect())
    }

    /// Returns an index of these tools. It gives the same results as one built from scratch, but
    /// reuses the unchanged parts of this one.
    #[must_use]
    pub fn with_documents(&self, documents: Vec<Arc<Document>>) -> Self {
        self.with_documents_in_blocks(documents, BlockSizes::DEFAULT)
    }

    fn with_documents_in_blocks(&self, documents: Vec<Arc<Document>>, sizes: BlockSizes) -> Self {
        let vectors = documents.iter().filter_map(|it| it.vector.as_deref());
        let dimension = find_dimension(vectors);
        let lengths = sizes.split_lengths(documents.iter().map(|it| it.entry.tool_name.as_str()));
        let mut blocks = Vec::with_capacity(lengths.len());
        let mut first = 0;
        for length in lengths {
            let block = self.share_or_build_block(&documents[first..first + length], dimension);
            blocks.push(Block { first, ..block });
            first += length;
        }
        let words = blocks.iter().map(|it| it.words.clone());
        let vectors = blocks.iter().map(|it| it.vectors.clone());
        Self {
            lexical: Lexical::new(words.collect()),
            dense: Dense::new(vectors.collect(), dimension),
            blocks,
            documents,
        }
    }

    /// Returns a block of these tools that shares what it can with a block of this index.
    fn share_or_build_block(&self, documents: &[Arc<Document>], dimension: usize) -> Block {
        let Some((before, known)) = self.find_matching_block(documents) else {
            return Block {
                first: 0,
                by_name: Arc::new(positions_by_name(documents)),
                words: Arc::new(self.read_words(documents)),
                vectors: Arc::new(build_vectors(documents, dimension)),
            };
        };
        let pairs = || documents.iter().zip(known);
        let mut block = before.clone();
        if !pairs().all(|(a, b)| a.entry.tool_name == b.entry.tool_name) {
            block.by_name = Arc::new(positions_by_name(documents));
        }
        if !pairs().all(|(a, b)| have_same_words(a, b)) {
            block.words = Arc::new(self.read_words(documents));
        }
        let is_same_dimension = block.vectors.dimension == dimension;
        if !(is_same_dimension && pairs().all(|(a, b)| have_same_vector(a, b))) {
            block.vectors = Arc::new(build_vectors(documents, dimension));
        }
        block
    }

    /// Returns a block that starts with the same tool and has the same length, and its documents.
    fn find_matching_block(
        &self,
        documents: &[Arc<Document>],
    ) -> Option<(&Block, &[Arc<Document>])> {
        let block = self.find_block(&documents[0].entry.tool_name)?;
        let known = self.block_documents(block);
        let begins_alike = known[0].entry.tool_name == documents[0].entry.tool_name;
        (begins_alike && known.len() == documents.len()).then_some((block, known))
    }

    /// Tokenizes the tools, except the ones that this index already knows.
    fn read_words(&self, documents: &[Arc<Document>]) -> BlockWords {
        let mut known = KnownWords::default();
        let words = documents.iter().map(|document| {
            let known = known.get(self, document);
            known.unwrap_or_else(|| DocumentWords::from_fields(&tool_fields(document)))
        });
        BlockWords::new(words.collect())
    }

    fn find_block(&self, tool_name: &str) -> Option<&Block> {
        // If two tools have the same name, the later one counts.
        let mut blocks = self.blocks.iter().rev();
        blocks.find(|block| block.by_name.contains_key(tool_name))
    }

    fn block_documents(&self, block: &Block) -> &[Arc<Document>] {
        &self.documents[block.first..block.first + block.words.len()]
    }

    /// Returns an index of the same tools with new vectors, one per tool in order. No text is
    /// tokenized again.
    #[must_use]
    pub fn with_vectors(&self, vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut vectors = vectors.into_iter();
        let documents = self.documents.iter().map(|document| {
            let vector = vectors.next().flatten();
            match is_same_vector(document.vector.as_ref(), vector.as_ref()) {
                true => document.clone(),
                false => Arc::new(Document {
                    vector,
                    ..Document::clone(document)
                }),
            }
        });
        self.with_documents(documents.collect())
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The tools in the given order.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// The number of tools with a comparable vector.
    pub fn embedded_count(&self) -> usize {
        self.dense.vector_count()
    }

    /// True if every tool has a comparable vector.
    pub fn is_complete(&self) -> bool {
        self.embedded_count() == self.len()
    }

    /// True if the tool at this position has a comparable vector.
    pub fn is_embedded(&self, position: usize) -> bool {
        self.dense.has_vector(position)
    }

    pub fn get(&self, tool_name: &str) -> Option<&Document> {
        Some(&self.documents[self.position(tool_name)?])
    }

    pub(crate) fn position(&self, tool_name: &str) -> Option<usize> {
        let block = self.find_block(tool_name)?;
        Some(block.first + block.by_name[tool_name])
    }

    /// Returns the exact cosine for one tool: the dot product, since vectors have length one.
    pub(crate) fn cosine(&self, query: &[f32], position: usize) -> Option<f32> {
        let vector = self.documents[position].vector.as_deref()?;
        let is_comparable = self.is_embedded(position) && query.len() == vector.len();
        is_comparable.then(|| similarity(query, vector))
    }
}

/// The tokenized tools of an index, unpacked one block at a time on demand.
#[derive(Default)]
struct KnownWords {
    by_block: HashMap<usize, Vec<DocumentWords>>,
}

impl KnownWords {
    fn get(&mut self, index: &Index, document: &Document) -> Option<DocumentWords> {
        let name = &document.entry.tool_name;
        let block = index.find_block(name)?;
        let within = block.by_name[name];
        if !have_same_words(&index.documents[block.first + within], document) {
            return None;
        }
        let words = self.by_block.entry(block.first);
        Some(words.or_insert_with(|| block.words.to_documents())[within].clone())
    }
}

fn positions_by_name(documents: &[Arc<Document>]) -> HashMap<String, usize> {
    let names = documents.iter().map(|it| it.entry.tool_name.clone());
    names.zip(0..).collect()
}

fn build_vectors(documents: &[Arc<Document>], dimension: usize) -> BlockVectors {
    let vectors = documents.iter().map(|it| it.vector.as_deref());
    BlockVectors::new(&vectors.collect::<Vec<_>>(), dimension)
}

fn have_same_words(one: &Arc<Document>, other: &Document) -> bool {
    let (entry, others) = (&one.entry, &other.entry);
    std::ptr::eq(&raw const **one, other)
        || one.name == other.name
            && one.parameters == other.parameters
            && (Arc::ptr_eq(entry, others)
                || entry.description == others.description
                    && entry.server == others.server
                    && entry.tags == others.tags
                    && entry.scopes == others.scopes)
}

fn have_same_vector(one: &Document, other: &Document) -> bool {
    is_same_vector(one.vector.as_ref(), other.vector.as_ref())
}

fn is_same_vector(one: Option<&Arc<[f32]>>, other: Option<&Arc<[f32]>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

fn tool_fields(document: &Document) -> ToolFields<'_> {
    let tool = &document.entry;
    let tags: Vec<&str> = tool
        .tags
        .iter()
        .chain(&tool.scopes)
        .map(String::as_str)
        .collect();
    ToolFields {
        name: &document.name,
        description: &tool.description,
        server: &tool.server,
        parameters: document.parameters.join(" ").into(),
        tags: tags.join(" ").into(),
    }
}

#[cfg(test)]
mod tests;
