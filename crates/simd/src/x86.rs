//! The products of `simd` on x86-64. The only module of Kitbag with `unsafe` code.
//!
//! Plain Rust compiled for AVX2 was measured first. The compiler does not find the byte products in
//! it: the kernels below take less than half its time with AVX2 and a sixth with VNNI. Two kinds of
//! `unsafe` remain: calling code compiled for instructions that a value of [`Avx2`] or [`Vnni`]
//! proves to exist, and loads and stores through references to whole arrays.
#![expect(
    unsafe_code,
    reason = "twice to six times as fast as safe code, see above"
)]

use std::arch::x86_64::*;

use super::{PANEL, Sink, VectorWork};

/// Four columns of sixteen rows.
type Quad = [i8; 4 * PANEL];

/// Proof that this processor has AVX2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    #[inline(always)]
    pub(crate) fn run<W: VectorWork>(self, work: W) -> W::Output {
        // SAFETY: `self` exists only if AVX2 was detected.
        unsafe { run_avx2(work) }
    }

    pub(crate) fn multiply(self, panels: &[i8], tokens: &[i8], width: usize, sink: &mut impl Sink) {
        // SAFETY: `self` exists only if AVX2 was detected.
        unsafe { multiply_avx2(panels, tokens, width, sink) }
    }
}

/// Proof that this processor has AVX-512 with byte products (VNNI), and the parts of AVX-512 that
/// every such processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vnni(Avx2);

impl Vnni {
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        Avx2::detect().filter(|_| found).map(Self)
    }

    #[inline(always)]
    pub(crate) fn run<W: VectorWork>(self, work: W) -> W::Output {
        // SAFETY: `self` exists only if these parts of AVX-512 were detected.
        unsafe { run_avx512(work) }
    }

    /// The instruction needs one unsigned side: weights are stored 128 too large, and
    /// [`multiply_vnni`] starts each sum that much too low.
    pub(crate) fn offset(weights: &mut [i8]) {
        for weight in weights {
            *weight ^= i8::MIN;
        }
    }

    pub(crate) fn multiply(self, panels: &[i8], tokens: &[i8], width: usize, sink: &mut impl Sink) {
        // SAFETY: `self` exists only if AVX-512 F and VNNI were detected.
        unsafe { multiply_vnni(panels, tokens, width, sink) }
    }
}

