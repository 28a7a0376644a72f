//! Reading HTTP bodies no further than we are willing to hold in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::{Stream, StreamExt};

/// The whole body, or why not.
pub(crate) async fn collect(response: reqwest::Response, max: usize) -> Result<Vec<u8>, String> {
    if response
        .content_length()
        .is_some_and(|length| length > max as u64)
    {
        return Err(too_large(max));
    }
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| describe(&error))?;
        if body.len() + chunk.len() > max {
            return Err(too_large(max));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// A byte stream that fails once more than `max` bytes came since the last event.
pub(crate) fn limited(
    response: reqwest::Response,
    max: usize,
) -> (
    impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin,
    SinceEvent,
) {
    let since = SinceEvent::default();
    let count = since.clone();
    let stream = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| std::io::Error::other(describe(&error)))?;
        let so_far = count.0.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
        if so_far > max {
            Err(std::io::Error::other(too_large(max)))
        } else {
            Ok(chunk)
        }
    });
    (Box::pin(stream), since)
}

#[derive(Clone, Default)]
pub(crate) struct SinceEvent(Arc<AtomicUsize>);

impl SinceEvent {
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// The reason at the bottom, and whether it was our patience that ended.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let cause = kitbag_fetch::innermost(error);
    if error.is_timeout() {
        format!("timed out: {cause}")
    } else {
        cause
    }
}

fn too_large(max: usize) -> String {
    format!("the answer is larger than {max} bytes (raise `max_message_bytes` to allow it)")
}
