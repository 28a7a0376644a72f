//! Products of bytes in tiles (AMX): sixteen tokens times sixteen rows in one instruction, for
//! weights that are laid out as for VNNI.
//!
//! The compiler has no stable names for these instructions, so they are written as assembly. The
//! tile registers belong to this file: compiled code never uses them, and each multiplication
//! loads its own tile configuration and gives the registers back at its end.
#![expect(
    unsafe_code,
    reason = "the products of many tokens take less than half the time of VNNI, and there is no safe way to them"
)]

use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _mm512_add_epi32, _mm512_loadu_si512, _mm512_set1_epi32};
use std::sync::LazyLock;

use super::{PANEL, Sink, VectorWork, Vnni, starts, stored};

/// Proof that this processor has AMX with byte products, and that the system lets us use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amx(Vnni);

/// The bytes in one row of a tile.
const LINE: usize = 64;
/// The bytes of sixteen rows and sixty-four columns of weights.
const TILE: usize = PANEL * LINE;
/// Tokens in one tile.
const TILE_TOKENS: usize = 16;
/// Tokens that are multiplied with a tile of weights after it is loaded once: four of the eight
/// tile registers hold their sums.
const GROUP: usize = 4 * TILE_TOKENS;
/// For fewer tokens the configuration of the tiles costs more than they save.
const LEAST_TOKENS: usize = 4;

impl Amx {
    pub(in crate::simd) fn find() -> Option<Self> {
        static ALLOWED: LazyLock<bool> = LazyLock::new(|| is_present() && is_allowed());
        Vnni::find().filter(|_| *ALLOWED).map(Self)
    }

    #[inline(always)]
    pub(in crate::simd) fn run<W: VectorWork>(self, work: W) -> W::Output {
        self.0.run(work)
    }

    pub(in crate::simd) fn multiply(
        self,
        panels: &[i8],
        tokens: &[i8],
        width: usize,
        sink: &mut impl Sink,
    ) {
        if !width.is_multiple_of(LINE) || tokens.len() < LEAST_TOKENS * width {
            return self.0.multiply(panels, tokens, width, sink);
        }
        // SAFETY: `self` exists only where AMX and VNNI were detected.
        unsafe { multiply_amx(panels, tokens, width, sink) }
    }
}

/// Bits 24 and 25 of this leaf stand for tiles and for products of bytes in them.
fn is_present() -> bool {
    const TILES_AND_BYTES: u32 = 0b11 << 24;
    __cpuid_count(7, 0).edx & TILES_AND_BYTES == TILES_AND_BYTES
}

/// Linux gives the tile registers to a process that asks for them.
#[cfg(target_os = "linux")]
fn is_allowed() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: this request takes two numbers, and changes nothing but the permission.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_allowed() -> bool {
    false
}

/// The sums of a group: for each token, sixteen rows.
type GroupSums = [[i32; PANEL]; GROUP];

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2")]
fn multiply_amx(panels: &[i8], tokens: &[i8], width: usize, sink: &mut impl Sink) {
    let starts = starts(tokens, width);
    let mut sums: GroupSums = [[0; PANEL]; GROUP];
    for (group, tokens) in tokens.chunks(GROUP * width).enumerate() {
        let (first, count) = (group * GROUP, tokens.len() / width);
        configure(count);
        for (panel, weights) in panels.chunks_exact(PANEL * width).enumerate() {
            multiply_group(weights, tokens, width, &mut sums);
            for (token, sums) in (first..first + count).zip(&sums) {
                sink.take(panel, token, &plus(sums, starts[token]));
            }
        }
    }
    release();
}

#[target_feature(enable = "avx512f")]
fn plus(sums: &[i32; PANEL], start: i32) -> [i32; PANEL] {
    // SAFETY: `sums` is sixteen readable words; an unaligned load takes any address.
    let sums = unsafe { _mm512_loadu_si512(sums.as_ptr().cast()) };
    stored(_mm512_add_epi32(sums, _mm512_set1_epi32(start)))
}

/// Sets the shape of the eight tile registers for a group of so many tokens: the last tile of
/// tokens may have fewer rows.
fn configure(tokens: usize) {
    let last = (tokens - 1) % TILE_TOKENS + 1;
    let mut shape = TileShape::default();
    for (register, rows) in shape.rows.iter_mut().enumerate().take(REGISTERS) {
        *rows = match register {
            LAST_SUMS | LAST_TOKENS => last as u8,
            _ => TILE_TOKENS as u8,
        };
    }
    // SAFETY: the processor has tiles, and `shape` is the configuration it expects.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const shape, options(nostack, readonly)) };
}

