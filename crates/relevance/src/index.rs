//! The capability index: an immutable snapshot, searched with an intent, replaced when anything
//! changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dense::Dense;
use crate::entry::Entry;
use crate::lexical::{Fields, Lexical};

/// What is put into the index for one capability.
#[derive(Debug, Clone)]
pub struct Document {
    pub entry: Arc<Entry>,
    /// Its own name, without the server in front.
    pub name: String,
    pub parameters: Vec<String>,
    /// The same in copies of one tool, which only their servers tell apart; nothing where a tool
    /// says too little of itself to know.
    pub twin: Option<u64>,
    /// Absent until it has been computed; until then the words must do.
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
            by_name: Arc::new(
                documents
                    .iter()
                    .enumerate()
                    .map(|(at, it)| (it.entry.tool_name.clone(), at))
                    .collect(),
            ),
            documents,
        }
    }

    /// The same capabilities with other vectors, one for each in the order they were given;
    /// their words are not read again.
    pub fn with_vectors(&self, vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut vectors = vectors.into_iter();
        let documents: Vec<Document> = self
            .documents
            .iter()
            .map(|it| Document {
                vector: vectors.next().flatten(),
                ..it.clone()
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

    /// How many capabilities have a vector that can be compared.
    pub fn embedded(&self) -> usize {
        self.dense.present()
    }

    pub fn get(&self, tool_name: &str) -> Option<&Document> {
        self.by_name.get(tool_name).map(|at| &self.documents[*at])
    }
}

fn words_of(documents: &[Document]) -> Lexical {
    Lexical::build(documents.iter().map(|it| {
        let tags = it.entry.tags.iter().chain(&it.entry.scopes);
        Fields {
            name: &it.name,
            description: &it.entry.description,
            provider: &it.entry.provider,
            parameters: it.parameters.join(" ").into(),
            tags: tags
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ")
                .into(),
        }
    }))
}
