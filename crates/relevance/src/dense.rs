//! Vector search: finds the tools whose meaning is most similar to a query's.
//!
//! Every search compares all tools by quantized vectors, which is fast enough for a hundred
//! thousand tools, and then the few best exactly.

use std::sync::Arc;

use kitbag_simd::{self as simd, PANEL, Panels, SimdLevel, Sink};

/// The vectors of all documents, in blocks.
#[derive(Debug, Default)]
pub(crate) struct Dense {
    dimension: usize,
    blocks: Vec<Arc<BlockVectors>>,
    /// The quantization step of each document; 0 without a vector.
    steps: Vec<f32>,
    present: usize,
}

/// The quantized vectors of one block.
#[derive(Debug)]
pub(crate) struct BlockVectors {
    pub(crate) dimension: usize,
    bytes: Option<Panels>,
    steps: Vec<f32>,
}

impl Dense {
    /// All blocks must have been built for this dimension.
    pub(crate) fn new(blocks: Vec<Arc<BlockVectors>>, dimension: usize) -> Self {
        let steps: Vec<f32> = blocks.iter().flat_map(|it| &it.steps).copied().collect();
        Self {
            dimension,
            present: steps.iter().filter(|step| **step > 0.0).count(),
            steps,
            blocks,
        }
    }

    /// The number of documents with a vector.
    pub(crate) fn vector_count(&self) -> usize {
        self.present
    }

    pub(crate) fn has_vector(&self, document: usize) -> bool {
        self.steps.get(document).is_some_and(|step| *step > 0.0)
    }

    /// True if this vector can be compared with the documents' vectors.
    pub(crate) fn can_compare(&self, query: &[f32]) -> bool {
        self.present > 0 && query.len() == self.dimension && is_comparable(query)
    }

    /// Returns the cosine of every query with every document, to two or three digits; 0 for
    /// documents without a vector. [`can_compare`](Self::can_compare) must accept each query.
    pub(crate) fn rough_cosines(&self, queries: &[&[f32]]) -> Vec<Vec<f32>> {
        if self.present == 0 || queries.is_empty() {
            return Vec::new();
        }
        let (tokens, query_steps) = quantize_queries(queries, simd::padded_width(self.dimension));
        let mut cosines = vec![vec![0.0; self.steps.len()]; queries.len()];
        let mut first = 0;
        for block in &self.blocks {
            let mut scaled = CosineSink {
                steps: &block.steps,
                query_steps: &query_steps,
                first,
                cosines: &mut cosines,
            };
            if let Some(bytes) = &block.bytes {
                bytes.multiply(&tokens, &mut scaled);
            }
            first += block.steps.len();
        }
        cosines
    }
}

impl BlockVectors {
    /// Takes one entry per document: `None` until its vector is computed. Vectors that are not
    /// comparable or have another dimension are left out.
    pub(crate) fn new(vectors: &[Option<&[f32]>], dimension: usize) -> Self {
        let usable = |vector: &&[f32]| vector.len() == dimension && is_comparable(vector);
        let vectors: Vec<_> = vectors.iter().map(|it| it.filter(usable)).collect();
        if vectors.iter().flatten().next().is_none() {
            return Self {
                dimension,
                bytes: None,
                steps: vec![0.0; vectors.len()],
            };
        }
        let (bytes, steps) = quantize_all(&vectors, dimension);
        Self {
            dimension,
            bytes: Some(Panels::pack(SimdLevel::best(), &bytes, dimension)),
            steps,
        }
    }
}

/// Returns the length of the first comparable vector; 0 without one.
pub(crate) fn find_dimension<'a>(mut vectors: impl Iterator<Item = &'a [f32]>) -> usize {
    let first = vectors.find(|vector| is_comparable(vector));
    first.map_or(0, <[f32]>::len)
}

/// Returns the cosine of two unit vectors; 0 for vectors of different models.
pub fn similarity(one: &[f32], other: &[f32]) -> f32 {
    if one.len() == other.len() {
        simd::product(one, other)
    } else {
        0.0
    }
}

/// Converts integer sums back into the cosines of one block.
struct CosineSink<'a> {
    steps: &'a [f32],
    query_steps: &'a [f32],
    /// The index of the block's first document.
    first: usize,
    cosines: &'a mut [Vec<f32>],
}

