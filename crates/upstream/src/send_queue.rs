//! The outgoing messages of one server, limited however little the server reads.
//!
//! Clients' requests and answers to the server's own requests are counted separately. While many
//! answers are queued, nothing is read from the server, because the server alone decides how many
//! there are. For requests that would be wrong: a server that writes a long result may not read,
//! and its result must be read to the end; so the next request is rejected instead.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_wire::Message;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use kitbag_domain::sync::lock;

/// Answers to pings and questions are short, so this is room for thousands.
const MAX_REPLIES: usize = 1 << 20;
/// Room for several requests of the maximum size.
const MAX_REQUESTS: usize = 64 << 20;
/// The memory a short message needs beyond its bytes; it bounds their number as well.
const MESSAGE_OVERHEAD: usize = 256;
/// A server asks and then waits for the answer, so one that leaves answers unread for this long is
/// stuck.
const REPLIES_TIMEOUT: Duration = Duration::from_secs(10);
/// A single-threaded server may be busy with a long call before it reads the next.
const REQUESTS_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) const STUCK: &str = "closed because it did not read its input";

/// The sending end.
#[derive(Clone)]
pub(crate) struct SendQueue(Arc<SendQueueState>);

/// The writer's end.
pub(crate) struct QueuedMessages(Arc<SendQueueState>);

/// A request was rejected, because this many bytes are already queued.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QueueFull {
    pub(crate) waiting: usize,
}

/// The server does not read the answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StuckServer;

struct SendQueueState {
    lines: Mutex<QueuedLines>,
    came: Notify,
    replies: ReplyBacklog,
    requests_timeout: Duration,
    stuck: CancellationToken,
}

#[derive(Default)]
struct QueuedLines {
    waiting: VecDeque<QueuedLine>,
    requests: usize,
    /// When the server last took a message, or the queue was empty.
    moved: Option<Instant>,
}

struct QueuedLine {
    text: Vec<u8>,
    is_reply: bool,
}

impl SendQueue {
    pub(crate) fn new_pair() -> (Self, QueuedMessages) {
        Self::with_timeouts(REPLIES_TIMEOUT, REQUESTS_TIMEOUT)
    }

    fn with_timeouts(replies: Duration, requests: Duration) -> (Self, QueuedMessages) {
        let queue = Arc::new(SendQueueState {
            lines: Mutex::default(),
            came: Notify::new(),
            replies: ReplyBacklog::new(replies),
            requests_timeout: requests,
            stuck: CancellationToken::new(),
        });
        (Self(queue.clone()), QueuedMessages(queue))
    }

    /// Queues a request or notification.
    pub(crate) fn push_message(&self, message: &Message) -> Result<(), QueueFull> {
        let text = message.to_line();
        let weight = memory_size(text.len());
        let mut lines = lock(&self.0.lines);
        if lines.requests > 0 && lines.requests + weight > MAX_REQUESTS {
            let moved = lines.moved.map(|moved| moved.elapsed());
            if moved.is_some_and(|elapsed| elapsed > self.0.requests_timeout) {
                self.0.stuck.cancel();
            }
            return Err(QueueFull {
                waiting: lines.requests,
            });
        }
        lines.requests += weight;
        lines.push(QueuedLine {
            text,
            is_reply: false,
        });
        drop(lines);
        self.0.came.notify_one();
        Ok(())
    }

    /// Queues an answer to a request of the server. The task that reads from the server waits for
    /// [`wait_for_room`](Self::wait_for_room) before it reads the next request.
    pub(crate) fn push_reply(&self, message: &Message) {
        let text = message.to_line();
        self.0.replies.add(memory_size(text.len()));
        lock(&self.0.lines).push(QueuedLine {
            text,
            is_reply: true,
        });
        self.0.came.notify_one();
    }

    /// Returns when few answers are queued, or when the server is considered stuck.
    pub(crate) async fn wait_for_room(&self) -> Result<(), StuckServer> {
        let room = self.0.replies.wait_for_room().await;
        if room.is_err() {
            self.0.stuck.cancel();
        }
        room
    }

