//! Reads the body of an HTTP request, with a size limit and a timeout.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;

use crate::call::failure::Failure;
use crate::front::in_flight::Reservation;

/// The time that a client may take to send the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// A body may have this many times the allowed size before its connection is cut.
const MAX_DRAIN_FACTOR: usize = 8;

/// Reads a body of at most `max` bytes, which count for the caller as long as `reservation` exists.
pub(super) async fn read_body(
    body: Body,
    max: usize,
    reservation: Option<Reservation>,
) -> Result<(Vec<u8>, Option<Reservation>), Failure> {
    let reader = BodyReader {
        max,
        bytes: Vec::new(),
        excess: 0,
        reservation,
    };
    tokio::time::timeout(BODY_TIMEOUT, reader.read_all(body))
        .await
        .unwrap_or(Err(Failure::SlowBody))
}

struct BodyReader {
    max: usize,
    bytes: Vec<u8>,
    /// The number of bytes read and discarded.
    excess: usize,
    reservation: Option<Reservation>,
}

impl BodyReader {
    /// A client that is still sending does not read an error response, so excess bytes are read and
    /// discarded, up to a limit.
    async fn read_all(mut self, body: Body) -> Result<(Vec<u8>, Option<Reservation>), Failure> {
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Failure::BrokenBody {
                reason: error.to_string(),
            })?;
            self.append_chunk(&chunk)?;
            if self.excess / MAX_DRAIN_FACTOR > self.max {
                break;
            }
        }
        match self.excess {
            0 => Ok((self.bytes, self.reservation)),
            _ => Err(Failure::TooLarge { max: self.max }),
        }
    }

    fn append_chunk(&mut self, chunk: &[u8]) -> Result<(), Failure> {
        if self.excess > 0 || self.bytes.len() + chunk.len() > self.max {
            self.excess += chunk.len();
            return Ok(());
        }
        if let Some(reservation) = &mut self.reservation
            && !reservation.grow(chunk.len())
        {
            return Err(Failure::TooManyRequests);
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }
}
