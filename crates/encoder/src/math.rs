//! The float arithmetic of a transformer: small functions over rows.
//!
//! Sums run in sixteen lanes, and functions are polynomials of plain operations, without any system
//! library. So every machine gives the same bits, and the compiler can use the widest vectors: all
//! of this is inlined into code compiled for each level.

use std::ops::Range;

/// The floats in one vector register at the widest level.
pub(super) const LANES: usize = 16;

/// A square this small is a rounding error: such a row has no direction, and no widest value.
const TINY: f32 = 1e-30;

#[inline(always)]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    fold_lanes(values, 0.0, of, |sum, value| sum + value)
}

#[inline(always)]
fn largest(values: &[f32], start: f32, of: impl Fn(f32) -> f32) -> f32 {
    fold_lanes(
        values,
        start,
        of,
        |most, value| if value > most { value } else { most },
    )
}

#[inline(always)]
fn fold_lanes(
    values: &[f32],
    start: f32,
    of: impl Fn(f32) -> f32,
    join: impl Fn(f32, f32) -> f32,
) -> f32 {
    let mut lanes = [start; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = join(*lane, of(*value));
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = join(*lane, of(*value));
    }
    lanes.into_iter().fold(start, join)
}

/// Scales a row to length one; a row without direction becomes zeros.
#[inline(always)]
pub(super) fn normalize(row: &mut [f32]) {
    let squares = sum(row, |value| value * value);
    let factor = if squares > TINY && squares.is_finite() {
        1.0 / squares.sqrt()
    } else {
        0.0
    };
    for value in row {
        *value = if factor > 0.0 { *value * factor } else { 0.0 };
    }
}

#[inline(always)]
pub(super) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], epsilon: f32) {
    let count = row.len() as f32;
    let mean = sum(row, |value| value) / count;
    let spread = sum(row, |value| (value - mean) * (value - mean)) / count;
    let factor = 1.0 / (spread + epsilon).sqrt();
    for ((value, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
        *value = (*value - mean) * factor * weight + bias;
    }
}

#[inline(always)]
pub(super) fn softmax(row: &mut [f32]) {
    let most = largest(row, f32::MIN, |value| value);
    for value in row.iter_mut() {
        *value = exp(*value - most);
    }
    let factor = 1.0 / sum(row, |value| value);
    for value in row {
        *value *= factor;
    }
}

/// `x · Φ(x)`, with the error function by Abramowitz and Stegun 7.1.28 (within 3e-7).
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let p = 0.000_043_063_8 * z + 0.000_276_567_2;
    let p = (((p * z + 0.000_152_014_3) * z + 0.009_270_527) * z + 0.042_282_01) * z + 0.070_523_08;
    let p = p * z + 1.0;
    let p = p * p * p * p;
    let p = p * p * p * p;
    let erf = 1.0 - 1.0 / p;
    0.5 * (x + x.abs() * erf)
}

/// `e^x` for `x ≤ 0`: a power of two by its exponent bits, the rest by Taylor's series.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Below e^-87 a float has no exponent left.
    let x = if x > -87.0 { x } else { -87.0 };
    let whole = x * std::f32::consts::LOG2_E + ROUNDER;
    let exponent = whole
        .to_bits()
        .wrapping_sub(ROUNDER.to_bits())
        .wrapping_add(127);
    let part = x - (whole - ROUNDER) * std::f32::consts::LN_2;
    let series = part * (1.0 / 720.0) + 1.0 / 120.0;
    let series = (((series * part + 1.0 / 24.0) * part + 1.0 / 6.0) * part + 0.5) * part + 1.0;
    (series * part + 1.0) * f32::from_bits(exponent << 23)
}

/// 1.5 · 2^23. Adding it rounds to the nearest whole number, which is then in the low bits of the
/// sum.
const ROUNDER: f32 = 12_582_912.0;

/// Quantizes a row to 255 steps, with the widest value at 127, and returns the size of a step.
#[inline(always)]
pub(super) fn quantize(row: &[f32], out: &mut [i8]) -> f32 {
    let widest = largest(row, 0.0, f32::abs);
    let steps = if widest > TINY { 127.0 / widest } else { 0.0 };
    for (value, out) in row.iter().zip(out) {
        let rounded = (value * steps + ROUNDER).to_bits();
        *out = rounded.wrapping_sub(ROUNDER.to_bits()) as i8;
    }
    widest / 127.0
}

