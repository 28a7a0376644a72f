//! Vectors side by side: which tools mean what an intent means.
//!
//! All of them are compared, each time: as bytes first, which is fast enough for a hundred
//! thousand tools, and the best of those once more exactly.

use crate::simd;

/// How many of the best by bytes are compared exactly.
const RESCORED: usize = 200;

#[derive(Debug, Default)]
pub struct Dense {
    dimension: usize,
    bytes: Vec<i8>,
    scales: Vec<f32>,
    exact: Vec<f32>,
    present: Vec<bool>,
}

impl Dense {
    /// One vector for each document; a document whose vector is not there yet has none.
    /// Vectors of another length than the first are left out.
    pub fn build<'a>(vectors: impl ExactSizeIterator<Item = Option<&'a [f32]>> + Clone) -> Self {
        let dimension = vectors.clone().flatten().map(<[f32]>::len).next().unwrap_or(0);
        let count = vectors.len();
        let mut dense = Self {
            dimension,
            bytes: Vec::with_capacity(count * dimension),
            scales: Vec::with_capacity(count),
            exact: Vec::with_capacity(count * dimension),
            present: Vec::with_capacity(count),
        };
        for vector in vectors {
            let vector = vector.filter(|vector| vector.len() == dimension && is_sound(vector));
            dense.present.push(vector.is_some());
            match vector {
                Some(vector) => {
                    dense.scales.push(quantise(vector, &mut dense.bytes));
                    dense.exact.extend_from_slice(vector);
                }
                None => {
                    dense.scales.push(0.0);
                    dense.bytes.resize(dense.bytes.len() + dimension, 0);
                    dense.exact.resize(dense.exact.len() + dimension, 0.0);
                }
            }
        }
        dense
    }

    pub fn has(&self, document: usize) -> bool {
        self.present.get(document).copied().unwrap_or(false)
    }

    /// The best documents the mask lets through, with their exact cosine, best first.
    pub fn best(&self, query: &[f32], mask: &[bool]) -> Vec<(usize, f32)> {
        if query.len() != self.dimension || self.dimension == 0 || !is_sound(query) {
            return Vec::new();
        }
        let mut query_bytes = Vec::with_capacity(self.dimension);
        quantise(query, &mut query_bytes);
        let mut products = vec![0i32; self.scales.len()];
        simd::scan(&query_bytes, &self.bytes, self.dimension, &mut products);
        let mut rough: Vec<(usize, f32)> = products
            .iter()
            .enumerate()
            .filter(|(at, _)| self.present[*at] && mask[*at])
            .map(|(at, product)| (at, *product as f32 * self.scales[at]))
            .collect();
        keep_best(&mut rough, RESCORED);
        let mut exact: Vec<_> = rough.into_iter().map(|(at, _)| (at, self.cosine(query, at))).collect();
        keep_best(&mut exact, RESCORED);
        exact
    }

    /// The exact cosine of one document. Vectors are of length one, so it is the product.
    pub fn cosine(&self, query: &[f32], document: usize) -> f32 {
        if !self.has(document) || query.len() != self.dimension {
            return 0.0;
        }
        let row = &self.exact[document * self.dimension..][..self.dimension];
        row.iter().zip(query).map(|(a, b)| a * b).sum()
    }
}

/// Whether a vector can be compared at all: every number finite, and not all of them nothing.
pub fn is_sound(vector: &[f32]) -> bool {
    vector.iter().all(|x| x.is_finite()) && vector.iter().map(|x| x * x).sum::<f32>() > 1e-6
}

/// Appends the vector as bytes and returns what one step is worth.
fn quantise(vector: &[f32], bytes: &mut Vec<i8>) -> f32 {
    let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
    let scale = largest / 127.0;
    bytes.extend(vector.iter().map(|x| (x / scale).round().clamp(-127.0, 127.0) as i8));
    scale
}

/// Keeps the best `count`, best first; equal ones in the order of their numbers.
pub(crate) fn keep_best(scored: &mut Vec<(usize, f32)>, count: usize) {
    let by_score = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if scored.len() > count {
        scored.select_nth_unstable_by(count, by_score);
        scored.truncate(count);
    }
    scored.sort_unstable_by(by_score);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(vector: [f32; 4]) -> Vec<f32> {
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / norm).collect()
    }

    #[test]
    fn the_nearest_comes_first_and_what_is_masked_or_missing_never() {
        let vectors = [
            Some(unit([1.0, 0.0, 0.0, 0.1])),
            None,
            Some(unit([0.9, 0.5, 0.0, 0.0])),
            Some(unit([0.0, 1.0, 1.0, 0.0])),
        ];
        let dense = Dense::build(vectors.iter().map(Option::as_deref));
        let query = unit([1.0, 0.0, 0.0, 0.0]);
        let numbers =
            |mask: [bool; 4]| dense.best(&query, &mask).into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        assert_eq!(numbers([true; 4]), [0, 2, 3]);
        assert_eq!(numbers([false, true, true, true]), [2, 3]);
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_as_good_as_missing() {
        let vectors: [Option<&[f32]>; 3] = [Some(&[1.0, 0.0]), Some(&[f32::NAN, 1.0]), Some(&[0.0, 0.0])];
        let dense = Dense::build(vectors.into_iter());
        assert!(dense.has(0) && !dense.has(1) && !dense.has(2));
        assert!(dense.best(&[f32::INFINITY, 0.0], &[true; 3]).is_empty());
        assert!(dense.best(&[1.0], &[true; 3]).is_empty());
    }
}
