//! The safetensors format: the length of a header, the header in JSON, the numbers.

use std::collections::HashMap;

use serde::Deserialize;

use super::error::ModelError;
use super::weights::Matrix;

/// Named tensors of a file, looked up and converted one at a time.
#[derive(Debug)]
pub(super) struct Tensors<'a> {
    metadata: HashMap<String, String>,
    entries: HashMap<String, Entry>,
    data: &'a [u8],
}

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let truncated = |part, needed| ModelError::Truncated {
            part,
            needed,
            present: bytes.len(),
        };
        let (length, rest) = bytes
            .split_first_chunk()
            .ok_or_else(|| truncated("start", 8))?;
        let length = u64::from_le_bytes(*length);
        let split = usize::try_from(length)
            .ok()
            .and_then(|length| rest.split_at_checked(length));
        let (header, data) = split.ok_or_else(|| truncated("header", length))?;

        let json = |source| ModelError::Json {
            file: "header of the weights",
            source,
        };
        let mut header: HashMap<String, serde_json::Value> =
            serde_json::from_slice(header).map_err(json)?;
        let metadata = header
            .remove("__metadata__")
            .map(serde_json::from_value)
            .transpose()
            .map_err(json)?;
        let entries = header
            .into_iter()
            .map(|(name, entry)| Ok((name, serde_json::from_value(entry)?)));
        let entries = entries.collect::<Result<_, _>>().map_err(json)?;
        Ok(Self {
            metadata: metadata.unwrap_or_default(),
            entries,
            data,
        })
    }

    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Rows and columns of a matrix, whatever they are.
    pub(super) fn size(&self, name: &str) -> Result<(usize, usize), ModelError> {
        let entry = self.entry(name)?;
        match entry.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
            _ => Err(ModelError::Shape {
                reason: format!("{name} is {:?}, which is no matrix", entry.shape),
            }),
        }
    }

    /// A matrix of this shape in bytes: stored as such, with a step per row beside it, or
    /// rounded here.
    pub(super) fn matrix(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix, ModelError> {
        let entry = self.shaped(name, &[rows, columns])?;
        if entry.dtype != "I8" {
            return Ok(Matrix::round(
                &self.floats(name, &[rows, columns])?,
                columns,
            ));
        }
        let values = self
            .read(name, entry)?
            .map(|[byte]| i8::from_ne_bytes([byte]))
            .collect();
        let steps = self.floats(&format!("{name} scale"), &[rows])?;
        Ok(Matrix {
            columns,
            values,
            steps,
        })
    }

    /// The values of a float tensor of exactly this shape.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let entry = self.shaped(name, shape)?;
        let values: Vec<f32> = match entry.dtype.as_str() {
            "F32" => self.read(name, entry)?.map(f32::from_le_bytes).collect(),
            "F16" => self
                .read(name, entry)?
                .map(|bytes| half(u16::from_le_bytes(bytes)))
                .collect(),
            "BF16" => self
                .read(name, entry)?
                .map(|[low, high]| f32::from_le_bytes([0, 0, low, high]))
                .collect(),
            _ => return Err(entry.mistyped(name, "F32, F16 or BF16")),
        };
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(ModelError::NotFinite {
                name: name.to_owned(),
            })
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<String, ModelError> {
        let entry = self.entry(name)?;
        let not_text = || entry.mistyped(name, "text in U8");
        if entry.dtype != "U8" {
            return Err(not_text());
        }
        String::from_utf8(self.read(name, entry)?.map(|[byte]| byte).collect())
            .map_err(|_| not_text())
    }

    fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Entry, ModelError> {
        let entry = self.entry(name)?;
        if entry.shape == shape {
            Ok(entry)
        } else {
            Err(entry.misshapen(name, shape))
        }
    }

    fn entry(&self, name: &str) -> Result<&Entry, ModelError> {
        self.entries.get(name).ok_or_else(|| ModelError::Missing {
            name: name.to_owned(),
        })
    }

    fn read<const SIZE: usize>(
        &self,
        name: &str,
        entry: &Entry,
    ) -> Result<impl Iterator<Item = [u8; SIZE]>, ModelError> {
        let (begin, end) = entry.data_offsets;
        let count = entry
            .shape
            .iter()
            .try_fold(SIZE, |product, size| product.checked_mul(*size));
        let needed = count.unwrap_or(usize::MAX);
        let found = self
            .data
            .get(begin..end)
            .filter(|found| found.len() == needed);
        let found = found.ok_or_else(|| ModelError::TensorPlace {
            name: name.to_owned(),
            begin,
            end,
            needed,
            present: self.data.len(),
        })?;
        Ok(found.as_chunks().0.iter().copied())
    }
}

