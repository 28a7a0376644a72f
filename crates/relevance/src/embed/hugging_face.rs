//! Models as Hugging Face publishes them: `model.safetensors`, `config.json` and a vocabulary.

use std::collections::HashMap;

use serde::Deserialize;

use super::error::ModelError;
use super::tensors::Tensors;
use super::weights::{LayerWeights, Matrix, Norm, Shape, Weights};
use super::wordpiece::WordPiece;

/// The contents of a model folder.
#[derive(Debug, Clone, Copy)]
pub struct ModelFiles<'a> {
    /// `config.json`
    pub config: &'a [u8],
    /// `model.safetensors`
    pub weights: &'a [u8],
    pub vocabulary: Vocabulary<'a>,
}

#[derive(Debug, Clone, Copy)]
pub enum Vocabulary<'a> {
    /// `vocab.txt`: one piece a line.
    Lines(&'a str),
    /// `tokenizer.json`.
    Json(&'a str),
}

impl ModelFiles<'_> {
    pub(super) fn read(&self) -> Result<(Shape, Weights, WordPiece), ModelError> {
        let config: Config = serde_json::from_slice(self.config)
            .map_err(|source| ModelError::Json { file: "config", source })?;
        let shape = config.shape()?;
        let words = self.vocabulary.read(shape.vocabulary)?;
        let tensors = Tensors::parse(self.weights)?;
        let weights = Names::found_in(&tensors).weights(&shape, config.layer_norm_eps)?;
        Ok((shape, weights, words))
    }
}

#[derive(Deserialize)]
struct Config {
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

impl Config {
    fn shape(&self) -> Result<Shape, ModelError> {
        supported("model_type", &self.model_type, "bert")?;
        supported("hidden_act", &self.hidden_act, "gelu")?;
        supported("position_embedding_type", &self.position_embedding_type, "absolute")?;
        let shape = Shape {
            layers: self.num_hidden_layers,
            hidden: self.hidden_size,
            heads: self.num_attention_heads,
            intermediate: self.intermediate_size,
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
        };
        shape.checked()
    }
}

fn supported(field: &'static str, found: &str, expected: &'static str) -> Result<(), ModelError> {
    if found == expected {
        Ok(())
    } else {
        Err(ModelError::Unsupported { field, found: found.to_owned(), expected })
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
                WordPiece::known(&pieces, known)
            }
            Self::Json(text) => {
                let file: TokenizerFile = serde_json::from_str(text)
                    .map_err(|source| ModelError::Json { file: "tokenizer", source })?;
                supported("tokenizer", &file.model.kind, "WordPiece")?;
                supported("casing", file.normalizer.casing(), "lower case")?;
                let pieces: Vec<_> =
                    file.model.vocab.iter().map(|(piece, number)| (piece.as_str(), *number)).collect();
                WordPiece::known(&pieces, known)
            }
        }
    }
}

impl WordPiece {
    /// A vocabulary whose every number has a row in the model.
    pub(super) fn known(pieces: &[(&str, u32)], known: usize) -> Result<Self, ModelError> {
        let needed = pieces.iter().map(|(_, number)| *number as usize + 1).max().unwrap_or(0);
        if needed > known {
            return Err(ModelError::VocabularySize { pieces: needed, known });
        }
        Ok(Self::new(pieces.iter().copied())?)
    }
}

#[derive(Deserialize)]
struct TokenizerFile {
    model: TokenizerModel,
    #[serde(default)]
    normalizer: Normalizer,
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
    fn casing(&self) -> &'static str {
        if self.lowercase == Some(false) { "as written" } else { "lower case" }
    }
}

/// How this file calls its tensors: some put the name of the architecture before each.
struct Names<'a> {
    tensors: &'a Tensors<'a>,
    prefix: &'static str,
}

impl<'a> Names<'a> {
    fn found_in(tensors: &'a Tensors<'a>) -> Self {
        let prefixed = |prefix: &&str| tensors.has(&format!("{prefix}{WORDS}.weight"));
        Self { tensors, prefix: ["", "bert.", "model."].into_iter().find(prefixed).unwrap_or("") }
    }

    fn weights(&self, shape: &Shape, epsilon: f32) -> Result<Weights, ModelError> {
        let Shape { hidden, positions, .. } = *shape;
        let mut position = self.floats(POSITIONS, &[positions, hidden])?;
        let kinds = self.floats(TYPES, &[2, hidden])?;
        for row in position.chunks_exact_mut(hidden) {
            row.iter_mut().zip(&kinds).for_each(|(value, kind)| *value += kind);
        }
        Ok(Weights {
            words: self.matrix(WORDS, shape.vocabulary, hidden)?,
            positions: position,
            norm: self.norm("embeddings.LayerNorm", hidden, epsilon)?,
            layers: (0..shape.layers)
                .map(|layer| self.layer(layer, shape, epsilon))
                .collect::<Result<_, _>>()?,
        })
    }

    fn layer(&self, number: usize, shape: &Shape, epsilon: f32) -> Result<LayerWeights, ModelError> {
        let Shape { hidden, intermediate, .. } = *shape;
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let matrix = |part: &str, rows, columns| self.matrix(&name(part), rows, columns);
        let bias =
            |part: &str, rows| self.tensors.floats(&format!("{}{}.bias", self.prefix, name(part)), &[rows]);
        let mix = |part: &str| matrix(&format!("attention.self.{part}"), hidden, hidden);
        let mix_bias = |part: &str| bias(&format!("attention.self.{part}"), hidden);
        Ok(LayerWeights {
            mix: mix("query")?.below(mix("key")?).below(mix("value")?),
            mix_bias: [mix_bias("query")?, mix_bias("key")?, mix_bias("value")?].concat(),
            merge: matrix("attention.output.dense", hidden, hidden)?,
            merge_bias: bias("attention.output.dense", hidden)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"), hidden, epsilon)?,
            inner: matrix("intermediate.dense", intermediate, hidden)?,
            inner_bias: bias("intermediate.dense", intermediate)?,
            output: matrix("output.dense", hidden, intermediate)?,
            output_bias: bias("output.dense", hidden)?,
            output_norm: self.norm(&name("output.LayerNorm"), hidden, epsilon)?,
        })
    }

    fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix, ModelError> {
        self.tensors.matrix(&format!("{}{name}.weight", self.prefix), rows, columns)
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        self.tensors.floats(&format!("{}{name}.weight", self.prefix), shape)
    }

    fn norm(&self, name: &str, width: usize, epsilon: f32) -> Result<Norm, ModelError> {
        let part = |part| self.tensors.floats(&format!("{}{name}.{part}", self.prefix), &[width]);
        Ok(Norm { weight: part("weight")?, bias: part("bias")?, epsilon })
    }
}

const WORDS: &str = "embeddings.word_embeddings";
const POSITIONS: &str = "embeddings.position_embeddings";
const TYPES: &str = "embeddings.token_type_embeddings";
