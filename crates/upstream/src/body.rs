//! Reads HTTP bodies of servers up to the configured limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{Stream, StreamExt};
use kitbag_fetch::{BodyError, describe_error};

/// Returns the whole body, or the reason why it cannot be read.
pub(crate) async fn read_body_within(
    response: reqwest::Response,
    max: usize,
) -> Result<Vec<u8>, String> {
    let read = kitbag_fetch::read_body(response, max).await;
    read.map_err(|error| match error {
        BodyError::TooLarge { most } => too_large_message(most),
        BodyError::Lost(error) => describe_error(error),
    })
}

/// Returns a byte stream that fails once more than `max` bytes arrived since the last event.
pub(crate) fn limit_stream(
    response: reqwest::Response,
    max: usize,
) -> (
    impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin,
    BytesSinceEvent,
) {
    let since = BytesSinceEvent::default();
    let count = since.clone();
    let stream = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| std::io::Error::other(describe_error(error)))?;
        match count.add(chunk.len()) > max {
            true => Err(std::io::Error::other(too_large_message(max))),
            false => Ok(chunk),
        }
    });
    (Box::pin(stream), since)
}

#[derive(Clone, Default)]
pub(crate) struct BytesSinceEvent(Arc<AtomicUsize>);

impl BytesSinceEvent {
    /// Adds bytes and returns the total since the last event.
    fn add(&self, bytes: usize) -> usize {
        self.0.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

fn too_large_message(max: usize) -> String {
    format!("the answer exceeds {max} bytes (raise `max_message_bytes` to allow it)")
}