const REGISTERS: usize = 8;
/// The registers of the sums and of the tokens of the last tile in a group, `tmm0` and `tmm4`.
const LAST_SUMS: usize = 0;
const LAST_TOKENS: usize = 4;

/// The configuration of tiles as the processor reads it.
#[repr(C)]
struct TileShape {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Default for TileShape {
    fn default() -> Self {
        let mut row_bytes = [0; 16];
        row_bytes[..REGISTERS].fill(LINE as u16);
        Self {
            // The only palette there is.
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes,
            rows: [0; 16],
        }
    }
}

/// Gives the tile registers back, so that a thread without them is quick to switch to and from.
fn release() {
    // SAFETY: the processor has tiles.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// Multiplies one panel of weights with all tokens of a group that [`configure`] was called for.
fn multiply_group(weights: &[i8], tokens: &[i8], width: usize, sums: &mut GroupSums) {
    assert_eq!(weights.len(), PANEL * width, "one panel");
    match (tokens.len() / width).div_ceil(TILE_TOKENS) {
        1 => multiply_tiles::<1>(weights, tokens, width, sums),
        2 => multiply_tiles::<2>(weights, tokens, width, sums),
        3 => multiply_tiles::<3>(weights, tokens, width, sums),
        4 => multiply_tiles::<4>(weights, tokens, width, sums),
        _ => unreachable!("groups are cut to at most four tiles"),
    }
}

/// The tiles before the last one have their sums in `tmm1` to `tmm3`.
fn multiply_tiles<const TILES: usize>(
    weights: &[i8],
    tokens: &[i8],
    width: usize,
    sums: &mut GroupSums,
) {
    let rows: [*const i8; TILES] =
        std::array::from_fn(|tile| tokens[tile * TILE_TOKENS * width..].as_ptr());
    let out = sums.as_mut_ptr();
    // SAFETY: the registers have the shapes of `configure`. A load of tokens reads sixty-four
    // columns, of which `width` has a whole number, of the rows that the tile has; a load of
    // weights reads a whole tile of them; a store writes at most sixteen of the sums.
    unsafe {
        zero::<0>();
        zero::<1>();
        zero::<2>();
        zero::<3>();
        for (step, tile) in weights.as_chunks::<TILE>().0.iter().enumerate() {
            let column = step * LINE;
            load::<7>(tile.as_ptr(), LINE);
            if TILES > 1 {
                load::<5>(rows[0].add(column), width);
                add_products::<1, 5>();
            }
            if TILES > 2 {
                load::<6>(rows[1].add(column), width);
                add_products::<2, 6>();
            }
            if TILES > 3 {
                load::<5>(rows[2].add(column), width);
                add_products::<3, 5>();
            }
            load::<4>(rows[TILES - 1].add(column), width);
            add_products::<0, 4>();
        }
        if TILES > 1 {
            store::<1>(out);
        }
        if TILES > 2 {
            store::<2>(out.add(TILE_TOKENS));
        }
        if TILES > 3 {
            store::<3>(out.add(2 * TILE_TOKENS));
        }
        store::<0>(out.add((TILES - 1) * TILE_TOKENS));
    }
}

#[inline(always)]
unsafe fn zero<const TILE: usize>() {
    unsafe { asm!("tilezero tmm{}", const TILE, options(nostack, nomem)) };
}

/// Reads rows that lie `stride` bytes apart.
#[inline(always)]
unsafe fn load<const TILE: usize>(from: *const i8, stride: usize) {
    unsafe {
        asm!("tileloadd tmm{}, [{} + {}*1]", const TILE, in(reg) from, in(reg) stride, options(nostack, readonly));
    }
}

/// Adds the products of signed tokens and the unsigned weights in `tmm7`.
#[inline(always)]
unsafe fn add_products<const SUMS: usize, const TOKENS: usize>() {
    unsafe {
        asm!("tdpbsud tmm{}, tmm{}, tmm7", const SUMS, const TOKENS, options(nostack, nomem));
    }
}

#[inline(always)]
unsafe fn store<const TILE: usize>(to: *mut [i32; PANEL]) {
    unsafe {
        asm!("tilestored [{} + {}*1], tmm{}", in(reg) to, in(reg) LINE, const TILE, options(nostack));
    }
}
