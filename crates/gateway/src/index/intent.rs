//! An intent that a client asks tools for, with the vectors by which the intent is compared.

use std::sync::Arc;

use kitbag_relevance::language::foreign;
use kitbag_relevance::learned::Votes;
use kitbag_relevance::{Index, Intent, IntentStep, spelling, steps};

use super::CapabilityIndex;
use kitbag_domain::Remedy as _;
use kitbag_domain::sync::lock;
use kitbag_embedding::{EmbedderError, TextEmbedder};

/// No intent needs so many bytes, and no model reads more.
const MAX_TEXT: usize = 4_000;

pub struct EmbeddedIntent {
    text: String,
    vectors: Option<Arc<Vectors>>,
    /// The votes of past uses, where there are any.
    pub(crate) votes: Option<Votes>,
    /// The reason why words alone decide, though vectors were wanted.
    pub degraded: Option<String>,
    /// The text with its misspelt words corrected, if it has any; the vectors are of this one.
    pub corrected: Option<String>,
    /// The language of the intent, if the model is known not to know it.
    pub language: Option<&'static str>,
}

pub(super) struct Vectors {
    whole: Arc<[f32]>,
    steps: Vec<IntentStep>,
}

impl CapabilityIndex {
    /// An intent as a caller puts it. The built-in model was trained on English alone; of another model it
    /// is not known. The vector of a foreign intent still finds more than its words.
    pub async fn asked(&self, text: &str) -> EmbeddedIntent {
        let language = self.embedder.is_built_in().then(|| foreign(text)).flatten();
        let corrected = match language {
            None => self.corrected(&self.snapshot().index, text).await,
            Some(_) => None,
        };
        let intent = self.intent(corrected.as_deref().unwrap_or(text)).await;
        EmbeddedIntent {
            language,
            corrected,
            ..intent
        }
    }

    /// The text with its misspelt words corrected against the words of an index, if it has any.
    pub async fn corrected(&self, index: &Index, text: &str) -> Option<String> {
        let vocabulary = self.embedder.vocabulary().await?;
        spelling::corrected(index, &bounded(text), |word| vocabulary.knows(word))
    }

    /// An intent with its vectors; without, where the embedder fails. One that says nothing has
    /// none.
    pub async fn intent(&self, text: &str) -> EmbeddedIntent {
        let text = bounded(text);
        if text.trim().is_empty() {
            return EmbeddedIntent::of_words(text);
        }
        let known = lock(&self.intents).get(&text);
        if known.is_some() {
            return EmbeddedIntent {
                vectors: known,
                ..EmbeddedIntent::of_words(text)
            };
        }
        match Vectors::of_text(&text, &self.embedder).await {
            Ok(vectors) => {
                let vectors = Arc::new(vectors);
                lock(&self.intents).put(&text, vectors.clone());
                EmbeddedIntent {
                    vectors: Some(vectors),
                    ..EmbeddedIntent::of_words(text)
                }
            }
            Err(error) => {
                tracing::debug!(%error, "an intent has no vector");
                EmbeddedIntent {
                    degraded: Some(degraded(&error)),
                    ..EmbeddedIntent::of_words(text)
                }
            }
        }
    }
}

impl Vectors {
    async fn of_text(text: &str, embedder: &TextEmbedder) -> Result<Self, EmbedderError> {
        let steps = steps::split(text);
        let texts = std::iter::once(text.to_owned()).chain(steps.iter().cloned());
        let vectors = embedder.queries(texts.collect()).await?;
        Ok(Self::of(steps, vectors))
    }

    /// Takes the vector of the whole text and then those of its steps.
    fn of(steps: Vec<String>, vectors: Vec<Vec<f32>>) -> Self {
        let mut vectors = vectors.into_iter().map(Arc::from);
        let whole = vectors.next().expect("every text has a vector");
        let steps = steps
            .into_iter()
            .zip(vectors)
            .map(|(text, vector)| IntentStep { text, vector })
            .collect();
        Self { whole, steps }
    }
}

impl EmbeddedIntent {
    /// An intent that is asked once, of no gateway.
    pub(super) async fn once(text: &str, embedder: &TextEmbedder) -> Result<Self, EmbedderError> {
        let vectors = Vectors::of_text(text, embedder).await?;
        Ok(Self {
            vectors: Some(Arc::new(vectors)),
            ..Self::of_words(text.to_owned())
        })
    }

    /// An intent to be compared by its words alone.
    pub fn of_words(text: String) -> Self {
        Self {
            text,
            vectors: None,
            votes: None,
            degraded: None,
            corrected: None,
            language: None,
        }
    }

    /// The vector of the whole text, if there are vectors.
    pub fn vector(&self) -> Option<Arc<[f32]>> {
        self.vectors.as_ref().map(|it| it.whole.clone())
    }

    pub fn as_intent(&self) -> Intent<'_> {
        let vectors = self.vectors.as_deref();
        Intent {
            text: &self.text,
            vector: vectors.map(|it| &*it.whole),
            steps: vectors.map(|it| &*it.steps).unwrap_or_default(),
            votes: self.votes.as_ref(),
        }
    }
}

fn bounded(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

/// Returns the text that people and programs read when words alone decide.
pub(crate) fn degraded(error: &EmbedderError) -> String {
    let remedy = error
        .remedy()
        .map(|remedy| format!("; {remedy}"))
        .unwrap_or_default();
    format!("found by words alone: {error}{remedy}")
}
