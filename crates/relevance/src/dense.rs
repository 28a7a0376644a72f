//! Compares vectors: finds the tools that mean what an intent means.
//!
//! Each search compares all of them as bytes, which is fast enough for a hundred thousand tools.
//! The few best are then compared exactly.

use std::sync::Arc;

use kitbag_simd::{self as simd, PANEL, Panels, SimdLevel, Sink};

/// The vectors of all documents, block by block.
#[derive(Debug, Default)]
pub(crate) struct Dense {
    dimension: usize,
    blocks: Vec<Arc<BlockVectors>>,
    /// The worth of one step of a document's bytes; 0 where there is no vector.
    steps: Vec<f32>,
    present: usize,
}

/// The vectors of one block as bytes.
#[derive(Debug)]
pub(crate) struct BlockVectors {
    pub(crate) dimension: usize,
    bytes: Option<Panels>,
    steps: Vec<f32>,
}

impl Dense {
    /// The blocks must have been made for this dimension.
    pub(crate) fn of(blocks: Vec<Arc<BlockVectors>>, dimension: usize) -> Self {
        let steps: Vec<f32> = blocks.iter().flat_map(|it| &it.steps).copied().collect();
        Self {
            dimension,
            present: steps.iter().filter(|step| **step > 0.0).count(),
            steps,
            blocks,
        }
    }

    /// The number of documents with a vector.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    pub(crate) fn has(&self, document: usize) -> bool {
        self.steps.get(document).is_some_and(|step| *step > 0.0)
    }

    /// True if this vector can be compared with those of the documents.
    pub(crate) fn understands(&self, query: &[f32]) -> bool {
        self.present > 0 && query.len() == self.dimension && is_sound(query)
    }

    /// Returns the cosines of every document with every query, to two or three digits; 0 where
    /// there is no vector. Each query must be one that [`understands`](Self::understands) accepts.
    pub(crate) fn rough(&self, queries: &[&[f32]]) -> Vec<Vec<f32>> {
        if self.present == 0 || queries.is_empty() {
            return Vec::new();
        }
        let (tokens, query_steps) = quantise_queries(queries, simd::padded(self.dimension));
        let mut cosines = vec![vec![0.0; self.steps.len()]; queries.len()];
        let mut first = 0;
        for block in &self.blocks {
            let mut scaled = Scaled {
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
    /// Takes one vector for each document, and none for a document whose vector is not computed
    /// yet. Vectors that cannot be compared, or have another dimension, are left out.
    pub(crate) fn of(vectors: &[Option<&[f32]>], dimension: usize) -> Self {
        let usable = |vector: &&[f32]| vector.len() == dimension && is_sound(vector);
        let vectors: Vec<_> = vectors.iter().map(|it| it.filter(usable)).collect();
        if vectors.iter().flatten().next().is_none() {
            return Self {
                dimension,
                bytes: None,
                steps: vec![0.0; vectors.len()],
            };
        }
        let (bytes, steps) = quantise_all(&vectors, dimension);
        Self {
            dimension,
            bytes: Some(Panels::pack(SimdLevel::best(), &bytes, dimension)),
            steps,
        }
    }
}

/// Returns the length of the first vector that can be compared; 0 if there is none.
pub(crate) fn dimension_of<'a>(mut vectors: impl Iterator<Item = &'a [f32]>) -> usize {
    let first = vectors.find(|vector| is_sound(vector));
    first.map_or(0, <[f32]>::len)
}

/// Returns the cosine of two vectors of length one; nothing is like a vector of another model.
pub fn similarity(one: &[f32], other: &[f32]) -> f32 {
    if one.len() == other.len() {
        simd::product(one, other)
    } else {
        0.0
    }
}

/// Turns sums of bytes back into the cosines of one block.
struct Scaled<'a> {
    steps: &'a [f32],
    query_steps: &'a [f32],
    /// The first document of the block.
    first: usize,
    cosines: &'a mut [Vec<f32>],
}

