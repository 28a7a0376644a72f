//! What waits to be sent to one server: never more than fits, however little the server reads.
//!
//! Requests of clients and answers to the server's own requests are counted apart. A server that
//! has many answers waiting is not read from until it has taken some, because it alone decides how
//! many there are. For requests that would be wrong: while a server writes a long result it may
//! not read, and it must be heard to come to an end; so there the next request is refused.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_wire::Message;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use kitbag_domain::sync::lock;

/// Answers to pings and questions are short, so that this is room for thousands.
const MAX_REPLIES: usize = 1 << 20;
/// Room for several requests as long as clients may send them.
const MAX_REQUESTS: usize = 64 << 20;
/// What a short message costs beyond its bytes; it bounds their number as well.
const EACH: usize = 256;
/// How long a server may leave its answers lying before it is given up.
const REPLIES_PATIENCE: Duration = Duration::from_secs(10);
/// A server with one thread may be busy with a long call before it reads the next.
const REQUESTS_PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const STUCK: &str = "it did not read what it was sent, so the connection was ended";

/// The end that messages are put in at.
#[derive(Clone)]
pub(crate) struct Outgoing(Arc<Queue>);

/// The end that the writer takes them out at.
pub(crate) struct Waiting(Arc<Queue>);

/// A request was not taken, because this many bytes wait already.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) waiting: usize,
}

/// The server does not take our answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stuck;

struct Queue {
    lines: Mutex<Lines>,
    came: Notify,
    replies: Backlog,
    requests_patience: Duration,
    stuck: CancellationToken,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Line>,
    requests: usize,
    /// When the server took something last, or the queue was empty.
    moved: Option<Instant>,
}

struct Line {
    text: Vec<u8>,
    is_reply: bool,
}

impl Outgoing {
    pub(crate) fn queue() -> (Self, Waiting) {
        Self::with_patience(REPLIES_PATIENCE, REQUESTS_PATIENCE)
    }

    fn with_patience(replies: Duration, requests: Duration) -> (Self, Waiting) {
        let queue = Arc::new(Queue {
            lines: Mutex::default(),
            came: Notify::new(),
            replies: Backlog::new(replies),
            requests_patience: requests,
            stuck: CancellationToken::new(),
        });
        (Self(queue.clone()), Waiting(queue))
    }

    /// A request or notification of ours.
    pub(crate) fn request(&self, message: &Message) -> Result<(), Full> {
        let text = message.to_line();
        let weight = weight(text.len());
        let mut lines = lock(&self.0.lines);
        if lines.requests > 0 && lines.requests + weight > MAX_REQUESTS {
            if lines
                .moved
                .is_some_and(|moved| moved.elapsed() > self.0.requests_patience)
            {
                self.0.stuck.cancel();
            }
            return Err(Full {
                waiting: lines.requests,
            });
        }
        lines.requests += weight;
        lines.put(Line {
            text,
            is_reply: false,
        });
        drop(lines);
        self.0.came.notify_one();
        Ok(())
    }

    /// An answer to a request of the server. What reads from the server waits for
    /// [`room`](Self::room) before it takes the next one.
    pub(crate) fn reply(&self, message: &Message) {
        let text = message.to_line();
        self.0.replies.add(weight(text.len()));
        lock(&self.0.lines).put(Line {
            text,
            is_reply: true,
        });
        self.0.came.notify_one();
    }

    /// Comes back when the server has few answers waiting, or has been given up.
    pub(crate) async fn room(&self) -> Result<(), Stuck> {
        let room = self.0.replies.room().await;
        if room.is_err() {
            self.0.stuck.cancel();
        }
        room
    }

    /// Comes back when the server has been given up.
    pub(crate) async fn stuck(&self) {
        self.0.stuck.cancelled().await;
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.0.stuck.is_cancelled()
    }
}

impl Waiting {
    /// The next message as text, without the line break.
    pub(crate) async fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some(line) = lock(&self.0.lines).take() {
                if line.is_reply {
                    self.0.replies.remove(weight(line.text.len()));
                }
                return line.text;
            }
            self.0.came.notified().await;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0.lines).waiting.is_empty()
    }
}

impl Lines {
    fn put(&mut self, line: Line) {
        if self.waiting.is_empty() {
            self.moved = Some(Instant::now());
        }
        self.waiting.push_back(line);
    }

    fn take(&mut self) -> Option<Line> {
        let line = self.waiting.pop_front()?;
        self.moved = Some(Instant::now());
        if !line.is_reply {
            self.requests -= weight(line.text.len());
        }
        Some(line)
    }
}

/// Bytes of answers that a server has yet to take.
pub(crate) struct Backlog {
    bytes: Mutex<usize>,
    less: Notify,
    patience: Duration,
}

impl Default for Backlog {
    fn default() -> Self {
        Self::new(REPLIES_PATIENCE)
    }
}

impl Backlog {
    fn new(patience: Duration) -> Self {
        Self {
            bytes: Mutex::default(),
            less: Notify::new(),
            patience,
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        *lock(&self.bytes) += bytes;
    }

    pub(crate) fn remove(&self, bytes: usize) {
        *lock(&self.bytes) -= bytes;
        self.less.notify_waiters();
    }

    pub(crate) async fn room(&self) -> Result<(), Stuck> {
        let less = async {
            loop {
                let mut less = std::pin::pin!(self.less.notified());
                less.as_mut().enable();
                if *lock(&self.bytes) < MAX_REPLIES {
                    return;
                }
                less.await;
            }
        };
        tokio::time::timeout(self.patience, less)
            .await
            .map_err(|_| Stuck)
    }
}

pub(crate) fn weight(bytes: usize) -> usize {
    bytes + EACH
}

#[cfg(test)]
mod tests {
    use kitbag_wire::{Notification, raw};
    use serde_json::json;

    use super::*;

    fn message(bytes: usize) -> Message {
        Notification::new("x", Some(raw(&json!({ "text": "x".repeat(bytes) })))).into()
    }

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn requests_beyond_the_limit_are_refused_until_some_are_taken() {
        let (outgoing, mut waiting) = Outgoing::with_patience(LONG, LONG);
        let long = message(MAX_REQUESTS / 2);
        assert_eq!(outgoing.request(&long), Ok(()));
        assert!(outgoing.request(&long).is_err());
        assert_eq!(outgoing.request(&message(10)), Ok(()), "a short one fits");
        waiting.next().await;
        assert_eq!(outgoing.request(&long), Ok(()));
        assert!(!outgoing.is_stuck());
    }

    #[tokio::test]
    async fn a_server_that_takes_no_request_for_too_long_is_given_up() {
        let (outgoing, _waiting) = Outgoing::with_patience(LONG, Duration::ZERO);
        let long = message(MAX_REQUESTS + 1);
        assert_eq!(
            outgoing.request(&long),
            Ok(()),
            "one fits however long it is"
        );
        assert!(outgoing.request(&message(1)).is_err());
        outgoing.stuck().await;
    }

    #[tokio::test]
    async fn a_server_that_takes_no_answers_is_given_up_and_one_that_is_slow_is_not() {
        let (outgoing, mut waiting) = Outgoing::with_patience(LONG, LONG);
        outgoing.reply(&message(MAX_REPLIES));
        let (room, _taken) = tokio::join!(outgoing.room(), waiting.next());
        assert_eq!(room, Ok(()));
        let (outgoing, _waiting) = Outgoing::with_patience(SHORT, LONG);
        outgoing.reply(&message(MAX_REPLIES));
        assert_eq!(outgoing.room().await, Err(Stuck));
        assert!(outgoing.is_stuck());
    }
}
