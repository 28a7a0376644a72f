//! Models as published by Hugging Face: `model.safetensors`, `config.json` and a vocabulary.

use std::collections::HashMap;

use serde::Deserialize;

use super::checkpoint::{Checkpoint, TensorNames};
use super::error::ModelError;
use super::tensors::Tensors;
use super::weights::{ModelShape, ModelWeights};
use super::wordpiece::WordPiece;

/// The contents of a model directory.
#[derive(Debug, Clone, Copy)]
pub struct ModelFiles<'a> {
    /// `config.json`
    pub config: &'a [u8],
    /// `model.safetensors`
    pub weights: &'a [u8],
    pub vocabulary: Vocabulary<'a>,
    pub pooling: Pooling,
}

/// How the vectors of a text's tokens become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    #[default]
    Mean,
    /// Only the first token: `[CLS]`.
    First,
}

#[derive(Debug, Clone, Copy)]
pub enum Vocabulary<'a> {
    /// `vocab.txt`: one piece per line.
    Lines(&'a str),
    /// `tokenizer.json`.
    Json(&'a str),
}

impl ModelFiles<'_> {
    pub(super) fn read(&self) -> Result<(ModelShape, ModelWeights, WordPiece), ModelError> {
        let config: BertConfig =
            serde_json::from_slice(self.config).map_err(|source| ModelError::Json {
                file: "config",
                source,
            })?;
        let shape = config.shape()?;
        let words = self.vocabulary.read(shape.vocabulary)?;
        let tensors = Tensors::parse(self.weights)?;
        let names = TensorNames::published_in(&tensors);
        let weights = Checkpoint {
            tensors,
            names,
            epsilon: config.layer_norm_eps,
        }
        .weights(&shape)?;
        Ok((shape, weights, words))
    }
}

#[derive(Deserialize)]
struct BertConfig {
    #[serde(default = "bert")]
    model_type: String,
    #[serde(default = "gelu")]
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    #[serde(default = "layer_norm_eps")]
    layer_norm_eps: f32,
    num_hidden_layers: usize,
    hidden_size: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
}

impl BertConfig {
    fn shape(&self) -> Result<ModelShape, ModelError> {
        check_supported("model_type", &self.model_type, "bert")?;
        check_supported("hidden_act", &self.hidden_act, "gelu")?;
        check_supported(
            "position_embedding_type",
            &self.position_embedding_type,
            "absolute",
        )?;
        let shape = ModelShape {
            layers: self.num_hidden_layers,
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
        };
        shape.validate()
    }
}

fn check_supported(
    field: &'static str,
    found: &str,
    expected: &'static str,
) -> Result<(), ModelError> {
    if found == expected {
        Ok(())
    } else {
        Err(ModelError::Unsupported {
            field,
            found: found.to_owned(),
            expected,
        })
    }
}

fn bert() -> String {
    "bert".to_owned()
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

/// The default of BERT's own configuration.
fn layer_norm_eps() -> f32 {
    1e-12
}

impl Vocabulary<'_> {
    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Lines(text) | Self::Json(text) => text.as_bytes(),
        }
    }

    fn read(&self, known: usize) -> Result<WordPiece, ModelError> {
        match self {
            Self::Lines(text) => {
                let pieces: Vec<_> = text.lines().zip(0..).collect();
                Ok(WordPiece::new(&pieces, known)?)
            }
            Self::Json(text) => TokenizerFile::parse(text)?.words(known),
        }
    }
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
    #[serde(default)]
    normalizer: Normalizer,
}

impl TokenizerFile {
    fn parse(text: &str) -> Result<Self, ModelError> {
        serde_json::from_str(text).map_err(|source| ModelError::Json {
            file: "tokenizer",
            source,
        })
    }

    fn words(&self, known: usize) -> Result<WordPiece, ModelError> {
        check_supported("tokenizer", &self.model.kind, "WordPiece")?;
        check_supported("casing", self.normalizer.case_handling(), "lower case")?;
        let pieces = self.model.vocab.iter();
        let pieces: Vec<_> = pieces
            .map(|(piece, number)| (piece.as_str(), *number))
            .collect();
        Ok(WordPiece::new(&pieces, known)?)
    }
}

#[derive(Deserialize)]
struct TokenizerModel {
    #[serde(rename = "type")]
    kind: String,
    vocab: HashMap<String, u32>,
}

#[derive(Deserialize, Default)]
struct Normalizer {
    lowercase: Option<bool>,
}

impl Normalizer {
    fn case_handling(&self) -> &'static str {
        if self.lowercase == Some(false) {
            "as written"
        } else {
            "lower case"
        }
    }
}
