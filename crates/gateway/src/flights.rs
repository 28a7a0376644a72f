//! What is on its way to each caller's clients: how many requests are open, and how many bytes of
//! answers have not been read yet.
//!
//! An answer is in memory until its client has read it. A client decides how fast it reads, so
//! what may pile up is limited for each caller; the next large answer is refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kitbag_domain::Caller;
use kitbag_wire::{Message, Response};
use tokio::sync::Notify;

use crate::sync::lock;

/// Four of the largest answers a server may give with the usual settings.
const MOST_BYTES_EACH: usize = 64 << 20;
/// Of all callers together; one that has nothing on its way may still have one answer.
const MOST_BYTES: usize = 512 << 20;
/// An answer up to this length is always delivered, or a caller could not even be told why others
/// are not.
const SMALL: usize = 64 << 10;
/// Open requests and streams of one caller over HTTP: each is a connection, too.
const MOST_REQUESTS_EACH: usize = 2_000;

#[derive(Default)]
pub(crate) struct Flights {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    book: Mutex<Book>,
    landed: Notify,
}

#[derive(Default)]
struct Book {
    bytes: usize,
    callers: HashMap<Caller, Load>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Load {
    bytes: usize,
    requests: usize,
}

/// Something that counts for a caller until it is dropped.
pub(crate) struct Held {
    shared: Arc<Shared>,
    caller: Caller,
    load: Load,
}

/// A message to a client, counted until it is out.
pub(crate) struct HeldMessage {
    pub(crate) message: Message,
    pub(crate) held: Option<Held>,
}

impl From<Message> for HeldMessage {
    fn from(message: Message) -> Self {
        Self { message, held: None }
    }
}

impl HeldMessage {
    /// How much of the memory it takes, as far as that can be much.
    pub(crate) fn length(&self) -> usize {
        length(&self.message)
    }
}

impl Flights {
    /// Counts an open request, if the caller may have one more.
    pub(crate) fn open_request(&self, caller: &Caller) -> Option<Held> {
        let fits = |load: Load, _| load.requests < MOST_REQUESTS_EACH;
        self.hold(caller, Load { bytes: 0, requests: 1 }, fits)
    }

    /// Counts what is said to a client, if there is room for it.
    pub(crate) fn send(&self, caller: &Caller, message: Message) -> Result<HeldMessage, TooMuchUnread> {
        let bytes = length(&message);
        let fits = |load: Load, all: usize| {
            bytes <= SMALL
                || load.bytes == 0
                || (load.bytes + bytes <= MOST_BYTES_EACH && all + bytes <= MOST_BYTES)
        };
        match self.hold(caller, Load { bytes, requests: 0 }, fits) {
            Some(held) => Ok(HeldMessage { message, held: Some(held) }),
            None => Err(TooMuchUnread { bytes: self.load(caller).bytes }),
        }
    }

    /// Counts what is said to a client, whatever there is already: for one whose next request is
    /// not read before there is [room](Self::room).
    pub(crate) fn send_anyway(&self, caller: &Caller, message: Message) -> HeldMessage {
        let bytes = length(&message);
        let held = self.hold(caller, Load { bytes, requests: 0 }, |_, _| true);
        HeldMessage { message, held }
    }

    /// Waits until the caller's clients have read enough to be sent more.
    pub(crate) async fn room(&self, caller: &Caller) {
        loop {
            let mut landed = std::pin::pin!(self.shared.landed.notified());
            landed.as_mut().enable();
            if self.load(caller).bytes < MOST_BYTES_EACH {
                return;
            }
            landed.await;
        }
    }

    fn hold(&self, caller: &Caller, load: Load, fits: impl FnOnce(Load, usize) -> bool) -> Option<Held> {
        let mut book = lock(&self.shared.book);
        let now = book.callers.get(caller).copied().unwrap_or_default();
        if !fits(now, book.bytes) {
            return None;
        }
        let sum = Load { bytes: now.bytes + load.bytes, requests: now.requests + load.requests };
        book.callers.insert(caller.clone(), sum);
        book.bytes += load.bytes;
        Some(Held { shared: self.shared.clone(), caller: caller.clone(), load })
    }

    fn load(&self, caller: &Caller) -> Load {
        lock(&self.shared.book).callers.get(caller).copied().unwrap_or_default()
    }
}

/// A caller's clients have to read before they get more.
#[derive(Debug)]
pub(crate) struct TooMuchUnread {
    pub(crate) bytes: usize,
}

/// The part of a message that can be long.
fn length(message: &Message) -> usize {
    let raw = match message {
        Message::Request(request) => request.params.as_ref(),
        Message::Notification(notification) => notification.params.as_ref(),
        Message::Response(Response { outcome: Ok(result), .. }) => Some(result),
        Message::Response(Response { outcome: Err(error), .. }) => {
            return error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len());
        }
    };
    raw.map_or(0, |raw| raw.get().len())
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut book = lock(&self.shared.book);
        book.bytes -= self.load.bytes;
        if let Some(load) = book.callers.get_mut(&self.caller) {
            load.bytes -= self.load.bytes;
            load.requests -= self.load.requests;
            if load.bytes == 0 && load.requests == 0 {
                book.callers.remove(&self.caller);
            }
        }
        drop(book);
        self.shared.landed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::{RequestId, raw};

    use super::*;

    fn caller(tenant: &str) -> Caller {
        Caller { tenant: tenant.parse().unwrap(), ..Caller::local() }
    }

    fn answer(bytes: usize) -> Message {
        Response::result(RequestId::Number(1), raw(&"x".repeat(bytes))).into()
    }

    #[test]
    fn who_does_not_read_gets_no_more_and_others_do() {
        let flights = Flights::default();
        let send = |tenant: &str, bytes: usize| flights.send(&caller(tenant), answer(bytes));
        let unread: Vec<_> = (0..10).filter_map(|_| send("low", 13 << 20).ok()).collect();
        assert_eq!(unread.len(), 4);
        assert!(send("low", 100).is_ok(), "what is small always passes");
        assert!(send("high", 13 << 20).is_ok());
        drop(unread);
        assert!(send("low", 13 << 20).is_ok());
        assert!(lock(&flights.shared.book).callers.is_empty());
    }

    #[test]
    fn all_callers_together_have_a_limit_that_leaves_everyone_one_answer() {
        let flights = Flights::default();
        let send = |number: usize| flights.send(&caller(&format!("t{number}")), answer(30 << 20));
        let unread: Vec<_> = (0..40).filter_map(|number| send(number % 20).ok()).collect();
        assert_eq!(unread.len(), 20);
    }

    #[test]
    fn open_requests_of_one_caller_have_a_limit() {
        let flights = Flights::default();
        let open: Vec<_> =
            (0..MOST_REQUESTS_EACH + 5).filter_map(|_| flights.open_request(&caller("low"))).collect();
        assert_eq!(open.len(), MOST_REQUESTS_EACH);
        assert!(flights.open_request(&caller("high")).is_some());
    }

    #[tokio::test]
    async fn a_client_on_a_pipe_is_heard_again_when_it_has_read() {
        let flights = Flights::default();
        let low = caller("low");
        let unread: Vec<_> = (0..5).map(|_| flights.send_anyway(&low, answer(20 << 20))).collect();
        let mut room = Box::pin(flights.room(&low));
        assert!(futures::poll!(&mut room).is_pending());
        drop(unread);
        room.await;
    }
}
