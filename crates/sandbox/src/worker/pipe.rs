//! The worker's end of the pipe: frames are read and written with blocking system calls.

use std::cell::Cell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::protocol::{FromWorker, MAX_FRAME, ToWorker};

/// Standard input and output. Nothing is read ahead, so `poll` sees all unread data.
#[derive(Debug, Clone, Default)]
pub(crate) struct GatewayPipe {
    last_request: Rc<Cell<u64>>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PipeError {
    #[error("the gateway closed the pipe")]
    Closed,
    #[error("the gateway sent an invalid message: {reason}")]
    Unreadable { reason: String },
}

impl GatewayPipe {
    pub(crate) fn send(&self, message: &FromWorker) -> Result<(), PipeError> {
        let mut frame = vec![0; LENGTH];
        serde_json::to_writer(&mut frame, message).map_err(|error| unreadable_error(&error))?;
        let length =
            u32::try_from(frame.len() - LENGTH).map_err(|error| unreadable_error(&error))?;
        frame[..LENGTH].copy_from_slice(&length.to_be_bytes());
        write_all(&frame)
    }

    pub(crate) fn receive(&self) -> Result<ToWorker, PipeError> {
        let mut length = [0; LENGTH];
        read_exactly(&mut length)?;
        let mut text = vec![0; check_length(u32::from_be_bytes(length) as usize)?];
        read_exactly(&mut text)?;
        serde_json::from_slice(&text).map_err(|error| unreadable_error(&error))
    }

    /// Waits for a message until the given time; `None` if none arrived.
    pub(crate) fn receive_until(
        &self,
        end: Option<Instant>,
    ) -> Result<Option<ToWorker>, PipeError> {
        if readable(end) {
            return self.receive().map(Some);
        }
        Ok(None)
    }

    /// The number of the next request. It is never reused, so a late answer matches nothing.
    pub(crate) fn next_request(&self) -> u64 {
        self.last_request.update(|last| last + 1);
        self.last_request.get()
    }
}

const LENGTH: usize = size_of::<u32>();

fn check_length(length: usize) -> Result<usize, PipeError> {
    if length > MAX_FRAME {
        return Err(unreadable_error(&format!("a frame of {length} bytes")));
    }
    Ok(length)
}

fn readable(end: Option<Instant>) -> bool {
    let input = input();
    let mut waiting = [PollFd::new(&input, PollFlags::IN)];
    let timeout = end.map(time_left);
    poll(&mut waiting, timeout.as_ref()) == Ok(1)
}

fn time_left(end: Instant) -> Timespec {
    let left = end.saturating_duration_since(Instant::now());
    // A time that the kernel cannot represent is longer than any run.
    Timespec::try_from(left.min(MAX_WAIT)).unwrap_or_default()
}

const MAX_WAIT: Duration = Duration::from_secs(3600);

fn read_exactly(mut rest: &mut [u8]) -> Result<(), PipeError> {
    while !rest.is_empty() {
        match rustix::io::read(input(), &mut *rest) {
            Ok(0) => return Err(PipeError::Closed),
            Ok(count) => rest = &mut rest[count..],
            Err(Errno::INTR) => {}
            Err(_) => return Err(PipeError::Closed),
        }
    }
    Ok(())
}

fn write_all(mut rest: &[u8]) -> Result<(), PipeError> {
    while !rest.is_empty() {
        match rustix::io::write(output(), rest) {
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(_) => return Err(PipeError::Closed),
        }
    }
    Ok(())
}

fn input() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

fn output() -> BorrowedFd<'static> {
    rustix::stdio::stdout()
}

fn unreadable_error(reason: &impl ToString) -> PipeError {
    PipeError::Unreadable {
        reason: reason.to_string(),
    }
}
