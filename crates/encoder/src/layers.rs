//! The parts of a transformer layer, over many tokens at once.
//!
//! Matrix products are int8: weights are rounded per output row when the model is loaded,
//! activations per token on the fly. All else is f32. A token's numbers depend only on the tokens
//! of its own text, so a batch gives the same bits as one text at a time.

use std::ops::Range;

use super::attention::{Attention, HeadBuffers};
use super::math;
use super::weights::{LayerWeights, Matrix, Norm};
use kitbag_simd::{self, PANEL, Panels, SimdLevel, Sink, VectorWork};

#[derive(Debug)]
pub(super) struct Layer {
    level: SimdLevel,
    heads: usize,
    mix: Linear,
    merge: Linear,
    attention_norm: Norm,
    inner: Linear,
    output: Linear,
    output_norm: Norm,
}

/// Buffers for the intermediate values of one pass.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rounded: Rounded,
    wide: Vec<f32>,
    narrow: Vec<f32>,
    head: HeadBuffers,
}

impl Layer {
    pub(super) fn new(level: SimdLevel, heads: usize, weights: LayerWeights) -> Self {
        Self {
            level,
            heads,
            mix: Linear::new(level, &weights.mix, weights.mix_bias),
            merge: Linear::new(level, &weights.merge, weights.merge_bias),
            attention_norm: weights.attention_norm,
            inner: Linear::new(level, &weights.inner, weights.inner_bias),
            output: Linear::new(level, &weights.output, weights.output_bias),
            output_norm: weights.output_norm,
        }
    }

    /// Replaces `hidden`, one row per token. The tokens within a range of `texts` see each other.
    pub(super) fn apply(&self, hidden: &mut [f32], texts: &[Range<usize>], scratch: &mut Scratch) {
        self.attend(hidden, texts, scratch);
        self.feed_forward(hidden, scratch);
    }

    fn attend(&self, hidden: &mut [f32], texts: &[Range<usize>], scratch: &mut Scratch) {
        let Scratch {
            rounded,
            wide,
            narrow,
            head,
        } = scratch;
        let width = self.merge.rows;
        rounded.fill(self.level, hidden, width);
        self.mix.apply(rounded, wide);
        narrow.resize(hidden.len(), 0.0);
        for text in texts {
            self.level.run(Attention {
                head: width / self.heads,
                width,
                mixed: &wide[text.start * 3 * width..text.end * 3 * width],
                attended: &mut narrow[text.start * width..text.end * width],
                buffers: head,
            });
        }
        rounded.fill(self.level, narrow, width);
        self.merge.apply(rounded, narrow);
        self.level.run(AddNorm {
            hidden,
            update: narrow,
            norm: &self.attention_norm,
        });
    }

    fn feed_forward(&self, hidden: &mut [f32], scratch: &mut Scratch) {
        let Scratch {
            rounded,
            wide,
            narrow,
            ..
        } = scratch;
        rounded.fill(self.level, hidden, self.merge.rows);
        self.inner.apply(rounded, wide);
        self.level.run(Gelu(wide));
        rounded.fill(self.level, wide, self.inner.rows);
        self.output.apply(rounded, narrow);
        self.level.run(AddNorm {
            hidden,
            update: narrow,
            norm: &self.output_norm,
        });
    }
}

impl Norm {
    #[inline(always)]
    pub(super) fn apply(&self, hidden: &mut [f32]) {
        for row in hidden.chunks_exact_mut(self.weight.len()) {
            math::layer_norm(row, &self.weight, &self.bias, self.epsilon);
        }
    }
}

struct AddNorm<'a> {
    hidden: &'a mut [f32],
    update: &'a [f32],
    norm: &'a Norm,
}

impl VectorWork for AddNorm<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (value, update) in self.hidden.iter_mut().zip(self.update) {
            *value += update;
        }
        self.norm.apply(self.hidden);
    }
}

struct Gelu<'a>(&'a mut [f32]);

impl VectorWork for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.0 {
            *value = math::gelu(*value);
        }
    }
}

/// Activations as bytes, with a scale per token.
#[derive(Debug, Default)]
struct Rounded {
    values: Vec<i8>,
    steps: Vec<f32>,
}

impl Rounded {
    fn fill(&mut self, level: SimdLevel, hidden: &[f32], width: usize) {
        let tokens = hidden.len() / width;
        self.values.clear();
        self.values
            .resize(tokens * kitbag_simd::padded_width(width), 0);
        self.steps.resize(tokens, 0.0);
        level.run(Round {
            hidden,
            width,
            out: self,
        });
    }
}

struct Round<'a> {
    hidden: &'a [f32],
    width: usize,
    out: &'a mut Rounded,
}

impl VectorWork for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.hidden.chunks_exact(self.width);
        let outs = self
            .out
            .values
            .chunks_exact_mut(kitbag_simd::padded_width(self.width));
        for ((row, out), step) in rows.zip(outs).zip(&mut self.out.steps) {
            *step = math::quantize(row, out);
        }
    }
}

#[derive(Debug)]
struct Linear {
    rows: usize,
    panels: Panels,
    /// Padded to whole panels, like the bias.
    steps: Vec<f32>,
    bias: Vec<f32>,
}

impl Linear {
    fn new(level: SimdLevel, matrix: &Matrix, bias: Vec<f32>) -> Self {
        Self {
            rows: matrix.steps.len(),
            panels: Panels::pack(level, &matrix.values, matrix.columns),
            steps: whole_panels(matrix.steps.clone()),
            bias: whole_panels(bias),
        }
    }

    fn apply(&self, input: &Rounded, out: &mut Vec<f32>) {
        out.resize(input.steps.len() * self.rows, 0.0);
        self.panels.multiply(
            &input.values,
            &mut ScaledSums {
                linear: self,
                tokens: &input.steps,
                out,
            },
        );
    }
}

fn whole_panels(mut values: Vec<f32>) -> Vec<f32> {
    values.resize(values.len().next_multiple_of(PANEL), 0.0);
    values
}

/// Converts sums of bytes back to floats.
struct ScaledSums<'a> {
    linear: &'a Linear,
    tokens: &'a [f32],
    out: &'a mut [f32],
}

impl Sink for ScaledSums<'_> {
    #[inline(always)]
    fn receive(&mut self, panel: usize, token: usize, sums: &[i32; PANEL]) {
        let (first, rows) = (panel * PANEL, self.linear.rows);
        let steps = &self.linear.steps[first..][..PANEL];
        let bias = &self.linear.bias[first..][..PANEL];
        let mut values = [0.0; PANEL];
        for row in 0..PANEL {
            values[row] = sums[row] as f32 * (self.tokens[token] * steps[row]) + bias[row];
        }
        let out = &mut self.out[token * rows + first..(token + 1) * rows];
        match out.first_chunk_mut() {
            Some(out) => *out = values,
            None => out.copy_from_slice(&values[..out.len()]),
        }
    }
}