/// A matrix of floats, row by row.
#[derive(Clone, Copy)]
pub(super) struct FloatRows<'a> {
    pub(super) values: &'a [f32],
    pub(super) width: usize,
}

/// A matrix of floats in panels of sixteen columns: the lanes of every row, then the next panel.
#[derive(Clone, Copy)]
pub(super) struct FloatPanels<'a> {
    pub(super) lanes: &'a [[f32; LANES]],
    pub(super) rows: usize,
}

/// The part of a wider matrix that a product is written to: the first `columns` of each row.
pub(super) struct ProductRows<'a> {
    pub(super) values: &'a mut [f32],
    pub(super) width: usize,
    pub(super) columns: usize,
}

/// `a` times `b`. Four rows at a time, so that each value of `b` is loaded once for four products.
#[inline(always)]
pub(super) fn product(a: FloatRows<'_>, b: FloatPanels<'_>, out: ProductRows<'_>) {
    let ProductRows {
        values,
        width,
        columns,
    } = out;
    let chunks = a.values.chunks(4 * a.width);
    for (rows, out) in chunks.zip(values.chunks_mut(4 * width)) {
        for (panel, lanes) in b.lanes.chunks_exact(b.rows).enumerate() {
            let mut tile = ProductTile {
                rows,
                lanes,
                out,
                width,
                columns: panel * LANES..columns,
            };
            match rows.len() / a.width {
                4 => tile.multiply::<4>(),
                3 => tile.multiply::<3>(),
                2 => tile.multiply::<2>(),
                _ => tile.multiply::<1>(),
            }
        }
    }
}

/// A few rows times one panel.
struct ProductTile<'a> {
    rows: &'a [f32],
    lanes: &'a [[f32; LANES]],
    out: &'a mut [f32],
    width: usize,
    /// The columns of the result from this panel on.
    columns: Range<usize>,
}

impl ProductTile<'_> {
    #[inline(always)]
    fn multiply<const ROWS: usize>(&mut self) {
        let depth = self.lanes.len();
        // Equal lengths spare the inner loop its bounds checks.
        let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &self.rows[row * depth..][..depth]);
        let mut sums = [[0.0; LANES]; ROWS];
        for (at, lanes) in self.lanes.iter().enumerate() {
            for (row, sums) in rows.iter().zip(&mut sums) {
                for (sum, lane) in sums.iter_mut().zip(lanes) {
                    *sum += row[at] * lane;
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            self.write(row, sums);
        }
    }

    #[inline(always)]
    fn write(&mut self, row: usize, sums: &[f32; LANES]) {
        let out = &mut self.out[row * self.width..][self.columns.clone()];
        match out.first_chunk_mut() {
            Some(out) => *out = *sums,
            None => out.copy_from_slice(&sums[..out.len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_the_exponential() {
        for step in 0..8700 {
            let x = -step as f32 / 100.0;
            let expected = f64::from(x).exp();
            let error = (f64::from(exp(x)) - expected).abs();
            assert!(
                error < 2e-7 && error < 1e-5 * expected,
                "exp({x}) = {}",
                exp(x)
            );
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn gelu_is_x_times_the_normal_distribution() {
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_7),
            (-1.0, -0.158_655_3),
            (-3.0, -0.004_049_7),
            (9.0, 9.0),
            (-9.0, 0.0),
        ] {
            assert!((gelu(x) - expected).abs() < 2e-6, "gelu({x}) = {}", gelu(x));
        }
    }

    #[test]
    fn quantizing_keeps_the_widest_value_and_rounds_the_rest() {
        let mut out = [0; 5];
        let step = quantize(&[0.0, -2.54, 1.27, 0.029, 0.031], &mut out);
        assert_eq!(out, [0, -127, 64, 1, 2]);
        assert!((step - 0.02).abs() < 1e-6);
    }

    #[test]
    fn nothing_to_scale_stays_nothing() {
        let mut out = [1; 2];
        assert_eq!(
            (quantize(&[0.0, 1e-38], &mut out) > 1e-37, out),
            (false, [0, 0])
        );
        let mut row = [0.0, f32::NAN, f32::INFINITY];
        normalize(&mut row);
        assert_eq!(row, [0.0; 3]);
    }
}
