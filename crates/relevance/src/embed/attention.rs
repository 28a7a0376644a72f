//! Self-attention: every token of a text takes from the others in proportion to how well they
//! match it.

use super::math::{self, FloatRows, LANES};
use crate::simd::VectorWork;

/// The attention of one text.
#[derive(Debug)]
pub(super) struct Attention<'a> {
    pub(super) head: usize,
    pub(super) width: usize,
    /// Query, key and value of every token side by side.
    pub(super) mixed: &'a [f32],
    pub(super) attended: &'a mut [f32],
    pub(super) buffers: &'a mut HeadBuffers,
}

/// One head's numbers laid out for multiplying: keys turned so that the lanes are tokens, and
/// all rows padded with zeros to whole lanes.
#[derive(Debug, Default)]
pub(super) struct HeadBuffers {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    out: Vec<f32>,
}

impl VectorWork for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            head,
            width,
            mixed,
            attended,
            buffers,
        } = self;
        let tokens = attended.len() / width;
        let (many, wide) = (tokens.next_multiple_of(LANES), head.next_multiple_of(LANES));
        buffers.clear(tokens, head, many, wide);
        for first in (0..width).step_by(head) {
            for (token, mixed) in mixed.chunks_exact(3 * width).enumerate() {
                let [query, key, value] =
                    [0, 1, 2].map(|part| &mixed[part * width + first..][..head]);
                buffers.put(token, query, key, value);
            }
            let queries = FloatRows::new(&buffers.queries, head);
            let keys = FloatRows::new(&buffers.keys, many);
            math::product(queries, keys, &mut buffers.scores);
            for row in buffers.scores.chunks_exact_mut(many) {
                math::softmax(&mut row[..tokens]);
            }
            let scores = FloatRows::new(&buffers.scores, many);
            let values = FloatRows::new(&buffers.values, wide);
            math::product(scores, values, &mut buffers.out);
            let outs = buffers.out.chunks_exact(wide);
            for (attended, out) in attended.chunks_exact_mut(width).zip(outs) {
                attended[first..][..head].copy_from_slice(&out[..head]);
            }
        }
    }
}

impl HeadBuffers {
    #[inline(always)]
    fn clear(&mut self, tokens: usize, head: usize, many: usize, wide: usize) {
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
    fn put(&mut self, token: usize, query: &[f32], key: &[f32], value: &[f32]) {
        let head = query.len();
        let many = self.keys.len() / head;
        let wide = self.values.len() / many;
        let scale = 1.0 / (head as f32).sqrt();
        for (out, query) in self.queries[token * head..].iter_mut().zip(query) {
            *out = query * scale;
        }
        for (row, key) in self.keys.chunks_exact_mut(many).zip(key) {
            row[token] = *key;
        }
        self.values[token * wide..][..head].copy_from_slice(value);
    }
}
