//! A vector with one byte per dimension: two digits are enough to distinguish meanings, and a store
//! holds many vectors.

/// Encodes the vector as a step and a multiple of it for each dimension.
pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
    let step = largest / f32::from(i8::MAX);
    let multiples = vector.iter().map(|it| quantize(*it, step));
    step.to_le_bytes().into_iter().chain(multiples).collect()
}

fn quantize(number: f32, step: f32) -> u8 {
    if step > 0.0 {
        ((number / step).round() as i8).cast_unsigned()
    } else {
        0
    }
}

/// Decodes a vector; `None` if the bytes are not valid.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<f32>> {
    let (step, multiples) = bytes.split_first_chunk()?;
    let step = f32::from_le_bytes(*step);
    let numbers = multiples
        .iter()
        .map(|it| f32::from(it.cast_signed()) * step);
    step.is_finite().then(|| numbers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_accurate_to_two_digits() {
        for vector in [
            vec![],
            vec![0.0, 0.0],
            vec![1.0, -0.5, 0.004],
            vec![-3e-3, 2e-3],
        ] {
            let back = from_bytes(&to_bytes(&vector)).unwrap();
            assert_eq!(back.len(), vector.len());
            let largest = vector.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
            for (number, back) in vector.iter().zip(back) {
                assert!((number - back).abs() <= largest / 200.0, "{number} {back}");
            }
        }
        assert_eq!(from_bytes(&[1, 2]), None);
    }
}
