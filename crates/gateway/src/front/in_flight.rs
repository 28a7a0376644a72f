//! Counts the load of each caller's clients: the open requests, their bytes in memory, and the
//! bytes of unread answers.
//!
//! An answer is in memory until its client has read it. A client decides how fast it reads, so the
//! amount is limited per caller; further large answers are rejected.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_domain::Caller;
use kitbag_wire::{Message, Response};
use tokio::sync::Notify;

use kitbag_domain::sync::lock;

/// The most bytes that may be in flight.
#[derive(Debug, Clone, Copy)]
struct LoadLimits {
    each: usize,
    /// The limit of all callers together; a caller with nothing in flight may still have one
    /// answer.
    all: usize,
    /// An answer up to this length is always delivered; otherwise not even the error could be.
    small: usize,
    /// How long an answer may wait for room within the limits.
    timeout: Duration,
}

impl LoadLimits {
    /// A caller may have four answers of the largest size that servers may send with default
    /// settings.
    const DEFAULT: Self = Self {
        each: 64 << 20,
        all: 512 << 20,
        small: 64 << 10,
        timeout: Duration::from_secs(5),
    };

    /// True if an answer may be sent to a caller with this load, in addition to all others.
    fn can_send(self, bytes: usize, load: Load, all: usize) -> bool {
        bytes <= self.small
            || load.bytes == 0
            || (load.bytes + bytes <= self.each && all + bytes <= self.all)
    }

    /// True if an answer that exceeds the limits now may wait.
    fn can_wait(self, bytes: usize, load: Load, all: usize) -> bool {
        load.bytes + bytes <= 2 * self.each && all + bytes <= self.all
    }
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Open requests and streams of one caller over HTTP: each is a connection, too.
const MAX_REQUESTS_PER_CALLER: usize = 2_000;

#[derive(Default)]
pub(crate) struct InFlightLoad {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    limits: LoadLimits,
    totals: Mutex<LoadTotals>,
    freed: Notify,
}

#[derive(Default)]
struct LoadTotals {
    bytes: usize,
    callers: HashMap<Caller, Load>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    pub(crate) bytes: usize,
    pub(crate) requests: usize,
}

/// A load that counts for a caller until it is dropped.
pub(crate) struct Reservation {
    shared: Arc<Shared>,
    caller: Caller,
    load: Load,
}

/// A message to a client, counted until it is sent.
pub(crate) struct OutgoingMessage {
    pub(crate) message: Message,
    pub(crate) reservation: Option<Reservation>,
}

impl From<Message> for OutgoingMessage {
    fn from(message: Message) -> Self {
        Self {
            message,
            reservation: None,
        }
    }
}

impl OutgoingMessage {
    /// Returns the message's length in memory; only the parts that can be long are counted.
    pub(crate) fn message_length(&self) -> usize {
        message_length(&self.message)
    }
}

impl InFlightLoad {
    /// Returns the load of each caller that has one.
    pub(crate) fn caller_loads(&self) -> Vec<(Caller, Load)> {
        let totals = lock(&self.shared.totals);
        let callers = totals.callers.iter();
        callers
            .map(|(caller, load)| (caller.clone(), *load))
            .collect()
    }

    /// Returns the most that one caller may have.
    pub(crate) fn caller_limit(&self) -> Load {
        Load {
            bytes: self.shared.limits.each,
            requests: MAX_REQUESTS_PER_CALLER,
        }
    }

    /// Counts an open request, if the caller may have another one.
    pub(crate) fn reserve_request(&self, caller: &Caller) -> Option<Reservation> {
        let one = Load {
            bytes: 0,
            requests: 1,
        };
        self.reserve(caller, one, |load, _| {
            load.requests < MAX_REQUESTS_PER_CALLER
        })
    }

    /// Counts a message to a client, if it fits the limits.
    pub(crate) fn reserve_message(
        &self,
        caller: &Caller,
        message: Message,
    ) -> Result<OutgoingMessage, TooMuchUnread> {
        let (bytes, limits) = (message_length(&message), self.shared.limits);
        let reservation = self.reserve(caller, Load { bytes, requests: 0 }, |load, all| {
            limits.can_send(bytes, load, all)
        });
        match reservation {
            Some(reservation) => Ok(OutgoingMessage {
                message,
                reservation: Some(reservation),
            }),
            None => Err(self.too_much_unread(caller, message)),
        }
    }

