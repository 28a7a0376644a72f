//! Kitbag's own model file: everything that the encoder needs, quantized to bytes, in one
//! safetensors file.
//!
//! Tensors are named `word`, `position`, `norm.weight`, `0.query.weight`, … as in
//! `training/bases.py`. A matrix is `I8` with its steps per row in `F32` under the same name and
//! ` scale`; vectors are floats. `vocabulary` is text in `U8`, one piece per line. The metadata has
//! `format` = `kitbag-embedder-1`, `heads` and, unless it is 1e-12, `epsilon`. All other sizes are
//! taken from the tensors.

use super::checkpoint::{Checkpoint, TensorNames};
use super::error::ModelError;
use super::tensors::Tensors;
use super::weights::{ModelShape, ModelWeights};
use super::wordpiece::WordPiece;

const FORMAT: &str = "kitbag-embedder-1";

pub(super) fn read(bytes: &[u8]) -> Result<(ModelShape, ModelWeights, WordPiece), ModelError> {
    let tensors = Tensors::parse(bytes)?;
    let format = tensors.metadata("format").unwrap_or_default();
    if format != FORMAT {
        return Err(ModelError::Unsupported {
            field: "format",
            found: format.to_owned(),
            expected: FORMAT,
        });
    }
    let shape = shape(&tensors)?;
    let text = tensors.text("vocabulary")?;
    let pieces: Vec<_> = text.lines().zip(0..).collect();
    let words = WordPiece::new(&pieces, shape.vocabulary)?;
    let epsilon = number(&tensors, "epsilon", Some(1e-12))?;
    let weights = Checkpoint {
        tensors,
        names: TensorNames::Ours,
        epsilon,
    }
    .weights(&shape)?;
    Ok((shape, weights, words))
}

fn shape(tensors: &Tensors<'_>) -> Result<ModelShape, ModelError> {
    let (vocabulary, hidden) = tensors.size("word")?;
    let (positions, _) = tensors.size("position")?;
    let (intermediate, _) = tensors.size("0.inner.weight")?;
    let layers = (0..)
        .take_while(|layer| tensors.has(&format!("{layer}.query.weight")))
        .count();
    let heads = number(tensors, "heads", None)?;
    ModelShape {
        layers,
        hidden,
        heads,
        intermediate,
        vocabulary,
        positions,
    }
    .validate()
}

fn number<Number: std::str::FromStr>(
    tensors: &Tensors<'_>,
    key: &'static str,
    default: Option<Number>,
) -> Result<Number, ModelError> {
    let found = tensors.metadata(key);
    let number = found.map_or(default, |text| text.parse().ok());
    let found = found.unwrap_or_default().to_owned();
    number.ok_or(ModelError::Unsupported {
        field: key,
        found,
        expected: "a number",
    })
}