impl Entry {
    fn misshapen(&self, name: &str, expected: &[usize]) -> ModelError {
        let (expected, found) = (expected.to_vec(), self.shape.clone());
        ModelError::TensorShape {
            name: name.to_owned(),
            expected,
            found,
        }
    }

    fn mistyped(&self, name: &str, expected: &'static str) -> ModelError {
        ModelError::TensorType {
            name: name.to_owned(),
            expected,
            found: self.dtype.clone(),
        }
    }
}

/// A number of sixteen bits: one for the sign, five for the exponent, ten for the rest.
fn half(bits: u16) -> f32 {
    let (sign, exponent, rest) = (
        u32::from(bits >> 15),
        u32::from(bits >> 10 & 31),
        u32::from(bits & 1023),
    );
    let size = match exponent {
        0 => rest as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7f80_0000 | rest << 13),
        _ => f32::from_bits((exponent + 112) << 23 | rest << 13),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [
            &(header.len() as u64).to_le_bytes(),
            header.as_bytes(),
            data,
        ]
        .concat()
    }

    #[track_caller]
    fn check(header: &str, data: &[u8], expected: Result<&[f32], &str>) {
        let bytes = file(header, data);
        let found = Tensors::parse(&bytes).and_then(|tensors| tensors.floats("a", &[2]));
        assert_eq!(
            found.as_deref().map_err(ToString::to_string),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn floats_of_three_kinds_are_read() {
        check(
            r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
            &[0, 0, 128, 63, 0, 0, 0, 192],
            Ok(&[1.0, -2.0]),
        );
        check(
            r#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[1,5]}}"#,
            &[9, 0, 60, 0, 192],
            Ok(&[1.0, -2.0]),
        );
        check(
            r#"{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}"#,
            &[128, 63, 0, 192],
            Ok(&[1.0, -2.0]),
        );
        assert_eq!(
            [0x0001, 0x03ff, 0x7bff].map(half),
            [2f32.powi(-24), 1023.0 * 2f32.powi(-24), 65504.0]
        );
    }

    #[test]
    fn a_broken_file_is_refused_with_the_tensor_named() {
        check("{}", &[], Err("tensor a is missing"));
        check(
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#,
            &[0; 12],
            Err("tensor a is [3]; this model needs [2]"),
        );
        check(
            r#"{"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}"#,
            &[0; 16],
            Err("tensor a holds I64; F32, F16 or BF16 is understood"),
        );
        for offsets in [
            "[0,9]",
            "[4,8]",
            "[8,0]",
            "[0,80]",
            "[18446744073709551615,7]",
        ] {
            let header =
                format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":{offsets}}}}}"#);
            let bytes = file(&header, &[0; 8]);
            let error = Tensors::parse(&bytes)
                .and_then(|tensors| tensors.floats("a", &[2]))
                .unwrap_err();
            assert!(
                matches!(error, ModelError::TensorPlace { .. }),
                "{offsets}: {error}"
            );
        }
        check(
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
            &[255; 8],
            Err("tensor a has values that are not finite"),
        );
    }

    #[test]
    fn a_file_cut_short_is_refused() {
        for bytes in [
            &[][..],
            &[1, 2, 3],
            &u64::MAX.to_le_bytes(),
            &[9, 0, 0, 0, 0, 0, 0, 0, b'{'],
        ] {
            assert!(
                matches!(Tensors::parse(bytes), Err(ModelError::Truncated { .. })),
                "{bytes:?}"
            );
        }
    }
}
