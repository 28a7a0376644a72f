//! Precomputed vectors of the built-in words and tools, made by the built-in model. Without them
//! the first query about an agent would wait until some hundreds of texts are embedded.
//!
//! The file is a table: the length of a vector (two bytes, little-endian), then rows of eight bytes
//! of the text's hash, four of a scale, and one signed byte per number, to be multiplied by the
//! scale.

use std::collections::HashMap;
use std::sync::LazyLock;

use kitbag_encoder::Encoder;

const TABLE: &[u8] = include_bytes!("../built-in-vectors.bin");
const HASH: usize = 8;
const SCALE: usize = 4;
/// The maximum of a signed byte.
const LARGEST_BYTE: f32 = 127.0;

/// Returns the vector of a built-in text.
pub fn vector(text: &str) -> Option<Vec<f32>> {
    static ROWS: LazyLock<HashMap<[u8; HASH], &'static [u8]>> =
        LazyLock::new(|| rows(TABLE).collect());
    ROWS.get(&hash(text)).and_then(|row| unpack_vector(row))
}

fn rows(table: &'static [u8]) -> impl Iterator<Item = ([u8; HASH], &'static [u8])> {
    let (length, rows) = table.split_first_chunk().unwrap_or((&[0, 0], table));
    let length = usize::from(u16::from_le_bytes(*length));
    rows.chunks_exact(HASH + SCALE + length)
        .filter_map(|row| row.split_first_chunk())
        .map(|(hash, row)| (*hash, row))
}

fn unpack_vector(row: &[u8]) -> Option<Vec<f32>> {
    let (scale, numbers) = row.split_first_chunk()?;
    let scale = f32::from_le_bytes(*scale);
    let numbers = numbers.iter().map(|number| f32::from(number.cast_signed()));
    Some(numbers.map(|number| number * scale).collect())
}

fn hash(text: &str) -> [u8; HASH] {
    *blake3::hash(text.as_bytes())
        .as_bytes()
        .first_chunk()
        .expect("a hash has more bytes")
}

/// Returns the number of precomputed vectors.
pub fn count() -> usize {
    rows(TABLE).count()
}

/// Returns the table for these texts, with the vectors of the model.
pub fn table<'a>(encoder: &Encoder, texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let length = u16::try_from(encoder.dimension()).expect("vectors are shorter than 65,536");
    let mut table = length.to_le_bytes().to_vec();
    for text in texts {
        table.extend(row(text, &encoder.embed(text)));
    }
    table
}

#[expect(clippy::cast_possible_truncation, reason = "it was scaled to fit")]
fn row(text: &str, vector: &[f32]) -> Vec<u8> {
    let largest = vector
        .iter()
        .fold(f32::EPSILON, |most, number| most.max(number.abs()));
    let scale = largest / LARGEST_BYTE;
    let numbers = vector
        .iter()
        .map(|number| ((number / scale).round() as i8).cast_unsigned());
    hash(text)
        .into_iter()
        .chain(scale.to_le_bytes())
        .chain(numbers)
        .collect()
}
