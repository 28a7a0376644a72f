//! Reads a worker's frames defensively: the worker may have been compromised.

use bytes::BytesMut;
use tokio_util::codec::LengthDelimitedCodec;

use super::worker_failure;
use crate::outcome::RunFailure;
use crate::protocol::{FromWorker, MAX_FRAME, ToWorker};

pub(super) fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(MAX_FRAME)
        .new_codec()
}

pub(super) fn read(frame: &[u8]) -> Result<FromWorker, RunFailure> {
    if levels(frame) > MAX_LEVELS {
        return Err(worker_failure::unreadable_error(&"it is nested too deeply"));
    }
    serde_json::from_slice(frame).map_err(|error| worker_failure::unreadable_error(&error))
}

pub(super) fn write(message: &ToWorker, to: &mut BytesMut) {
    // No message contains a form that JSON lacks.
    let text = serde_json::to_vec(message).unwrap_or_default();
    to.extend_from_slice(&(text.len() as u32).to_be_bytes());
    to.extend_from_slice(&text);
}

/// Values are passed on as text. A later reader gives up beyond 128 levels, or runs out of stack.
/// The worker allows 100 and wraps values in a few more.
const MAX_LEVELS: usize = 120;

/// The nesting depth of a JSON text.
fn levels(json: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

fn skip_string<'a>(bytes: &mut impl Iterator<Item = &'a u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_outside_of_strings() {
        for (json, expected) in [("1", 0), ("[[],{}]", 2), (r#"{"[[\"[":[1]}"#, 2)] {
            assert_eq!(levels(json.as_bytes()), expected, "{json}");
        }
    }
}
