//! A model's numbers, read and checked, before they are laid out for a machine.

use super::error::ModelError;
use super::math;

/// The sizes of a BERT-family encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelShape {
    pub layers: usize,
    pub hidden: usize,
    pub heads: usize,
    pub intermediate: usize,
    pub vocabulary: usize,
    pub positions: usize,
}

/// The sum of a row of byte products this long still fits into 32 bits (2^16 · 2^14 < 2^31).
const MAX_WIDTH: usize = 1 << 16;

impl ModelShape {
    pub(super) fn validate(self) -> Result<Self, ModelError> {
        let parts = [
            ("layers", self.layers),
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("intermediate", self.intermediate),
            ("vocabulary", self.vocabulary),
        ];
        let empty = parts.into_iter().find(|(_, size)| *size == 0);
        let reason = if let Some((part, _)) = empty {
            format!("{part} is 0")
        } else if self.hidden.max(self.intermediate) > MAX_WIDTH {
            format!("rows are longer than {MAX_WIDTH}")
        } else if !self.hidden.is_multiple_of(self.heads) {
            let Self { heads, hidden, .. } = self;
            format!("{heads} heads do not divide a width of {hidden}")
        } else if self.positions < MIN_POSITIONS {
            "fewer than two positions".to_owned()
        } else {
            return Ok(self);
        };
        Err(ModelError::Shape { reason })
    }
}

/// The tokens that mark the start and the end of a text take one each.
const MIN_POSITIONS: usize = 2;

#[derive(Debug)]
pub(super) struct ModelWeights {
    pub(super) words: Matrix,
    /// Position and token type, added up.
    pub(super) positions: Vec<f32>,
    pub(super) norm: Norm,
    pub(super) layers: Vec<LayerWeights>,
}

#[derive(Debug)]
pub(super) struct LayerWeights {
    /// Query, key and value, one below the other.
    pub(super) mix: Matrix,
    pub(super) mix_bias: Vec<f32>,
    pub(super) merge: Matrix,
    pub(super) merge_bias: Vec<f32>,
    pub(super) attention_norm: Norm,
    pub(super) inner: Matrix,
    pub(super) inner_bias: Vec<f32>,
    pub(super) output: Matrix,
    pub(super) output_bias: Vec<f32>,
    pub(super) output_norm: Norm,
}

#[derive(Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

/// Bytes with one step size per row.
#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) columns: usize,
    pub(super) values: Vec<i8>,
    pub(super) steps: Vec<f32>,
}

impl Matrix {
    /// Rounds floats to bytes, row by row.
    pub(super) fn round(values: &[f32], columns: usize) -> Self {
        let mut bytes = vec![0; values.len()];
        let rows = values
            .chunks_exact(columns)
            .zip(bytes.chunks_exact_mut(columns));
        let steps = rows.map(|(row, out)| math::quantize(row, out)).collect();
        Self {
            columns,
            values: bytes,
            steps,
        }
    }

    /// Puts another matrix below this one.
    pub(super) fn below(mut self, other: Self) -> Self {
        self.values.extend(other.values);
        self.steps.extend(other.steps);
        self
    }

    /// Returns a row as floats.
    #[inline(always)]
    pub(super) fn row(&self, number: usize) -> impl Iterator<Item = f32> {
        let step = self.steps[number];
        self.values[number * self.columns..][..self.columns]
            .iter()
            .map(move |value| f32::from(*value) * step)
    }
}
