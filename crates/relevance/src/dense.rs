//! Compares vectors: finds the tools that mean what an intent means.
//!
//! Each search compares all of them as bytes, which is fast enough for a hundred thousand tools.
//! The few best are then compared exactly.

use std::sync::Arc;

use crate::simd::{self, PANEL, Panels, SimdLevel, Sink};

#[derive(Debug, Default)]
pub struct Dense {
    dimension: usize,
    bytes: Option<Panels>,
    /// The worth of one step of a document's bytes; 0 where there is no vector.
    steps: Vec<f32>,
    exact: Vec<Option<Arc<[f32]>>>,
    present: usize,
}

impl Dense {
    /// Takes one vector for each document, and none for a document whose vector is not computed
    /// yet. Vectors of another length than the first are left out.
    pub fn build(vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut exact: Vec<_> = vectors.into_iter().collect();
        let dimension = keep_comparable(&mut exact);
        let present = exact.iter().flatten().count();
        if present == 0 {
            return Self {
                steps: vec![0.0; exact.len()],
                exact,
                ..Self::default()
            };
        }
        let (bytes, steps) = quantise_all(&exact, dimension);
        Self {
            dimension,
            bytes: Some(Panels::pack(SimdLevel::best(), &bytes, dimension)),
            steps,
            exact,
            present,
        }
    }

    /// The number of documents with a vector.
    pub fn present(&self) -> usize {
        self.present
    }

    pub fn has(&self, document: usize) -> bool {
        self.steps.get(document).is_some_and(|step| *step > 0.0)
    }

    /// True if this vector can be compared with those of the documents.
    pub fn understands(&self, query: &[f32]) -> bool {
        self.present > 0 && query.len() == self.dimension && is_sound(query)
    }

    /// Returns the cosines of every document with every query, to two or three digits; 0 where
    /// there is no vector. Each query must be one that [`understands`](Self::understands) accepts.
    pub(crate) fn rough(&self, queries: &[&[f32]]) -> Vec<Vec<f32>> {
        let Some(bytes) = self.bytes.as_ref().filter(|_| !queries.is_empty()) else {
            return Vec::new();
        };
        let (tokens, query_steps) = quantise_queries(queries, simd::padded(self.dimension));
        let mut scaled = Scaled {
            steps: &self.steps,
            query_steps: &query_steps,
            cosines: vec![vec![0.0; self.steps.len()]; queries.len()],
        };
        bytes.multiply(&tokens, &mut scaled);
        scaled.cosines
    }

    /// Returns the exact cosine of one document. Vectors are of length one, so it is the product.
    pub fn cosine(&self, query: &[f32], document: usize) -> Option<f32> {
        let vector = self.exact.get(document)?.as_deref()?;
        (query.len() == self.dimension).then(|| simd::product(query, vector))
    }
}

/// Returns the cosine of two vectors of length one; nothing is like a vector of another model.
pub fn similarity(one: &[f32], other: &[f32]) -> f32 {
    if one.len() == other.len() {
        simd::product(one, other)
    } else {
        0.0
    }
}

/// Turns sums of bytes back into cosines.
struct Scaled<'a> {
    steps: &'a [f32],
    query_steps: &'a [f32],
    cosines: Vec<Vec<f32>>,
}

impl Sink for Scaled<'_> {
    #[inline(always)]
    fn take(&mut self, panel: usize, token: usize, sums: &[i32; PANEL]) {
        let first = panel * PANEL;
        let query_step = self.query_steps[token];
        let rows = self.cosines[token][first..]
            .iter_mut()
            .zip(&self.steps[first..]);
        for ((cosine, step), sum) in rows.zip(sums) {
            *cosine = *sum as f32 * (step * query_step);
        }
    }
}

/// Drops the vectors that cannot be compared, and returns the length of the others.
fn keep_comparable(vectors: &mut [Option<Arc<[f32]>>]) -> usize {
    for vector in &mut *vectors {
        vector.take_if(|vector| !is_sound(vector));
    }
    let first = vectors.iter().flatten().next();
    let dimension = first.map_or(0, |vector| vector.len());
    for vector in vectors {
        vector.take_if(|vector| vector.len() != dimension);
    }
    dimension
}

/// True if a vector can be compared: every number is finite, and they are not all zero.
pub fn is_sound(vector: &[f32]) -> bool {
    // Vectors have length one; a square this small is a rounding error of nothing.
    const LEAST_SQUARE: f32 = 1e-6;
    vector.iter().all(|x| x.is_finite()) && vector.iter().map(|x| x * x).sum::<f32>() > LEAST_SQUARE
}

/// Returns all vectors as bytes, row by row, and the worth of a step in each row.
fn quantise_all(vectors: &[Option<Arc<[f32]>>], dimension: usize) -> (Vec<i8>, Vec<f32>) {
    let mut bytes = vec![0; vectors.len() * dimension];
    let rows = vectors.iter().zip(bytes.chunks_exact_mut(dimension));
    let steps = rows
        .map(|(vector, row)| vector.as_ref().map_or(0.0, |vector| quantise(vector, row)))
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

    #[test]
    fn products_of_bytes_are_nearly_the_exact_ones() {
        let vectors =
            (0..40).map(|at| (at % 7 != 3).then(|| unit([1.0, at as f32, 0.3, -0.1 * at as f32])));
        let dense = Dense::build(vectors);
        let queries = [unit([1.0, 0.0, 0.0, 0.0]), unit([0.2, -1.0, 0.5, 0.5])];
        let rough = dense.rough(&[&queries[0], &queries[1]]);
        for (query, rough) in queries.iter().zip(rough) {
            for (at, rough) in rough.into_iter().enumerate() {
                let exact = dense.cosine(query, at).unwrap_or(0.0);
                assert!((rough - exact).abs() < 0.01, "{at}: {rough} for {exact}");
            }
        }
        assert_eq!(dense.present(), (0..40).filter(|at| dense.has(*at)).count());
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_as_good_as_missing() {
        let vectors: [&[f32]; 4] = [
            &[f32::NAN, 1.0, 0.0],
            &[1.0, 0.0],
            &[0.0, 0.0],
            &[1.0, 0.0, 0.0],
        ];
        let dense = Dense::build(vectors.map(|vector| Some(vector.into())));
        assert_eq!(
            [0, 1, 2, 3].map(|at| dense.has(at)),
            [false, true, false, false]
        );
        assert!(dense.understands(&[1.0, 0.0]));
        assert!(!dense.understands(&[f32::INFINITY, 0.0]) && !dense.understands(&[1.0]));
        assert!(!Dense::build([None, None]).understands(&[1.0, 0.0]));
        assert!(!Dense::default().understands(&[]));
    }
}
