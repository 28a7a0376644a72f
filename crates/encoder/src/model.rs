//! The encoder: a text becomes a vector of length one, and texts of similar meaning get vectors of
//! similar direction.

use std::cell::RefCell;
use std::ops::Range;

use super::container;
use super::error::ModelError;
use super::hugging_face::{ModelFiles, Pooling};
use super::layers::{Layer, Scratch};
use super::math;
use super::weights::{Matrix, ModelShape, ModelWeights, Norm};
use super::wordpiece::WordPiece;
use kitbag_simd::{SimdLevel, VectorWork};

/// A longer text is truncated. The model was trained on texts of this length, and the start of a
/// tool's description is the most informative.
pub const MAX_TOKENS: usize = 128;

/// Tokens that share one pass over the weights: enough to reuse every weight often, and few enough
/// that the intermediate values fit into a core's cache.
const BATCH_TOKENS: usize = 128;

/// A BERT-family sentence encoder. It can be shared between threads, and gives the same bits for a
/// text on every machine, in a batch or not.
#[derive(Debug)]
pub struct Encoder {
    id: ModelId,
    shape: ModelShape,
    level: SimdLevel,
    pieces: WordPiece,
    pooling: Pooling,
    words: Matrix,
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

/// Identifies a model by its content: vectors with the same id are comparable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId(String);

impl ModelId {
    /// Must change with any change of the arithmetic that gives other vectors from the same files.
    const ARITHMETIC: &str = "kitbag encoder 1";

    fn for_files(files: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(Self::ARITHMETIC);
        for file in files {
            hasher.update(blake3::hash(file).as_bytes());
        }
        // 128 bits, in hexadecimal digits, are enough to distinguish models.
        Self(hasher.finalize().to_hex()[..32].to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Encoder {
    /// Reads Kitbag's own model file.
    pub fn from_container(bytes: &[u8]) -> Result<Self, ModelError> {
        let (shape, weights, pieces) = container::read(bytes)?;
        Ok(Self::new(
            SimdLevel::best(),
            ModelId::for_files(&[bytes]),
            shape,
            weights,
            pieces,
        ))
    }

    /// Reads a model as published: float weights, rounded here.
    pub fn from_files(files: ModelFiles<'_>) -> Result<Self, ModelError> {
        let (shape, weights, pieces) = files.read()?;
        let pooling: &[u8] = match files.pooling {
            Pooling::Mean => b"mean",
            Pooling::First => b"first",
        };
        let id = ModelId::for_files(&[
            files.config,
            files.weights,
            files.vocabulary.as_bytes(),
            pooling,
        ]);
        Ok(Self {
            pooling: files.pooling,
            ..Self::new(SimdLevel::best(), id, shape, weights, pieces)
        })
    }

    pub fn id(&self) -> &ModelId {
        &self.id
    }

    pub fn shape(&self) -> ModelShape {
        self.shape
    }

    pub fn dimension(&self) -> usize {
        self.shape.hidden
    }

    /// True if the vocabulary has the lower-case word as one piece.
    pub fn knows_word(&self, word: &str) -> bool {
        self.pieces.knows(word)
    }

    pub fn embed(&self, text: &str) -> Vec<f32> {
        let tokens = self.tokens(text);
        let whole = 0..tokens.len();
        self.pass(&tokens, &[whole]).remove(0)
    }

    /// Returns the same vectors as [`embed`](Self::embed), with less work per text when texts are
    /// short.
    pub fn embed_batch(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(texts.len());
        let (mut tokens, mut spans) = (Vec::new(), Vec::new());
        for (at, text) in texts.iter().enumerate() {
            let start = tokens.len();
            tokens.extend(self.tokens(text));
            spans.push(start..tokens.len());
            if tokens.len() >= BATCH_TOKENS || at + 1 == texts.len() {
                vectors.extend(self.pass(&tokens, &spans));
                tokens.clear();
                spans.clear();
            }
        }
        vectors
    }

    pub(super) fn new(
        level: SimdLevel,
        id: ModelId,
        shape: ModelShape,
        weights: ModelWeights,
        pieces: WordPiece,
    ) -> Self {
        let layers = weights.layers.into_iter();
        Self {
            id,
            shape,
            level,
            pieces,
            pooling: Pooling::Mean,
            words: weights.words,
            positions: weights.positions,
            norm: weights.norm,
            layers: layers
                .map(|weights| Layer::new(level, shape.heads, weights))
                .collect(),
        }
    }

    fn tokens(&self, text: &str) -> Vec<u32> {
        self.pieces
            .encode(text, MAX_TOKENS.min(self.shape.positions))
    }

    /// Returns one vector per text; `texts` has the range of its tokens.
    fn pass(&self, tokens: &[u32], texts: &[Range<usize>]) -> Vec<Vec<f32>> {
        // Each thread keeps its buffers: clearing new memory took an eighth of the whole time.
        thread_local! {
            static BUFFERS: RefCell<(Vec<f32>, Scratch)> = RefCell::default();
        }
        BUFFERS.with_borrow_mut(|(hidden, scratch)| {
            self.level.run(LookUp {
                model: self,
                tokens,
                texts,
                hidden,
            });
            for layer in &self.layers {
                layer.apply(hidden, texts, scratch);
            }
            let pools = texts.iter().map(|text| self.pool(hidden, text));
            pools.map(|pool| self.level.run(pool)).collect()
        })
    }

    fn pool<'h>(&self, hidden: &'h [f32], text: &Range<usize>) -> Pool<'h> {
        let width = self.shape.hidden;
        let tokens = match self.pooling {
            Pooling::Mean => text.len(),
            Pooling::First => 1,
        };
        Pool {
            hidden: &hidden[text.start * width..][..tokens * width],
            width,
        }
    }
}

struct LookUp<'a> {
    model: &'a Encoder,
    tokens: &'a [u32],
    texts: &'a [Range<usize>],
    hidden: &'a mut Vec<f32>,
}

impl VectorWork for LookUp<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Encoder {
            words,
            positions,
            norm,
            shape,
            ..
        } = self.model;
        self.hidden.clear();
        for text in self.texts {
            let positions = positions.chunks_exact(shape.hidden);
            for (token, position) in self.tokens[text.clone()].iter().zip(positions) {
                let word = words.row(*token as usize);
                self.hidden
                    .extend(word.zip(position).map(|(word, position)| word + position));
            }
        }
        norm.apply(self.hidden);
    }
}

/// The mean direction of a text's tokens.
struct Pool<'a> {
    hidden: &'a [f32],
    width: usize,
}

impl VectorWork for Pool<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run(self) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for row in self.hidden.chunks_exact(self.width) {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
        math::normalize(&mut sum);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_gives_the_same_bits() {
        let bytes = include_bytes!("../tests/fixtures/tiny/embedder.bin");
        let mut vectors = SimdLevel::all().map(|level| {
            let (shape, weights, pieces) = container::read(bytes).unwrap();
            let encoder = Encoder::new(level, ModelId::for_files(&[bytes]), shape, weights, pieces);
            ["", "create_issue", "list the files in a mail to a user"]
                .map(|text| encoder.embed(text))
        });
        let plain = vectors.next().unwrap();
        assert!(vectors.all(|vectors| vectors == plain));
    }
}
