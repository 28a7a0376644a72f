//! Self-attention: every token of a text becomes a mean of all its tokens, weighted by how well
//! they match.

use super::math::{self, FloatPanels, FloatRows, LANES, ProductRows};
use kitbag_simd::VectorWork;

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

/// One head's numbers laid out for multiplication: the lanes of keys are tokens, the lanes of
/// values are numbers of one token, and both are padded with zeros to whole lanes.
#[derive(Debug, Default)]
pub(super) struct HeadBuffers {
    queries: Vec<f32>,
    keys: Vec<[f32; LANES]>,
    values: Vec<[f32; LANES]>,
    scores: Vec<f32>,
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
        buffers.clear(tokens, head);
        for first in (0..width).step_by(head) {
            for (token, mixed) in mixed.chunks_exact(3 * width).enumerate() {
                let [query, key, value] =
                    [0, 1, 2].map(|part| &mixed[part * width + first..][..head]);
                buffers.put(token, query, key, value);
            }
            buffers.score(tokens, head);
            buffers.gather(ProductRows {
                values: &mut attended[first..],
                width,
                columns: head,
            });
        }
    }
}

impl HeadBuffers {
    #[inline(always)]
    fn clear(&mut self, tokens: usize, head: usize) {
        let many = tokens.next_multiple_of(LANES);
        let (key_lanes, value_lanes) = (many / LANES * head, head.div_ceil(LANES) * many);
        for (lanes, size) in [(&mut self.keys, key_lanes), (&mut self.values, value_lanes)] {
            lanes.clear();
            lanes.resize(size, [0.0; LANES]);
        }
        self.queries.resize(tokens * head, 0.0);
        self.scores.resize(tokens * many, 0.0);
    }

    #[inline(always)]
    fn put(&mut self, token: usize, query: &[f32], key: &[f32], value: &[f32]) {
        let head = query.len();
        let scale = 1.0 / (head as f32).sqrt();
        let out = &mut self.queries[token * head..][..head];
        for (out, query) in out.iter_mut().zip(query) {
            *out = query * scale;
        }
        let out = &mut self.keys[token / LANES * head..][..head];
        for (lanes, key) in out.iter_mut().zip(key) {
            lanes[token % LANES] = *key;
        }
        let many = self.values.len() / head.div_ceil(LANES);
        let out = self.values[token..].iter_mut().step_by(many);
        let (whole, rest) = value.as_chunks();
        for (lanes, value) in out.zip(whole) {
            *lanes = *value;
        }
        if !rest.is_empty() {
            self.values[whole.len() * many + token][..rest.len()].copy_from_slice(rest);
        }
    }

    /// Computes the share that each token takes from each other.
    #[inline(always)]
    fn score(&mut self, tokens: usize, head: usize) {
        let many = self.scores.len() / tokens;
        let queries = FloatRows {
            values: &self.queries,
            width: head,
        };
        let keys = FloatPanels {
            lanes: &self.keys,
            rows: head,
        };
        let out = ProductRows {
            values: &mut self.scores,
            width: many,
            columns: many,
        };
        math::product(queries, keys, out);
        for row in self.scores.chunks_exact_mut(many) {
            math::softmax(&mut row[..tokens]);
        }
    }

    /// Adds up the values by the shares.
    #[inline(always)]
    fn gather(&self, attended: ProductRows<'_>) {
        let many = self.values.len() / attended.columns.div_ceil(LANES);
        let scores = FloatRows {
            values: &self.scores,
            width: many,
        };
        let values = FloatPanels {
            lanes: &self.values,
            rows: many,
        };
        math::product(scores, values, attended);
    }
}
