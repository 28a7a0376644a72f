//! The answers a legacy client gets as streams, stored for a while so that a broken one can be
//! resumed with `Last-Event-ID`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::mailbox::Mailbox;
use kitbag_domain::sync::lock;

/// Streams stored per session; the oldest is dropped first.
const MAX_STREAMS: usize = 32;

/// A stream up to this length stays until it is evicted.
const SHORT: usize = 16 << 10;

#[derive(Default)]
pub(crate) struct Streams {
    streams: Mutex<OpenStreams>,
}

#[derive(Default)]
struct OpenStreams {
    count: u64,
    mailboxes: BTreeMap<u64, Arc<Mailbox>>,
}

/// A position in a stream, in the format of event ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventId {
    /// A position in the stream of announcements.
    Announcement(u64),
    /// A position in the stream of one answer.
    Answer { stream: u64, number: u64 },
}

impl Streams {
    pub(crate) fn open_stream(&self) -> (u64, Arc<Mailbox>) {
        let mut streams = lock(&self.streams);
        streams.count += 1;
        let (stream, mailbox) = (streams.count, Arc::new(Mailbox::default()));
        streams.mailboxes.insert(stream, mailbox.clone());
        if streams.mailboxes.len() > MAX_STREAMS {
            streams.mailboxes.pop_first();
        }
        (stream, mailbox)
    }

    /// Drops a stream that was read to its end, or should have been by now, unless it is so short
    /// that keeping it costs little.
    pub(crate) fn drop_if_long(&self, stream: u64) {
        let mut streams = lock(&self.streams);
        if streams
            .mailboxes
            .get(&stream)
            .is_some_and(|mailbox| mailbox.total_length() > SHORT)
        {
            streams.mailboxes.remove(&stream);
        }
    }

    pub(crate) fn find_stream(&self, stream: u64) -> Option<Arc<Mailbox>> {
        lock(&self.streams).mailboxes.get(&stream).cloned()
    }
}

impl EventId {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.split_once('-') {
            None => text.parse().ok().map(Self::Announcement),
            Some((stream, number)) => Some(Self::Answer {
                stream: stream.parse().ok()?,
                number: number.parse().ok()?,
            }),
        }
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Announcement(number) => write!(f, "{number}"),
            Self::Answer { stream, number } => write!(f, "{stream}-{number}"),
        }
    }
}
