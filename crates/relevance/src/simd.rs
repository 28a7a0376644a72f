//! The arithmetic under vectors: products of bytes, summed.

/// The product of the query with every row of `rows`.
pub(crate) fn scan(query: &[i8], rows: &[i8], dimension: usize, out: &mut [i32]) {
    for (row, out) in rows.chunks_exact(dimension).zip(out) {
        *out = dot_i8(query, row);
    }
}

pub(crate) fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}
