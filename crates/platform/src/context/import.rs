//! Imports facts from a file of JSON lines: all of them, or none if one is invalid.

use kitbag_domain::{Remedy, Tenant};
use kitbag_store::{ContextVector, FactImport, FactImportOutcome, NewFact, Store};

use super::MOST_FACTS;
use super::fact::{self, FactLine};
use crate::embedding::{EmbedFunction, EmbeddingFailed, TextsToEmbed};

/// The batch size of embedding services.
const TEXTS_AT_ONCE: usize = 128;

/// A file of facts, and the tenant that may read them.
#[derive(Debug, Clone)]
pub struct ContextImport<'a> {
    /// One fact per line.
    pub text: &'a str,
    /// Absent if all tenants may read them.
    pub holder: Option<Tenant>,
    /// The source whose facts of this holder are replaced by the new ones.
    pub replaced_source: Option<&'a str>,
}

/// The result of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedFacts {
    pub added: u64,
    pub replaced: u64,
    /// Facts that were already stored.
    pub known: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ContextImportError {
    #[error("line {number} is not a fact: {reason}")]
    Line { number: usize, reason: String },
    #[error("line {number} has the source `{found}`, but only `{replaced}` is to be replaced")]
    OtherSource {
        number: usize,
        found: String,
        replaced: String,
    },
    #[error("there would be {would_be} facts; the limit is {MOST_FACTS}")]
    TooMany { would_be: i64 },
    #[error("the facts cannot be embedded")]
    Embedding(#[from] EmbeddingFailed),
    #[error(transparent)]
    Store(#[from] kitbag_store::Error),
}

pub async fn import_facts(
    store: &Store,
    embed: &EmbedFunction,
    import: &ContextImport<'_>,
) -> Result<ImportedFacts, ContextImportError> {
    let mut facts = read_facts(import)?;
    for some in facts.chunks_mut(TEXTS_AT_ONCE) {
        embed_facts(some, embed).await?;
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
        FactImportOutcome::Imported { added, replaced } => Ok(ImportedFacts {
            added,
            replaced,
            known: facts.len() as u64 - added,
        }),
        FactImportOutcome::TooMany { would_be } => Err(ContextImportError::TooMany { would_be }),
    }
}

fn read_facts(import: &ContextImport<'_>) -> Result<Vec<NewFact>, ContextImportError> {
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
    let fact = read.into_fact(import.holder.clone());
    match import.replaced_source {
        Some(replaced) if replaced != fact.source => Err(ContextImportError::OtherSource {
            number,
            found: fact.source,
            replaced: replaced.to_owned(),
        }),
        _ => Ok(fact),
    }
}

async fn embed_facts(facts: &mut [NewFact], embed: &EmbedFunction) -> Result<(), EmbeddingFailed> {
    let texts = facts.iter().map(fact::text_to_embed).collect();
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
                Some("nothing was imported; a file that replaces a source may only have facts of that source".to_owned())
            }
            Self::TooMany { .. } => {
                Some("nothing was imported; delete some first: kitbag context forget --source NAME".to_owned())
            }
            Self::Embedding(_) => {
                Some("nothing was imported; check [index] with kitbag doctor".to_owned())
            }
            Self::Store(_) => None,
        }
    }
}
