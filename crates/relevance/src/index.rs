//! The capability index: an immutable snapshot, searched with an intent, replaced whole when
//! anything changes.

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
    /// Absent until it has been computed; until then the words must do.
    pub vector: Option<Arc<[f32]>>,
}

#[derive(Debug, Default)]
pub struct Index {
    pub(crate) documents: Vec<Document>,
    pub(crate) lexical: Lexical,
    pub(crate) dense: Dense,
    by_name: HashMap<String, usize>,
}

impl Index {
    pub fn build(documents: Vec<Document>) -> Self {
        let joined: Vec<_> = documents
            .iter()
            .map(|it| {
                (
                    it.parameters.join(" "),
                    it.entry.tags.iter().chain(&it.entry.scopes).cloned().collect::<Vec<_>>().join(" "),
                )
            })
            .collect();
        let fields = documents.iter().zip(&joined).map(|(it, (parameters, tags))| Fields {
            name: &it.name,
            description: &it.entry.description,
            provider: &it.entry.provider,
            parameters,
            tags,
        });
        Self {
            lexical: Lexical::build(fields),
            dense: Dense::build(documents.iter().map(|it| it.vector.as_deref())),
            by_name: documents.iter().enumerate().map(|(at, it)| (it.entry.tool_name.clone(), at)).collect(),
            documents,
        }
    }

    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// How many capabilities have their vector.
    pub fn embedded(&self) -> usize {
        (0..self.len()).filter(|at| self.dense.has(*at)).count()
    }

    pub fn get(&self, tool_name: &str) -> Option<&Document> {
        self.by_name.get(tool_name).map(|at| &self.documents[*at])
    }
}
