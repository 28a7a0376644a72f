//! A stream of events that outlives its connections, so that a client can come back for the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{Stream, stream};
use kitbag_wire::{Message, sse};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use crate::outbox::Outgoing;

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

impl StreamLog {
    /// Records what comes out of an outbox. With the answer of its request a stream is done.
    pub(super) fn record(
        name: String,
        first: Option<Outgoing>,
        mut outgoing: UnboundedReceiver<Outgoing>,
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

    /// For the connection of the request itself, which a cut ends.
    ///
    /// `primed` readings start with an empty event, so that there is an id to resume from.
    pub(super) fn read(
        self: Arc<Self>,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        self.reading(0, 0, primed)
    }

    /// For a client that comes back: earlier cuts are forgotten.
    pub(super) fn resume(
        self: Arc<Self>,
        from: usize,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        let cuts_seen = self.log.borrow().cuts;
        self.reading(from, cuts_seen, primed)
    }

    /// Where a reader starts that has not said where it stopped.
    pub(super) fn delivered(&self) -> usize {
        self.delivered.load(Ordering::SeqCst)
    }

    fn reading(
        self: Arc<Self>,
        at: usize,
        cuts_seen: usize,
        primed: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + 'static {
        let unprimed = primed.then(|| format!("id: {}/{at}\nretry: 100\ndata: \n\n", self.name));
        let reader = Reader {
            log: self.log.subscribe(),
            stream: self,
            at,
            cuts_seen,
            unprimed,
        };
        stream::unfold(reader, Reader::next)
    }

    fn add(&self, next: Outgoing) {
        self.log.send_modify(|log| match next {
            Outgoing::Message(message) => {
                log.done |= matches!(message, Message::Response(_));
                log.messages.push(message);
            }
            Outgoing::Cut => log.cuts += 1,
        });
    }
}

/// The stream and the position that an event id stands for.
pub(super) fn parse_event_id(id: &str) -> Option<(&str, usize)> {
    let (stream, position) = id.rsplit_once('/')?;
    Some((stream, position.parse().ok()?))
}

struct Reader {
    stream: Arc<StreamLog>,
    log: watch::Receiver<Log>,
    at: usize,
    cuts_seen: usize,
    unprimed: Option<String>,
}

impl Reader {
    async fn next(mut self) -> Option<(Vec<u8>, Self)> {
        if let Some(priming) = self.unprimed.take() {
            return Some((priming.into_bytes(), self));
        }
        let (at, cuts_seen) = (self.at, self.cuts_seen);
        let message = {
            let news = |log: &Log| log.messages.len() > at || log.cuts > cuts_seen || log.done;
            let log = self.log.wait_for(news).await.ok()?;
            log.messages.get(at)?.clone()
        };
        self.at += 1;
        self.stream.delivered.fetch_max(self.at, Ordering::SeqCst);
        let event = sse::event_with_id(&message, &format!("{}/{}", self.stream.name, self.at));
        Some((event, self))
    }
}
