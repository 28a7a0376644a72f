//! Takes facts from a file of lines of JSON: all of them or, if one has a mistake, none.

use kitbag_domain::{Remedy, Tenant};
use kitbag_store::{ContextVector, FactImport, FactsImported, NewFact, Store};

use super::MOST_FACTS;
use super::fact::{self, FactLine};
use crate::embedding::{EmbedFunction, EmbeddingFailed, TextsToEmbed};

/// Texts that are embedded at once; a service takes no more at a time.
const TEXTS_AT_ONCE: usize = 128;

/// A file of facts, and those who may read them.
#[derive(Debug, Clone)]
pub struct ContextImport<'a> {
    /// A fact on each line.
    pub text: &'a str,
    /// Absent if all tenants may read them.
    pub holder: Option<Tenant>,
    /// The facts of this source that the holder has make room for the new ones.
    pub replaced_source: Option<&'a str>,
}

/// The facts that came and went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedFacts {
    pub added: u64,
    pub replaced: u64,
    /// Facts of the file that were there already.
    pub known: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ContextImportError {
    #[error("line {number} is no fact: {reason}")]
    Line { number: usize, reason: String },
    #[error("line {number} is about the source `{found}`, and `{replaced}` is to be replaced")]
    OtherSource {
        number: usize,
        found: String,
        replaced: String,
    },
    #[error("there would be {would_be} facts, and there may be {MOST_FACTS}")]
    TooMany { would_be: i64 },
    #[error("the meaning of the facts cannot be computed")]
    Embedding(#[from] EmbeddingFailed),
    #[error(transparent)]
    Store(#[from] kitbag_store::Error),
}

pub async fn import(
    store: &Store,
    embed: &EmbedFunction,
    import: &ContextImport<'_>,
) -> Result<ImportedFacts, ContextImportError> {
    let mut facts = read(import)?;
    for some in facts.chunks_mut(TEXTS_AT_ONCE) {
        give_meaning(some, embed).await?;
    }
    let imported = store
        .import_facts(FactImport {
            holder: import.holder.as_ref(),
            replaced_source: import.replaced_source,
            facts: &facts,
            most: MOST_FACTS,
        })
        .await?;
    match imported {
        FactsImported::Imported { added, replaced } => Ok(ImportedFacts {
            added,
            replaced,
            known: facts.len() as u64 - added,
        }),
        FactsImported::TooMany { would_be } => Err(ContextImportError::TooMany { would_be }),
    }
}

fn read(import: &ContextImport<'_>) -> Result<Vec<NewFact>, ContextImportError> {
    let lines = import.text.lines().zip(1..);
    lines
        .filter(|(line, _)| !line.trim().is_empty())
        .map(|(line, number)| read_line(line, number, import))
        .collect()
}

fn read_line(
    line: &str,
    number: usize,
    import: &ContextImport<'_>,
) -> Result<NewFact, ContextImportError> {
    let read: FactLine = serde_json::from_str(line).map_err(|error| ContextImportError::Line {
        number,
        reason: error.to_string(),
    })?;
    let fact = read.fact(import.holder.clone());
    match import.replaced_source {
        Some(replaced) if replaced != fact.source => Err(ContextImportError::OtherSource {
            number,
            found: fact.source,
            replaced: replaced.to_owned(),
        }),
        _ => Ok(fact),
    }
}

async fn give_meaning(facts: &mut [NewFact], embed: &EmbedFunction) -> Result<(), EmbeddingFailed> {
    let texts = facts.iter().map(fact::text).collect();
    let embedded = embed(TextsToEmbed::Documents(texts)).await?;
    for (fact, vector) in facts.iter_mut().zip(embedded.vectors) {
        let model = embedded.model.clone();
        fact.meaning = Some(ContextVector { model, vector });
    }
    Ok(())
}

impl Remedy for ContextImportError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Line { .. } => Some(
                "nothing was imported; correct the line: {\"subject\", \"predicate\", \"object\", \"source\": \
                 {\"name\", \"url\", \"quote\"}, \"authority\", \"observed_at\", \"valid_until\"}"
                    .to_owned(),
            ),
            Self::OtherSource { .. } => {
                Some("nothing was imported; a file that replaces a source has its facts alone".to_owned())
            }
            Self::TooMany { .. } => {
                Some("nothing was imported; forget some first: kitbag context forget --source NAME".to_owned())
            }
            Self::Embedding(_) => {
                Some("nothing was imported; see what is wrong with [index]: kitbag doctor".to_owned())
            }
            Self::Store(_) => None,
        }
    }
}