impl Sink for CosineSink<'_> {
    #[inline(always)]
    fn receive(&mut self, panel: usize, token: usize, sums: &[i32; PANEL]) {
        let first = panel * PANEL;
        let query_step = self.query_steps[token];
        let rows = self.cosines[token][self.first + first..]
            .iter_mut()
            .zip(&self.steps[first..]);
        for ((cosine, step), sum) in rows.zip(sums) {
            *cosine = *sum as f32 * (step * query_step);
        }
    }
}

/// True if all numbers are finite and not all are zero.
pub fn is_comparable(vector: &[f32]) -> bool {
    // Vectors have length one; a smaller square is a rounding error of zero.
    const LEAST_SQUARE: f32 = 1e-6;
    vector.iter().all(|x| x.is_finite()) && vector.iter().map(|x| x * x).sum::<f32>() > LEAST_SQUARE
}

/// Quantizes all vectors row by row, and returns the bytes and the step of each row.
fn quantize_all(vectors: &[Option<&[f32]>], dimension: usize) -> (Vec<i8>, Vec<f32>) {
    let mut bytes = vec![0; vectors.len() * dimension];
    let rows = vectors.iter().zip(bytes.chunks_exact_mut(dimension));
    let steps = rows
        .map(|(vector, row)| vector.map_or(0.0, |vector| quantize(vector, row)))
        .collect();
    (bytes, steps)
}

/// Quantizes all queries, each padded to `width`, and returns the bytes and the step of each.
fn quantize_queries(queries: &[&[f32]], width: usize) -> (Vec<i8>, Vec<f32>) {
    let mut bytes = vec![0; queries.len() * width];
    let rows = queries.iter().zip(bytes.chunks_exact_mut(width));
    let steps = rows.map(|(query, row)| quantize(query, row)).collect();
    (bytes, steps)
}

/// Quantizes a vector to -127..=127 and returns the step.
fn quantize(vector: &[f32], bytes: &mut [i8]) -> f32 {
    let largest = vector
        .iter()
        .fold(0.0f32, |largest, x| largest.max(x.abs()));
    let step = largest / 127.0;
    for (value, byte) in vector.iter().zip(bytes) {
        *byte = (value / step).round().clamp(-127.0, 127.0) as i8;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(vector: [f32; 4]) -> Arc<[f32]> {
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / norm).collect()
    }

    /// Builds blocks of these lengths.
    fn dense(vectors: &[Option<Arc<[f32]>>], block: usize) -> Dense {
        let vectors: Vec<Option<&[f32]>> = vectors.iter().map(Option::as_deref).collect();
        let dimension = find_dimension(vectors.iter().copied().flatten());
        let blocks = vectors.chunks(block);
        let blocks = blocks.map(|it| Arc::new(BlockVectors::new(it, dimension)));
        Dense::new(blocks.collect(), dimension)
    }

    #[test]
    fn products_of_bytes_are_nearly_the_exact_ones() {
        let vectors: Vec<_> = (0..40)
            .map(|at| (at % 7 != 3).then(|| unit([1.0, at as f32, 0.3, -0.1 * at as f32])))
            .collect();
        let dense = dense(&vectors, 19);
        let queries = [unit([1.0, 0.0, 0.0, 0.0]), unit([0.2, -1.0, 0.5, 0.5])];
        let rough = dense.rough_cosines(&[&queries[0], &queries[1]]);
        for (query, rough) in queries.iter().zip(rough) {
            for (vector, rough) in vectors.iter().zip(rough) {
                let exact = vector.as_ref().map_or(0.0, |it| similarity(query, it));
                assert!((rough - exact).abs() < 0.01, "{rough} for {exact}");
            }
        }
        assert_eq!(dense.vector_count(), vectors.iter().flatten().count());
        assert!(
            vectors
                .iter()
                .enumerate()
                .all(|(at, it)| dense.has_vector(at) == it.is_some())
        );
    }

    #[test]
    fn incomparable_vectors_count_as_missing() {
        let vectors: [&[f32]; 4] = [
            &[f32::NAN, 1.0, 0.0],
            &[1.0, 0.0],
            &[0.0, 0.0],
            &[1.0, 0.0, 0.0],
        ];
        let found = dense(&vectors.map(|vector| Some(vector.into())), 2);
        assert_eq!(
            [0, 1, 2, 3].map(|at| found.has_vector(at)),
            [false, true, false, false]
        );
        assert!(found.can_compare(&[1.0, 0.0]));
        assert!(!found.can_compare(&[f32::INFINITY, 0.0]) && !found.can_compare(&[1.0]));
        assert!(!dense(&[None, None], 2).can_compare(&[1.0, 0.0]));
        assert!(!Dense::default().can_compare(&[]));
    }
}
