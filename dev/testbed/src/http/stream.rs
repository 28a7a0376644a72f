//! A stream of events that outlives its connections, so that a client can resume it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{Stream, stream};
use kitbag_wire::{Message, sse};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::outbox::OutboxItem;

#[derive(Debug)]
pub(super) struct StreamLog {
    name: String,
    log: watch::Sender<Log>,
    delivered: AtomicUsize,
}

#[derive(Debug, Default)]
struct Log {
    messages: Vec<Message>,
    cuts: usize,
    done: bool,
}

impl Log {
    fn has_news(&self, at: usize, cuts_seen: usize) -> bool {
        self.messages.len() > at || self.cuts > cuts_seen || self.done
    }
}

impl StreamLog {
    /// Records the messages of an outbox. The answer of its request completes the stream.
    pub(super) fn record(
        name: String,
        first: Option<OutboxItem>,
        mut outgoing: UnboundedReceiver<OutboxItem>,
    ) -> Arc<Self> {
        let recorded = Arc::new(Self {
            name,
            log: watch::Sender::default(),
            delivered: AtomicUsize::new(0),
        });
        if let Some(first) = first {
            recorded.add(first);
        }
        let recorder = recorded.clone();
        tokio::spawn(async move {
            while let Some(next) = outgoing.recv().await {
                recorder.add(next);
            }
            recorder.log.send_modify(|log| log.done = true);
        });
        recorded
    }

    /// Reads for the connection of the request itself, which a cut ends.
    ///
    /// A `primed` reader starts with an empty event, so that there is an id to resume from.
    pub(super) fn read(
        self: Arc<Self>,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        self.new_reader(0, 0, primed)
    }

    /// Reads for a client that resumes: earlier cuts are ignored.
    pub(super) fn resume(
        self: Arc<Self>,
        from: usize,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        let cuts_seen = self.log.borrow().cuts;
        self.new_reader(from, cuts_seen, primed)
    }

    /// Returns the start for a reader without a position.
    pub(super) fn delivered_count(&self) -> usize {
        self.delivered.load(Ordering::SeqCst)
    }

    fn new_reader(
        self: Arc<Self>,
        at: usize,
        cuts_seen: usize,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        let unprimed = primed.then(|| format!("id: {}/{at}\nretry: 100\ndata: \n\n", self.name));
        let reader = StreamReader {
            log: self.log.subscribe(),
            stream: self,
            at,
            cuts_seen,
            unprimed,
        };
        stream::unfold(reader, StreamReader::next)
    }

    fn add(&self, next: OutboxItem) {
        self.log.send_modify(|log| match next {
            OutboxItem::Message(message) => {
                log.done |= matches!(message, Message::Response(_));
                log.messages.push(message);
            }
            OutboxItem::Cut => log.cuts += 1,
        });
    }
}

/// Returns the stream and the position that an event id refers to.
pub(super) fn parse_event_id(id: &str) -> Option<(&str, usize)> {
    let (stream, position) = id.rsplit_once('/')?;
    Some((stream, position.parse().ok()?))
}

struct StreamReader {
    stream: Arc<StreamLog>,
    log: watch::Receiver<Log>,
    at: usize,
    cuts_seen: usize,
    unprimed: Option<String>,
}

impl StreamReader {
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        if let Some(priming) = self.unprimed.take() {
            return Some((priming.into_bytes(), self));
        }
        let (at, cuts_seen) = (self.at, self.cuts_seen);
        let message = {
            let waiting = self.log.wait_for(|log| log.has_news(at, cuts_seen));
            waiting.await.ok()?.messages.get(at)?.clone()
        };
        self.at += 1;
        self.stream.delivered.fetch_max(self.at, Ordering::SeqCst);
        let event =
            sse::encode_event_with_id(&message, &format!("{}/{}", self.stream.name, self.at));
        Some((event, self))
    }
}
