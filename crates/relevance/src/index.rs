//! The index of tools: an immutable snapshot, searched with an intent, replaced when a tool
//! changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::blocks::BlockSizes;
use crate::dense::{BlockVectors, Dense, dimension_of, similarity};
use crate::indexed_tool::IndexedTool;
use crate::lexical::{BlockWords, DocumentWords, Lexical, ToolFields};

/// Everything that the index needs of one tool.
#[derive(Debug, Clone)]
pub struct Document {
    pub entry: Arc<IndexedTool>,
    /// The tool's own name, without the server in front.
    pub name: String,
    pub parameters: Vec<String>,
    /// The same number in copies of one tool, which only their servers tell apart; nothing if the
    /// definition says too little to tell.
    pub twin: Option<u64>,
    /// Absent until the embedder has computed it; until then the tool is found by its words.
    pub vector: Option<Arc<[f32]>>,
}

#[derive(Debug, Default)]
pub struct Index {
    pub(crate) documents: Vec<Arc<Document>>,
    pub(crate) lexical: Lexical,
    pub(crate) dense: Dense,
    blocks: Vec<Block>,
}

/// Tools that stand side by side, with what searches need to know of them. Two indices share all of it that
/// is the same.
#[derive(Debug, Clone)]
struct Block {
    /// The position of its first tool in the index.
    first: usize,
    /// The positions in the block.
    by_name: Arc<HashMap<String, usize>>,
    words: Arc<BlockWords>,
    vectors: Arc<BlockVectors>,
}

impl Index {
    pub fn build(documents: Vec<Document>) -> Self {
        Self::default().succeeded_by(documents.into_iter().map(Arc::new).collect())
    }

    /// Returns the index of these tools. It searches like one that is built of them alone, and takes over
    /// what this one knows of those that are the same.
    #[must_use]
    pub fn succeeded_by(&self, documents: Vec<Arc<Document>>) -> Self {
        self.succeeded_in_blocks(documents, BlockSizes::USUAL)
    }

    fn succeeded_in_blocks(&self, documents: Vec<Arc<Document>>, sizes: BlockSizes) -> Self {
        let vectors = documents.iter().filter_map(|it| it.vector.as_deref());
        let dimension = dimension_of(vectors);
        let lengths = sizes.cut(documents.iter().map(|it| it.entry.tool_name.as_str()));
        let mut blocks = Vec::with_capacity(lengths.len());
        let mut first = 0;
        for length in lengths {
            let block = self.block_of(&documents[first..first + length], dimension);
            blocks.push(Block { first, ..block });
            first += length;
        }
        let words = blocks.iter().map(|it| it.words.clone());
        let vectors = blocks.iter().map(|it| it.vectors.clone());
        Self {
            lexical: Lexical::of(words.collect()),
            dense: Dense::of(vectors.collect(), dimension),
            blocks,
            documents,
        }
    }

    /// Returns a block of these tools, with whatever is the same in a block of this index.
    fn block_of(&self, documents: &[Arc<Document>], dimension: usize) -> Block {
        let Some((before, known)) = self.like(documents) else {
            return Block {
                first: 0,
                by_name: Arc::new(numbered(documents)),
                words: Arc::new(self.words_of(documents)),
                vectors: Arc::new(vectors_of(documents, dimension)),
            };
        };
        let pairs = || documents.iter().zip(known);
        let mut block = before.clone();
        if !pairs().all(|(a, b)| a.entry.tool_name == b.entry.tool_name) {
            block.by_name = Arc::new(numbered(documents));
        }
        if !pairs().all(|(a, b)| have_same_words(a, b)) {
            block.words = Arc::new(self.words_of(documents));
        }
        let is_same_dimension = block.vectors.dimension == dimension;
        if !(is_same_dimension && pairs().all(|(a, b)| have_same_vector(a, b))) {
            block.vectors = Arc::new(vectors_of(documents, dimension));
        }
        block
    }

    /// Returns a block that begins with the same tool and is as long, and its tools.
    fn like(&self, documents: &[Arc<Document>]) -> Option<(&Block, &[Arc<Document>])> {
        let block = self.block_with(&documents[0].entry.tool_name)?;
        let known = self.documents_of(block);
        let begins_alike = known[0].entry.tool_name == documents[0].entry.tool_name;
        (begins_alike && known.len() == documents.len()).then_some((block, known))
    }