#[target_feature(enable = "avx2")]
fn run_avx2<W: VectorWork>(work: W) -> W::Output {
    work.run()
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn run_avx512<W: VectorWork>(work: W) -> W::Output {
    work.run()
}

/// Calls `$tile::<N>` with N the number of tokens in the tile, so that their sums stay in registers.
macro_rules! with_tile_size {
    ($size:expr, $tile:ident $arguments:tt, $($possible:literal)+) => {
        match $size {
            $($possible => $tile::<$possible> $arguments,)+
            _ => unreachable!("tiles are cut to at most the largest size"),
        }
    };
}

#[target_feature(enable = "avx2")]
fn multiply_avx2(panels: &[i8], tokens: &[i8], width: usize, sink: &mut impl Sink) {
    for (panel, bytes) in panels.chunks_exact(PANEL * width).enumerate() {
        let quads = bytes.as_chunks().0;
        for (token, tile) in tiles::<4>(tokens, width) {
            let at = TilePosition { panel, token };
            with_tile_size!(tile.len() / width, tile_avx2(quads, tile, at, sink), 1 2 3 4);
        }
    }
}

/// Bytes are multiplied as unsigned × signed, so the weight's sign moves over to the token.
/// Two such products fit into sixteen bits because neither exceeds 128 × 127.
#[target_feature(enable = "avx2")]
#[inline]
fn tile_avx2<const TOKENS: usize>(
    quads: &[Quad],
    tokens: &[i8],
    at: TilePosition,
    sink: &mut impl Sink,
) {
    let ones = _mm256_set1_epi16(1);
    let tokens = split::<TOKENS>(tokens, quads.len());
    let mut sums = [[_mm256_setzero_si256(); 2]; TOKENS];
    for (four, quad) in quads.iter().enumerate() {
        let [low, high] = halves(quad);
        let (low_size, high_size) = (_mm256_abs_epi8(low), _mm256_abs_epi8(high));
        for (token, sums) in tokens.iter().zip(&mut sums) {
            let values = _mm256_set1_epi32(word(token[four]));
            let low = _mm256_maddubs_epi16(low_size, _mm256_sign_epi8(values, low));
            let high = _mm256_maddubs_epi16(high_size, _mm256_sign_epi8(values, high));
            sums[0] = _mm256_add_epi32(sums[0], _mm256_madd_epi16(low, ones));
            sums[1] = _mm256_add_epi32(sums[1], _mm256_madd_epi16(high, ones));
        }
    }
    for (token, sums) in sums.into_iter().enumerate() {
        sink.receive(at.panel, at.token + token, &join_halves(sums));
    }
}

#[target_feature(enable = "avx512f,avx512vnni,avx2")]
fn multiply_vnni(panels: &[i8], tokens: &[i8], width: usize, sink: &mut impl Sink) {
    let starts = starts(tokens, width);
    for (panel, bytes) in panels.chunks_exact(PANEL * width).enumerate() {
        let quads = bytes.as_chunks().0;
        for (token, tile) in tiles::<12>(tokens, width) {
            let (at, starts) = (TilePosition { panel, token }, &starts[token..]);
            with_tile_size!(tile.len() / width, tile_vnni(quads, tile, starts, at, sink), 1 2 3 4 5 6 7 8 9 10 11 12);
        }
    }
}

#[target_feature(enable = "avx512f,avx512vnni,avx2")]
#[inline]
fn tile_vnni<const TOKENS: usize>(
    quads: &[Quad],
    tokens: &[i8],
    starts: &[i32],
    at: TilePosition,
    sink: &mut impl Sink,
) {
    let tokens = split::<TOKENS>(tokens, quads.len());
    let mut sums = [_mm512_setzero_si512(); TOKENS];
    for (start, sums) in starts.iter().zip(&mut sums) {
        *sums = _mm512_set1_epi32(*start);
    }
    for (four, quad) in quads.iter().enumerate() {
        let weights = whole(quad);
        for (token, sums) in tokens.iter().zip(&mut sums) {
            *sums = _mm512_dpbusd_epi32(*sums, weights, _mm512_set1_epi32(word(token[four])));
        }
    }
    for (token, sums) in sums.into_iter().enumerate() {
        sink.receive(at.panel, at.token + token, &store_sums(sums));
    }
}

/// The panel and the first token of a tile.
#[derive(Clone, Copy)]
struct TilePosition {
    panel: usize,
    token: usize,
}

/// Tokens in tiles of nearly equal size, at most `MOST` each, with the number of each tile's first.
#[inline(always)]
fn tiles<const MOST: usize>(tokens: &[i8], width: usize) -> impl Iterator<Item = (usize, &[i8])> {
    let count = tokens.len() / width;
    let size = count.div_ceil(count.div_ceil(MOST).max(1)).max(1);
    tokens
        .chunks(size * width)
        .enumerate()
        .map(move |(tile, tokens)| (tile * size, tokens))
}

/// One slice of `quads` fours per token; the equal lengths spare the inner loop its bounds checks.
#[inline(always)]
fn split<const TOKENS: usize>(tokens: &[i8], quads: usize) -> [&[[i8; 4]]; TOKENS] {
    let fours = tokens.as_chunks().0;
    let mut slices = [&fours[..quads]; TOKENS];
    for (token, slice) in slices.iter_mut().enumerate() {
        *slice = &fours[token * quads..][..quads];
    }
    slices
}

/// The sum that each token starts with, because its weights are 128 too large.
#[inline(always)]
fn starts(tokens: &[i8], width: usize) -> Vec<i32> {
    let tokens = tokens.chunks_exact(width);
    tokens.map(|token| -128 * total(token)).collect()
}

#[inline(always)]
fn total(values: &[i8]) -> i32 {
    values.iter().map(|value| i32::from(*value)).sum()
}

#[inline(always)]
fn word(values: [i8; 4]) -> i32 {
    i32::from_ne_bytes(values.map(i8::cast_unsigned))
}

#[target_feature(enable = "avx2")]
fn halves(quad: &Quad) -> [__m256i; 2] {
    let start = quad.as_ptr();
    // SAFETY: `quad` is 64 readable bytes; an unaligned load takes any address.
    unsafe {
        [
            _mm256_loadu_si256(start.cast()),
            _mm256_loadu_si256(start.add(32).cast()),
        ]
    }
}

#[target_feature(enable = "avx512f")]
fn whole(quad: &Quad) -> __m512i {
    // SAFETY: `quad` is 64 readable bytes; an unaligned load takes any address.
    unsafe { _mm512_loadu_si512(quad.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn join_halves([low, high]: [__m256i; 2]) -> [i32; PANEL] {
    let mut out = [0; PANEL];
    let start = out.as_mut_ptr();
    // SAFETY: `out` is sixteen writable words; an unaligned store takes any address.
    unsafe {
        _mm256_storeu_si256(start.cast(), low);
        _mm256_storeu_si256(start.add(8).cast(), high);
    }
    out
}

#[target_feature(enable = "avx512f")]
fn store_sums(sums: __m512i) -> [i32; PANEL] {
    let mut out = [0; PANEL];
    // SAFETY: `out` is sixteen writable words; an unaligned store takes any address.
    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), sums) };
    out
}
