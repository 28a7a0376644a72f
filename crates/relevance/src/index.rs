//! The index of tools: an immutable snapshot, searched with an intent, replaced when a tool
//! changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dense::Dense;
use crate::indexed_tool::IndexedTool;
use crate::lexical::{Lexical, ToolFields};

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
    pub(crate) documents: Vec<Document>,
    pub(crate) lexical: Arc<Lexical>,
    pub(crate) dense: Dense,
    by_name: Arc<HashMap<String, usize>>,
}

impl Index {
    pub fn build(documents: Vec<Document>) -> Self {
        Self {
            lexical: Arc::new(words_of(&documents)),
            dense: Dense::build(documents.iter().map(|it| it.vector.clone())),
            by_name: Arc::new(numbered(&documents)),
            documents,
        }
    }

    /// Returns an index of the same tools with other vectors, one for each in the order they were
    /// given; their words are not read again.
    pub fn with_vectors(&self, vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut vectors = vectors.into_iter();
        let documents: Vec<Document> = self
            .documents
            .iter()
            .map(|document| Document {
                vector: vectors.next().flatten(),
                ..document.clone()
            })
            .collect();
        Self {
            lexical: self.lexical.clone(),
            dense: Dense::build(documents.iter().map(|it| it.vector.clone())),
            by_name: self.by_name.clone(),
            documents,
        }
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The tools, in the order they were given.
    pub fn documents(&self) -> &[Document] {
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
        self.by_name.get(tool_name).copied()
    }
}

fn numbered(documents: &[Document]) -> HashMap<String, usize> {
    let names = documents.iter().map(|it| it.entry.tool_name.clone());
    names.zip(0..).collect()
}

fn words_of(documents: &[Document]) -> Lexical {
    Lexical::build(documents.iter().map(fields))
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