    /// Reads the words of those tools that this index does not know.
    fn words_of(&self, documents: &[Arc<Document>]) -> BlockWords {
        let mut known = KnownWords::default();
        let words = documents.iter().map(|document| {
            let known = known.of(self, document);
            known.unwrap_or_else(|| DocumentWords::read(&fields(document)))
        });
        BlockWords::of(words.collect())
    }

    fn block_with(&self, tool_name: &str) -> Option<&Block> {
        // Of two tools with one name the later counts.
        let mut blocks = self.blocks.iter().rev();
        blocks.find(|block| block.by_name.contains_key(tool_name))
    }

    fn documents_of(&self, block: &Block) -> &[Arc<Document>] {
        &self.documents[block.first..block.first + block.words.len()]
    }

    /// Returns an index of the same tools with other vectors, one for each in the order they were
    /// given; their words are not read again.
    #[must_use]
    pub fn with_vectors(&self, vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut vectors = vectors.into_iter();
        let documents = self.documents.iter().map(|document| {
            let vector = vectors.next().flatten();
            match is_same(document.vector.as_ref(), vector.as_ref()) {
                true => document.clone(),
                false => Arc::new(Document {
                    vector,
                    ..Document::clone(document)
                }),
            }
        });
        self.succeeded_by(documents.collect())
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The tools, in the order they were given.
    pub fn documents(&self) -> &[Arc<Document>] {
        &self.documents
    }

    /// The number of tools with a vector that can be compared.
    pub fn embedded(&self) -> usize {
        self.dense.present()
    }

    /// True if no tool lacks such a vector.
    pub fn is_complete(&self) -> bool {
        self.embedded() == self.len()
    }

    /// True if the tool at this position has a vector that can be compared.
    pub fn is_embedded(&self, position: usize) -> bool {
        self.dense.has(position)
    }

    pub fn get(&self, tool_name: &str) -> Option<&Document> {
        Some(&self.documents[self.position(tool_name)?])
    }

    pub(crate) fn position(&self, tool_name: &str) -> Option<usize> {
        let block = self.block_with(tool_name)?;
        Some(block.first + block.by_name[tool_name])
    }

    /// Returns the exact cosine of one tool. Vectors are of length one, so it is the product.
    pub(crate) fn cosine(&self, query: &[f32], position: usize) -> Option<f32> {
        let vector = self.documents[position].vector.as_deref()?;
        let is_comparable = self.is_embedded(position) && query.len() == vector.len();
        is_comparable.then(|| similarity(query, vector))
    }
}

/// The words of the tools of an index, block by block as they are needed.
#[derive(Default)]
struct KnownWords {
    by_block: HashMap<usize, Vec<DocumentWords>>,
}

impl KnownWords {
    fn of(&mut self, index: &Index, document: &Document) -> Option<DocumentWords> {
        let name = &document.entry.tool_name;
        let block = index.block_with(name)?;
        let within = block.by_name[name];
        if !have_same_words(&index.documents[block.first + within], document) {
            return None;
        }
        let words = self.by_block.entry(block.first);
        Some(words.or_insert_with(|| block.words.documents())[within].clone())
    }
}

fn numbered(documents: &[Arc<Document>]) -> HashMap<String, usize> {
    let names = documents.iter().map(|it| it.entry.tool_name.clone());
    names.zip(0..).collect()
}

fn vectors_of(documents: &[Arc<Document>], dimension: usize) -> BlockVectors {
    let vectors = documents.iter().map(|it| it.vector.as_deref());
    BlockVectors::of(&vectors.collect::<Vec<_>>(), dimension)
}

fn have_same_words(one: &Arc<Document>, other: &Document) -> bool {
    let (entry, others) = (&one.entry, &other.entry);
    std::ptr::eq(&raw const **one, other)
        || one.name == other.name
            && one.parameters == other.parameters
            && (Arc::ptr_eq(entry, others)
                || entry.description == others.description
                    && entry.provider == others.provider
                    && entry.tags == others.tags
                    && entry.scopes == others.scopes)
}

fn have_same_vector(one: &Document, other: &Document) -> bool {
    is_same(one.vector.as_ref(), other.vector.as_ref())
}

fn is_same(one: Option<&Arc<[f32]>>, other: Option<&Arc<[f32]>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

fn fields(document: &Document) -> ToolFields<'_> {
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
        provider: &tool.provider,
        parameters: document.parameters.join(" ").into(),
        tags: tags.join(" ").into(),
    }
}

#[cfg(test)]
mod tests;
