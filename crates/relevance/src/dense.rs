//! Vectors side by side: which tools mean what an intent means.
//!
//! All of them are compared, each time: as bytes, which is fast enough for a hundred thousand
//! tools. The few that come into question are then compared exactly.

use std::sync::Arc;

use crate::simd::{self, Level, PANEL, Panels, Sink};

#[derive(Debug, Default)]
pub struct Dense {
    dimension: usize,
    bytes: Option<Panels>,
    /// What one step of a document's bytes is worth; 0 where there is no vector.
    steps: Vec<f32>,
    exact: Vec<Option<Arc<[f32]>>>,
    present: usize,
}

impl Dense {
    /// One vector for each document; a document whose vector is not there yet has none.
    /// Vectors of another length than the first are left out.
    pub fn build(vectors: impl IntoIterator<Item = Option<Arc<[f32]>>>) -> Self {
        let mut exact: Vec<_> = vectors.into_iter().collect();
        for vector in &mut exact {
            vector.take_if(|vector| !is_sound(vector));
        }
        let dimension = exact
            .iter()
            .flatten()
            .map(|vector| vector.len())
            .next()
            .unwrap_or(0);
        for vector in &mut exact {
            vector.take_if(|vector| vector.len() != dimension);
        }
        let present = exact.iter().flatten().count();
        if present == 0 {
            return Self {
                steps: vec![0.0; exact.len()],
                exact,
                ..Self::default()
            };
        }
        let mut bytes = vec![0; exact.len() * dimension];
        let rows = exact.iter().zip(bytes.chunks_exact_mut(dimension));
        let steps = rows
            .map(|(vector, row)| vector.as_ref().map_or(0.0, |it| quantise(it, row)))
            .collect();
        let bytes = Some(Panels::pack(Level::best(), &bytes, dimension));
        Self {
            dimension,
            bytes,
            steps,
            exact,
            present,
        }
    }

    /// How many documents have a vector.
    pub fn present(&self) -> usize {
        self.present
    }

    pub fn has(&self, document: usize) -> bool {
        self.steps.get(document).is_some_and(|step| *step > 0.0)
    }

    /// Whether vectors of this length can be compared with those here.
    pub fn understands(&self, query: &[f32]) -> bool {
        self.present > 0 && query.len() == self.dimension && is_sound(query)
    }

    /// The cosines of every document with every query, to two or three digits; 0 where there is
    /// no vector. All queries must be understood.
    pub(crate) fn rough(&self, queries: &[&[f32]]) -> Vec<Vec<f32>> {
        let Some(bytes) = self.bytes.as_ref().filter(|_| !queries.is_empty()) else {
            return Vec::new();
        };
        let width = simd::padded(self.dimension);
        let mut tokens = vec![0; queries.len() * width];
        let rows = queries.iter().zip(tokens.chunks_exact_mut(width));
        let query_steps: Vec<f32> = rows.map(|(query, row)| quantise(query, row)).collect();
        let cosines = vec![vec![0.0; self.steps.len()]; queries.len()];
        let mut scaled = Scaled {
            steps: &self.steps,
            query_steps: &query_steps,
            cosines,
        };
        bytes.multiply(&tokens, &mut scaled);
        scaled.cosines
    }

    /// The exact cosine of one document. Vectors are of length one, so it is the product.
    pub fn cosine(&self, query: &[f32], document: usize) -> Option<f32> {
        let vector = self.exact.get(document)?.as_deref()?;
        (query.len() == self.dimension).then(|| simd::product(query, vector))
    }
}

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

/// Whether a vector can be compared at all: every number finite, and not all of them nothing.
pub fn is_sound(vector: &[f32]) -> bool {
    vector.iter().all(|x| x.is_finite()) && vector.iter().map(|x| x * x).sum::<f32>() > 1e-6
}

/// Writes the vector as bytes and returns what one step is worth.
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
    fn bytes_say_nearly_what_the_exact_product_says() {
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
