//! The parts of a transformer layer, over many tokens at once.
//!
//! Matrix products are int8: weights rounded per output row when the model is loaded,
//! activations per token as they come. All else is f32. A token's numbers depend only on the
//! tokens of its own text, so a batch gives the same bits as one text at a time.

use std::ops::Range;

use super::math::{self, LANES};
use super::weights::{LayerWeights, Matrix, Norm};
use crate::simd::{self, Level, PANEL, Panels};

#[derive(Debug)]
pub(super) struct Layer {
    level: Level,
    heads: usize,
    mix: Linear,
    merge: Linear,
    attention_norm: Norm,
    inner: Linear,
    output: Linear,
    output_norm: Norm,
}

/// Room for what one pass computes on its way.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    rounded: Rounded,
    wide: Vec<f32>,
    narrow: Vec<f32>,
    attention: Attention,
}

impl Layer {
    pub(super) fn new(level: Level, heads: usize, weights: LayerWeights) -> Self {
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

    /// Replaces `hidden`, one row per token; `texts` says which tokens see each other.
    pub(super) fn apply(&self, hidden: &mut [f32], texts: &[Range<usize>], scratch: &mut Scratch) {
        let Scratch { rounded, wide, narrow, attention } = scratch;
        let width = self.merge.rows;

        rounded.fill(self.level, hidden, width);
        self.mix.apply(rounded, wide);
        narrow.resize(hidden.len(), 0.0);
        for text in texts {
            let mixed = &wide[text.start * 3 * width..text.end * 3 * width];
            let attended = &mut narrow[text.start * width..text.end * width];
            self.level.run(|| attention.apply(mixed, self.heads, width, attended));
        }
        rounded.fill(self.level, narrow, width);
        self.merge.apply(rounded, narrow);
        self.level.run(|| self.attention_norm.add(hidden, narrow));

        rounded.fill(self.level, hidden, width);
        self.inner.apply(rounded, wide);
        self.level.run(|| wide.iter_mut().for_each(|value| *value = math::gelu(*value)));
        rounded.fill(self.level, wide, self.inner.rows);
        self.output.apply(rounded, narrow);
        self.level.run(|| self.output_norm.add(hidden, narrow));
    }
}

impl Norm {
    #[inline(always)]
    pub(super) fn apply(&self, hidden: &mut [f32]) {
        for row in hidden.chunks_exact_mut(self.weight.len()) {
            math::layer_norm(row, &self.weight, &self.bias, self.epsilon);
        }
    }

    #[inline(always)]
    fn add(&self, hidden: &mut [f32], update: &[f32]) {
        for (value, update) in hidden.iter_mut().zip(update) {
            *value += update;
        }
        self.apply(hidden);
    }
}

/// Activations as bytes: each token on a grid of its own.
#[derive(Debug, Default)]
struct Rounded {
    values: Vec<i8>,
    steps: Vec<f32>,
}

impl Rounded {
    fn fill(&mut self, level: Level, hidden: &[f32], width: usize) {
        let padded = simd::padded(width);
        self.values.clear();
        self.values.resize(hidden.len() / width * padded, 0);
        self.steps.clear();
        level.run(|| {
            for (row, out) in hidden.chunks_exact(width).zip(self.values.chunks_exact_mut(padded)) {
                self.steps.push(math::quantise(row, out));
            }
        });
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
    fn new(level: Level, matrix: &Matrix, bias: Vec<f32>) -> Self {
        let rows = matrix.steps.len();
        let whole = |mut values: Vec<f32>| {
            values.resize(rows.next_multiple_of(PANEL), 0.0);
            values
        };
        let panels = Panels::pack(level, &matrix.values, matrix.columns);
        Self { rows, panels, steps: whole(matrix.steps.clone()), bias: whole(bias) }
    }

    fn apply(&self, input: &Rounded, out: &mut Vec<f32>) {
        out.resize(input.steps.len() * self.rows, 0.0);
        self.panels.multiply(&input.values, |panel, token, sums| {
            let first = panel * PANEL;
            let steps = &self.steps[first..][..PANEL];
            let bias = &self.bias[first..][..PANEL];
            let mut values = [0.0; PANEL];
            for row in 0..PANEL {
                values[row] = sums[row] as f32 * (input.steps[token] * steps[row]) + bias[row];
            }
            let count = PANEL.min(self.rows - first);
            out[token * self.rows + first..][..count].copy_from_slice(&values[..count]);
        });
    }
}

/// Self-attention of one text, a head at a time, on copies laid out for it: keys turned so that
/// the lanes are tokens, and everything padded with zeros to whole lanes.
#[derive(Debug, Default)]
struct Attention {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    out: Vec<f32>,
}

impl Attention {
    /// `mixed` has query, key and value of every token side by side.
    #[inline(always)]
    fn apply(&mut self, mixed: &[f32], heads: usize, width: usize, attended: &mut [f32]) {
        let tokens = attended.len() / width;
        let head = width / heads;
        let (many, wide) = (tokens.next_multiple_of(LANES), head.next_multiple_of(LANES));
        self.resize(tokens, head, many, wide);
        for first in (0..width).step_by(head) {
            self.gather(mixed, first, head, width);
            math::product(&self.queries, head, &self.keys, many, &mut self.scores);
            for row in self.scores.chunks_exact_mut(many) {
                math::softmax(&mut row[..tokens]);
            }
            math::product(&self.scores, many, &self.values, wide, &mut self.out);
            for (attended, out) in attended.chunks_exact_mut(width).zip(self.out.chunks_exact(wide)) {
                attended[first..][..head].copy_from_slice(&out[..head]);
            }
        }
    }

    #[inline(always)]
    fn resize(&mut self, tokens: usize, head: usize, many: usize, wide: usize) {
        let sizes = [
            (&mut self.queries, tokens * head),
            (&mut self.keys, head * many),
            (&mut self.values, many * wide),
            (&mut self.scores, tokens * many),
            (&mut self.out, tokens * wide),
        ];
        for (buffer, size) in sizes {
            buffer.clear();
            buffer.resize(size, 0.0);
        }
    }

    #[inline(always)]
    fn gather(&mut self, mixed: &[f32], first: usize, head: usize, width: usize) {
        let many = self.keys.len() / head;
        let wide = self.values.len() / many;
        let scale = 1.0 / (head as f32).sqrt();
        for (token, mixed) in mixed.chunks_exact(3 * width).enumerate() {
            let part = |which: usize| &mixed[which * width + first..][..head];
            for (out, query) in self.queries[token * head..].iter_mut().zip(part(0)) {
                *out = query * scale;
            }
            for (row, key) in self.keys.chunks_exact_mut(many).zip(part(1)) {
                row[token] = *key;
            }
            self.values[token * wide..][..head].copy_from_slice(part(2));
        }
    }
}