    /// Counts an answer once there is room for it within the limits. A client that reads soon makes
    /// room. For a client that does not read, the answers that wait have a limit as well, and wait
    /// only for a short time.
    pub(crate) async fn reserve_when_free(
        &self,
        caller: &Caller,
        message: Message,
    ) -> Result<OutgoingMessage, TooMuchUnread> {
        let message = match self.reserve_message(caller, message) {
            Ok(sent) => return Ok(sent),
            Err(unsent) => unsent.message,
        };
        let (bytes, limits) = (message_length(&message), self.shared.limits);
        let reservation = self.reserve(caller, Load { bytes, requests: 0 }, |load, all| {
            limits.can_wait(bytes, load, all)
        });
        let Some(reservation) = reservation else {
            return Err(self.too_much_unread(caller, message));
        };
        match tokio::time::timeout(limits.timeout, self.wait_for_room(caller)).await {
            Ok(()) => Ok(OutgoingMessage {
                message,
                reservation: Some(reservation),
            }),
            Err(_) => Err(self.too_much_unread(caller, message)),
        }
    }

    fn too_much_unread(&self, caller: &Caller, message: Message) -> TooMuchUnread {
        TooMuchUnread {
            bytes: self.caller_load(caller).bytes,
            message,
        }
    }

    /// Counts a short message to a client, regardless of the limits.
    pub(crate) fn reserve_unconditionally(
        &self,
        caller: &Caller,
        message: Message,
    ) -> OutgoingMessage {
        let bytes = message_length(&message);
        let reservation = self.reserve(caller, Load { bytes, requests: 0 }, |_, _| true);
        OutgoingMessage {
            message,
            reservation,
        }
    }

    /// Counts a client's upload, piece by piece.
    pub(crate) fn track_upload(&self, caller: &Caller) -> Option<Reservation> {
        self.reserve(caller, Load::default(), |_, _| true)
    }

    /// Waits until the caller's clients have read enough to receive more.
    pub(crate) async fn wait_for_room(&self, caller: &Caller) {
        loop {
            let mut freed = std::pin::pin!(self.shared.freed.notified());
            freed.as_mut().enable();
            if self.caller_load(caller).bytes <= self.shared.limits.each {
                return;
            }
            freed.await;
        }
    }

    fn reserve(
        &self,
        caller: &Caller,
        load: Load,
        fits: impl FnOnce(Load, usize) -> bool,
    ) -> Option<Reservation> {
        let mut totals = lock(&self.shared.totals);
        let now = totals.callers.get(caller).copied().unwrap_or_default();
        if !fits(now, totals.bytes) {
            return None;
        }
        let sum = Load {
            bytes: now.bytes + load.bytes,
            requests: now.requests + load.requests,
        };
        totals.callers.insert(caller.clone(), sum);
        totals.bytes += load.bytes;
        Some(Reservation {
            shared: self.shared.clone(),
            caller: caller.clone(),
            load,
        })
    }

    fn caller_load(&self, caller: &Caller) -> Load {
        lock(&self.shared.totals)
            .callers
            .get(caller)
            .copied()
            .unwrap_or_default()
    }
}

impl Reservation {
    /// Counts more bytes, if they fit the limits.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let limits = self.shared.limits;
        let mut totals = lock(&self.shared.totals);
        let all = totals.bytes;
        let load = totals.callers.entry(self.caller.clone()).or_default();
        let small = self.load.bytes + bytes <= limits.small;
        if !small && (load.bytes + bytes > limits.each || all + bytes > limits.all) {
            return false;
        }
        load.bytes += bytes;
        self.load.bytes += bytes;
        totals.bytes += bytes;
        true
    }
}

/// A caller's clients must read before they get more.
#[derive(Debug)]
pub(crate) struct TooMuchUnread {
    pub(crate) bytes: usize,
    message: Message,
}