impl Sink for Scaled<'_> {
    #[inline(always)]
    fn take(&mut self, panel: usize, token: usize, sums: &[i32; PANEL]) {
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

/// True if a vector can be compared: every number is finite, and they are not all zero.
pub fn is_sound(vector: &[f32]) -> bool {
    // Vectors have length one; a square this small is a rounding error of nothing.
    const LEAST_SQUARE: f32 = 1e-6;
    vector.iter().all(|x| x.is_finite()) && vector.iter().map(|x| x * x).sum::<f32>() > LEAST_SQUARE
}

/// Returns all vectors as bytes, row by row, and the worth of a step in each row.
fn quantise_all(vectors: &[Option<&[f32]>], dimension: usize) -> (Vec<i8>, Vec<f32>) {
    let mut bytes = vec![0; vectors.len() * dimension];
    let rows = vectors.iter().zip(bytes.chunks_exact_mut(dimension));
    let steps = rows
        .map(|(vector, row)| vector.map_or(0.0, |vector| quantise(vector, row)))
        .collect();
    (bytes, steps)
}

/// Returns all queries as bytes, each padded to `width`, and the worth of a step in each.
fn quantise_queries(queries: &[&[f32]], width: usize) -> (Vec<i8>, Vec<f32>) {
    let mut bytes = vec![0; queries.len() * width];
    let rows = queries.iter().zip(bytes.chunks_exact_mut(width));
    let steps = rows.map(|(query, row)| quantise(query, row)).collect();
    (bytes, steps)
}

/// Writes the vector as bytes between -127 and 127, and returns the worth of one step.
fn quantise(vector: &[f32], bytes: &mut [i8]) -> f32 {
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

    /// Puts the vectors into blocks of these lengths.
    fn dense(vectors: &[Option<Arc<[f32]>>], block: usize) -> Dense {
        let vectors: Vec<Option<&[f32]>> = vectors.iter().map(Option::as_deref).collect();
        let dimension = dimension_of(vectors.iter().copied().flatten());
        let blocks = vectors.chunks(block);
        let blocks = blocks.map(|it| Arc::new(BlockVectors::of(it, dimension)));
        Dense::of(blocks.collect(), dimension)
    }

    #[test]
    fn products_of_bytes_are_nearly_the_exact_ones() {
        let vectors: Vec<_> = (0..40)
            .map(|at| (at % 7 != 3).then(|| unit([1.0, at as f32, 0.3, -0.1 * at as f32])))
            .collect();
        let dense = dense(&vectors, 19);
        let queries = [unit([1.0, 0.0, 0.0, 0.0]), unit([0.2, -1.0, 0.5, 0.5])];
        let rough = dense.rough(&[&queries[0], &queries[1]]);
        for (query, rough) in queries.iter().zip(rough) {
            for (vector, rough) in vectors.iter().zip(rough) {
                let exact = vector.as_ref().map_or(0.0, |it| similarity(query, it));
                assert!((rough - exact).abs() < 0.01, "{rough} for {exact}");
            }
        }
        assert_eq!(dense.present(), vectors.iter().flatten().count());
        assert!(
            vectors
                .iter()
                .enumerate()
                .all(|(at, it)| dense.has(at) == it.is_some())
        );
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_as_good_as_missing() {
        let vectors: [&[f32]; 4] = [
            &[f32::NAN, 1.0, 0.0],
            &[1.0, 0.0],
            &[0.0, 0.0],
            &[1.0, 0.0, 0.0],
        ];
        let found = dense(&vectors.map(|vector| Some(vector.into())), 2);
        assert_eq!(
            [0, 1, 2, 3].map(|at| found.has(at)),
            [false, true, false, false]
        );
        assert!(found.understands(&[1.0, 0.0]));
        assert!(!found.understands(&[f32::INFINITY, 0.0]) && !found.understands(&[1.0]));
        assert!(!dense(&[None, None], 2).understands(&[1.0, 0.0]));
        assert!(!Dense::default().understands(&[]));
    }
}