    /// Returns when the server is considered stuck.
    pub(crate) async fn wait_until_stuck(&self) {
        self.0.stuck.cancelled().await;
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.0.stuck.is_cancelled()
    }
}

impl QueuedMessages {
    /// Returns the next message as text, without the line break.
    pub(crate) async fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some(line) = lock(&self.0.lines).pop() {
                if line.is_reply {
                    self.0.replies.remove(memory_size(line.text.len()));
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

impl QueuedLines {
    fn push(&mut self, line: QueuedLine) {
        if self.waiting.is_empty() {
            self.moved = Some(Instant::now());
        }
        self.waiting.push_back(line);
    }

    fn pop(&mut self) -> Option<QueuedLine> {
        let line = self.waiting.pop_front()?;
        self.moved = Some(Instant::now());
        if !line.is_reply {
            self.requests -= memory_size(line.text.len());
        }
        Some(line)
    }
}

/// The bytes of answers that a server has not read yet.
pub(crate) struct ReplyBacklog {
    bytes: Mutex<usize>,
    less: Notify,
    timeout: Duration,
}

impl Default for ReplyBacklog {
    fn default() -> Self {
        Self::new(REPLIES_TIMEOUT)
    }
}

impl ReplyBacklog {
    fn new(timeout: Duration) -> Self {
        Self {
            bytes: Mutex::default(),
            less: Notify::new(),
            timeout,
        }
    }

    pub(crate) fn add(&self, bytes: usize) {
        *lock(&self.bytes) += bytes;
    }

    pub(crate) fn remove(&self, bytes: usize) {
        *lock(&self.bytes) -= bytes;
        self.less.notify_waiters();
    }

    pub(crate) async fn wait_for_room(&self) -> Result<(), StuckServer> {
        let room = tokio::time::timeout(self.timeout, self.wait_until_short()).await;
        room.map_err(|_| StuckServer)
    }

    async fn wait_until_short(&self) {
        loop {
            let mut less = std::pin::pin!(self.less.notified());
            // Registered before the bytes are checked, so that no notification is missed in
            // between.
            less.as_mut().enable();
            if *lock(&self.bytes) < MAX_REPLIES {
                return;
            }
            less.await;
        }
    }
}

pub(crate) fn memory_size(bytes: usize) -> usize {
    bytes + MESSAGE_OVERHEAD
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
    async fn requests_beyond_the_limit_are_rejected_until_some_are_taken() {
        let (outgoing, mut waiting) = SendQueue::with_timeouts(LONG, LONG);
        let long = message(MAX_REQUESTS / 2);
        assert_eq!(outgoing.push_message(&long), Ok(()));
        assert!(outgoing.push_message(&long).is_err());
        assert_eq!(
            outgoing.push_message(&message(10)),
            Ok(()),
            "a short one fits"
        );
        waiting.next().await;
        assert_eq!(outgoing.push_message(&long), Ok(()));
        assert!(!outgoing.is_stuck());
    }

    #[tokio::test]
    async fn a_server_that_takes_no_request_for_too_long_is_given_up() {
        let (outgoing, _waiting) = SendQueue::with_timeouts(LONG, Duration::ZERO);
        let long = message(MAX_REQUESTS + 1);
        assert_eq!(
            outgoing.push_message(&long),
            Ok(()),
            "one fits however long it is"
        );
        assert!(outgoing.push_message(&message(1)).is_err());
        outgoing.wait_until_stuck().await;
    }

    #[tokio::test]
    async fn a_server_that_takes_no_answers_is_given_up_and_one_that_is_slow_is_not() {
        let (outgoing, mut waiting) = SendQueue::with_timeouts(LONG, LONG);
        outgoing.push_reply(&message(MAX_REPLIES));
        let (room, _taken) = tokio::join!(outgoing.wait_for_room(), waiting.next());
        assert_eq!(room, Ok(()));
        let (outgoing, _waiting) = SendQueue::with_timeouts(SHORT, LONG);
        outgoing.push_reply(&message(MAX_REPLIES));
        assert_eq!(outgoing.wait_for_room().await, Err(StuckServer));
        assert!(outgoing.is_stuck());
    }
}