/// Returns the length of the parts of a message that can be long.
fn message_length(message: &Message) -> usize {
    let raw = match message {
        Message::Request(request) => request.params.as_ref(),
        Message::Notification(notification) => notification.params.as_ref(),
        Message::Response(Response {
            outcome: Ok(result),
            ..
        }) => Some(result),
        Message::Response(Response {
            outcome: Err(error),
            ..
        }) => {
            return error.message.len() + error.data.as_ref().map_or(0, |data| data.get().len());
        }
    };
    raw.map_or(0, |raw| raw.get().len())
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut totals = lock(&self.shared.totals);
        totals.bytes -= self.load.bytes;
        if let Some(load) = totals.callers.get_mut(&self.caller) {
            load.bytes -= self.load.bytes;
            load.requests -= self.load.requests;
            if load.bytes == 0 && load.requests == 0 {
                totals.callers.remove(&self.caller);
            }
        }
        drop(totals);
        self.shared.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::{RequestId, raw};

    use super::*;

    /// The default limits, divided by a thousand.
    fn in_flight() -> InFlightLoad {
        let timeout = Duration::from_millis(300);
        let limits = LoadLimits {
            each: 64 << 10,
            all: 512 << 10,
            small: 64,
            timeout,
        };
        InFlightLoad {
            shared: Arc::new(Shared {
                limits,
                ..Shared::default()
            }),
        }
    }

    fn caller(tenant: &str) -> Caller {
        Caller {
            tenant: tenant.parse().unwrap(),
            ..Caller::local()
        }
    }

    fn answer(bytes: usize) -> Message {
        Response::from_result(RequestId::Number(1), raw(&"x".repeat(bytes))).into()
    }

    #[test]
    fn a_caller_who_does_not_read_gets_no_more_and_others_do() {
        let in_flight = in_flight();
        let send =
            |tenant: &str, bytes: usize| in_flight.reserve_message(&caller(tenant), answer(bytes));
        let unread: Vec<_> = (0..10).filter_map(|_| send("low", 13 << 10).ok()).collect();
        assert_eq!(unread.len(), 4);
        assert!(send("low", 50).is_ok(), "small messages always pass");
        assert!(send("high", 13 << 10).is_ok());
        drop(unread);
        assert!(send("low", 13 << 10).is_ok());
        assert!(lock(&in_flight.shared.totals).callers.is_empty());
    }

    #[test]
    fn the_total_limit_leaves_every_caller_one_answer() {
        let in_flight = in_flight();
        let send = |number: usize| {
            in_flight.reserve_message(&caller(&format!("t{number}")), answer(30 << 10))
        };
        let unread: Vec<_> = (0..40)
            .filter_map(|number| send(number % 20).ok())
            .collect();
        assert_eq!(unread.len(), 20);
    }

    #[test]
    fn concurrent_uploads_of_one_caller_have_a_limit() {
        let in_flight = in_flight();
        let (mut body, mut other) = (
            in_flight.track_upload(&caller("low")).unwrap(),
            in_flight.track_upload(&caller("high")).unwrap(),
        );
        let pieces = (0..100).take_while(|_| body.grow(1 << 10)).count();
        assert_eq!(pieces, 64);
        assert!(other.grow(1 << 10));
        drop((body, other));
        assert_eq!(lock(&in_flight.shared.totals).bytes, 0);
        assert!(lock(&in_flight.shared.totals).callers.is_empty());
    }

    #[test]
    fn open_requests_of_one_caller_have_a_limit() {
        let in_flight = in_flight();
        let open: Vec<_> = (0..MAX_REQUESTS_PER_CALLER + 5)
            .filter_map(|_| in_flight.reserve_request(&caller("low")))
            .collect();
        assert_eq!(open.len(), MAX_REQUESTS_PER_CALLER);
        assert!(in_flight.reserve_request(&caller("high")).is_some());
    }

    #[tokio::test]
    async fn an_answer_waits_for_reading_clients_up_to_a_timeout() {
        let in_flight = in_flight();
        let low = caller("low");
        let unread: Vec<_> = (0..4)
            .map(|_| in_flight.reserve_message(&low, answer(15 << 10)).unwrap())
            .collect();
        assert!(
            in_flight
                .reserve_when_free(&low, answer(15 << 10))
                .await
                .is_err(),
            "nobody reads"
        );
        let mut waiting = Box::pin(in_flight.reserve_when_free(&low, answer(15 << 10)));
        assert!(futures::poll!(&mut waiting).is_pending());
        assert!(
            in_flight
                .reserve_when_free(&low, answer(60 << 10))
                .await
                .is_err(),
            "too much would wait"
        );
        drop(unread);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn a_client_on_a_pipe_is_read_again_after_it_has_read() {
        let in_flight = in_flight();
        let low = caller("low");
        let unread: Vec<_> = (0..5)
            .map(|_| in_flight.reserve_unconditionally(&low, answer(20 << 10)))
            .collect();
        let mut room = Box::pin(in_flight.wait_for_room(&low));
        assert!(futures::poll!(&mut room).is_pending());
        drop(unread);
        room.await;
    }
}
