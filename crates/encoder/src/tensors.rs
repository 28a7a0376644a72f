//! The safetensors format: the length of a header, the header in JSON, the numbers.

use std::collections::HashMap;

use serde::Deserialize;

use super::error::ModelError;
use super::weights::Matrix;

/// The named tensors of a file, looked up and converted one at a time.
#[derive(Debug)]
pub(super) struct Tensors<'a> {
    metadata: HashMap<String, String>,
    headers: HashMap<String, TensorHeader>,
    data: &'a [u8],
}

#[derive(Debug, Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let (header, data) = split_header(bytes)?;
        let (metadata, headers) = parse_header(header).map_err(|source| ModelError::Json {
            file: "header of the weights",
            source,
        })?;
        Ok(Self {
            metadata,
            headers,
            data,
        })
    }

    pub(super) fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).map(String::as_str)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Returns the rows and columns of a matrix.
    pub(super) fn size(&self, name: &str) -> Result<(usize, usize), ModelError> {
        let header = self.header(name)?;
        match header.shape[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
            _ => Err(ModelError::Shape {
                reason: format!("{name} has shape {:?}, which is not a matrix", header.shape),
            }),
        }
    }

    /// Returns a matrix of this shape in bytes: stored as bytes with a step per row, or rounded
    /// here.
    pub(super) fn matrix(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Matrix, ModelError> {
        let header = self.header_with_shape(name, &[rows, columns])?;
        if header.dtype != "I8" {
            return Ok(Matrix::round(
                &self.floats(name, &[rows, columns])?,
                columns,
            ));
        }
        let values = self
            .read(name, header)?
            .map(|[byte]| i8::from_ne_bytes([byte]))
            .collect();
        let steps = self.floats(&format!("{name} scale"), &[rows])?;
        Ok(Matrix {
            columns,
            values,
            steps,
        })
    }

    /// Returns the values of a float tensor of exactly this shape.
    pub(super) fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let header = self.header_with_shape(name, shape)?;
        let values: Vec<f32> = match header.dtype.as_str() {
            "F32" => self.read(name, header)?.map(f32::from_le_bytes).collect(),
            "F16" => self.read(name, header)?.map(from_f16_bytes).collect(),
            "BF16" => self.read(name, header)?.map(from_bf16_bytes).collect(),
            _ => return Err(header.type_error(name, "F32, F16 or BF16")),
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
        let header = self.header(name)?;
        let text = match header.dtype.as_str() {
            "U8" => String::from_utf8(self.read(name, header)?.map(|[byte]| byte).collect()).ok(),
            _ => None,
        };
        text.ok_or_else(|| header.type_error(name, "text in U8"))
    }

    fn header_with_shape(&self, name: &str, shape: &[usize]) -> Result<&TensorHeader, ModelError> {
        let header = self.header(name)?;
        if header.shape == shape {
            Ok(header)
        } else {
            Err(header.shape_error(name, shape))
        }
    }

    fn header(&self, name: &str) -> Result<&TensorHeader, ModelError> {
        self.headers.get(name).ok_or_else(|| ModelError::Missing {
            name: name.to_owned(),
        })
    }

    fn read<const SIZE: usize>(
        &self,
        name: &str,
        header: &TensorHeader,
    ) -> Result<impl Iterator<Item = [u8; SIZE]>, ModelError> {
        let (begin, end) = header.data_offsets;
        let needed = header.bytes(SIZE);
        match self.data.get(begin..end) {
            Some(found) if found.len() == needed => Ok(found.as_chunks().0.iter().copied()),
            _ => Err(ModelError::TensorRange {
                name: name.to_owned(),
                begin,
                end,
                needed,
                present: self.data.len(),
            }),
        }
    }
}

/// Splits a file into the header, whose length is in its first eight bytes, and the numbers.
fn split_header(bytes: &[u8]) -> Result<(&[u8], &[u8]), ModelError> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Err(truncated_error(bytes, "start", 8));
    };
    let length = u64::from_le_bytes(*length);
    usize::try_from(length)
        .ok()
        .and_then(|length| rest.split_at_checked(length))
        .ok_or_else(|| truncated_error(bytes, "header", length))
}

fn truncated_error(bytes: &[u8], part: &'static str, needed: u64) -> ModelError {
    ModelError::Truncated {
        part,
        needed,
        present: bytes.len(),
    }
}

type Header = (HashMap<String, String>, HashMap<String, TensorHeader>);

/// The header has one member for each tensor, and one for the metadata.
fn parse_header(json: &[u8]) -> Result<Header, serde_json::Error> {
    let mut members: HashMap<String, serde_json::Value> = serde_json::from_slice(json)?;
    let metadata = members.remove("__metadata__").map(serde_json::from_value);
    let headers = members
        .into_iter()
        .map(|(name, header)| Ok((name, serde_json::from_value(header)?)));
    let headers = headers.collect::<Result<_, serde_json::Error>>()?;
    Ok((metadata.transpose()?.unwrap_or_default(), headers))
}

impl TensorHeader {
    /// The bytes of the tensor, if one number has `size`. A shape that overflows fits no file.
    fn bytes(&self, size: usize) -> usize {
        let mut sizes = self.shape.iter();
        sizes
            .try_fold(size, |product, size| product.checked_mul(*size))
            .unwrap_or(usize::MAX)
    }

    fn shape_error(&self, name: &str, expected: &[usize]) -> ModelError {
        ModelError::TensorShape {
            name: name.to_owned(),
            expected: expected.to_vec(),
            found: self.shape.clone(),
        }
    }

    fn type_error(&self, name: &str, expected: &'static str) -> ModelError {
        ModelError::TensorType {
            name: name.to_owned(),
            expected,
            found: self.dtype.clone(),
        }
    }
}

/// A 16-bit float: one bit for the sign, five for the exponent, ten for the fraction.
fn from_f16_bytes(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let (sign, exponent, rest) = (bits >> 15, bits >> 10 & 31, bits & 1023);
    let size = match exponent {
        // Numbers below the smallest exponent are counted in steps of 2^-24.
        0 => rest as f32 / 16_777_216.0,
        // Infinity or NaN.
        31 => f32::from_bits(0x7f80_0000 | rest << 13),
        // The exponent bias of a float is 127 instead of 15, and its fraction is 13 bits longer.
        _ => f32::from_bits((exponent + 112) << 23 | rest << 13),
    };
    if sign == 1 { -size } else { size }
}

/// The upper half of a float (bfloat16).
fn from_bf16_bytes([low, high]: [u8; 2]) -> f32 {
    f32::from_le_bytes([0, 0, low, high])
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
            [0x0001, 0x03ff, 0x7bff].map(|bits: u16| from_f16_bytes(bits.to_le_bytes())),
            [2f32.powi(-24), 1023.0 * 2f32.powi(-24), 65504.0]
        );
    }

    #[test]
    fn a_broken_file_is_rejected_with_the_name_of_the_tensor() {
        check("{}", &[], Err("tensor a is missing"));
        check(
            r#"{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}"#,
            &[0; 12],
            Err("tensor a has shape [3], expected [2]"),
        );
        check(
            r#"{"a":{"dtype":"I64","shape":[2],"data_offsets":[0,16]}}"#,
            &[0; 16],
            Err("tensor a has type I64, expected F32, F16 or BF16"),
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
                matches!(error, ModelError::TensorRange { .. }),
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
    fn a_truncated_file_is_rejected() {
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
