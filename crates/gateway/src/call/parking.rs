//! Calls that are parked until their client answers a question.
//!
//! The client gets a ticket: a random token without any content, which no other client can guess.
//! The ticket is valid only for the caller who got it, for the same request, once, and for ten
//! minutes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::{Caller, KeyId};
use kitbag_upstream::{ClientQuestion, InFlightCall};
use kitbag_wire::RawObject;

use crate::call::conversation::KeyedQuestions;
use crate::call::failure::Failure;
use crate::front::session::key_requests::has_ended_key;
use crate::state::random_ids::random_token;
use crate::turn::run::SuspendedRun;
use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

const TICKET_LIFETIME: Duration = Duration::from_secs(600);
/// Above this number, the oldest call of the caller with the most calls is dropped, so that a
/// client that never returns cannot block the servers.
const MAX_PARKED: usize = 1_000;
/// Above this number of calls per caller, the caller's oldest call is dropped.
const MAX_PARKED_EACH: usize = 100;

#[derive(Default, Clone)]
pub(crate) struct Parking {
    entries: Arc<Mutex<HashMap<Ticket, ParkingEntry>>>,
}

pub(crate) enum ParkedCall {
    /// A legacy server waits for answers in mid-call.
    Waiting {
        in_flight: InFlightCall,
        questions: KeyedQuestions<ClientQuestion>,
    },
    /// A program waits for answers in mid-run.
    Run(SuspendedRun),
    /// The call is repeated once the user has completed the requested action.
    CallAgain,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Ticket(String);

/// The caller and the request for which a ticket is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TicketUse {
    pub(crate) caller: Caller,
    pub(crate) digest: [u8; 32],
}

struct ParkingEntry {
    ticket_use: TicketUse,
    parked: ParkedCall,
    since: Instant,
}

impl Parking {
    pub(crate) fn park(&self, ticket_use: TicketUse, parked: ParkedCall) -> Ticket {
        let ticket = Ticket(random_token());
        let mut entries = lock(&self.entries);
        make_room(&mut entries, &ticket_use.caller);
        entries.insert(
            ticket.clone(),
            ParkingEntry {
                ticket_use,
                parked,
                since: Instant::now(),
            },
        );
        drop(entries);
        self.expire_later(ticket.clone());
        ticket
    }

    pub(crate) fn claim(
        &self,
        ticket: &Ticket,
        ticket_use: &TicketUse,
    ) -> Result<ParkedCall, Failure> {
        let mut entries = lock(&self.entries);
        match entries.get(ticket) {
            Some(entry) if entry.ticket_use == *ticket_use => {}
            Some(_) => {
                return Err(Failure::bad_params(
                    "this `requestState` belongs to another request",
                ));
            }
            None => {
                return Err(Failure::bad_params(
                    "this `requestState` is unknown or has expired; call again without it",
                ));
            }
        }
        let entry = entries.remove(ticket).expect("the entry was found above");
        Ok(entry.parked)
    }

    /// Returns the keys whose callers have parked calls.
    pub(crate) fn caller_keys(&self) -> HashSet<KeyId> {
        lock(&self.entries)
            .values()
            .filter_map(|entry| entry.ticket_use.caller.key.clone())
            .collect()
    }

    /// Drops the calls of keys that were revoked or have expired.
    pub(crate) fn drop_calls_of_keys(&self, ended: &[KeyId]) {
        let dropped: Vec<_> = lock(&self.entries)
            .extract_if(|_, entry| has_ended_key(&entry.ticket_use.caller, ended))
            .collect();
        // Dropping a call cancels it at its server, so the lock is released first.
        drop(dropped);
    }

    fn expire_later(&self, ticket: Ticket) {
        let entries = Arc::downgrade(&self.entries);
        tokio::spawn(async move {
            tokio::time::sleep(TICKET_LIFETIME).await;
            if let Some(entries) = entries.upgrade() {
                lock(&entries).remove(&ticket);
            }
        });
    }
}

/// Drops the oldest call of the caller if the caller has too many, or of the caller with the most
/// calls if there are too many in total.
fn make_room(entries: &mut HashMap<Ticket, ParkingEntry>, parking: &Caller) {
    let own = entries
        .values()
        .filter(|it| it.ticket_use.caller == *parking)
        .count();
    let holder = if own >= MAX_PARKED_EACH {
        Some(parking)
    } else if entries.len() >= MAX_PARKED {
        largest_holder(entries.values().map(|it| (&it.ticket_use.caller, 1)))
    } else {
        None
    };
    let own_calls = entries
        .iter()
        .filter(|(_, entry)| Some(&entry.ticket_use.caller) == holder);
    let oldest = own_calls
        .min_by_key(|(_, entry)| entry.since)
        .map(|(ticket, _)| ticket.clone());
    if let Some(oldest) = oldest {
        entries.remove(&oldest);
    }
}

impl Ticket {
    const PREFIX: &str = "kitbag-call-";

    /// Returns the ticket in a request's parameters. A modern server's own state is not a ticket.
    pub(crate) fn in_params(params: &RawObject) -> Option<Self> {
        let state: String = params.read("requestState")?;
        Self::parse(&state)
    }

    fn parse(state: &str) -> Option<Self> {
        state
            .strip_prefix(Self::PREFIX)
            .map(|token| Self(token.to_owned()))
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_parked_with_an_ended_key_are_dropped() {
        let parking = Parking::default();
        let key = |id: &str| KeyId(id.to_owned());
        let ticket_use = |id: &str| TicketUse {
            caller: Caller::user("acme".parse().unwrap(), key(id)),
            digest: [0; 32],
        };
        let ended = parking.park(ticket_use("ended"), ParkedCall::CallAgain);
        let living = parking.park(ticket_use("living"), ParkedCall::CallAgain);
        assert_eq!(parking.caller_keys().len(), 2);
        parking.drop_calls_of_keys(&[key("ended")]);
        assert!(parking.claim(&ended, &ticket_use("ended")).is_err());
        assert!(parking.claim(&living, &ticket_use("living")).is_ok());
    }

    fn ticket_use(tenant: &str) -> TicketUse {
        TicketUse {
            caller: Caller {
                tenant: tenant.parse().unwrap(),
                ..Caller::local()
            },
            digest: [0; 32],
        }
    }

    #[tokio::test]
    async fn a_caller_who_parks_too_many_calls_loses_its_own() {
        let parking = Parking::default();
        let high = parking.park(ticket_use("high"), ParkedCall::CallAgain);
        let low: Vec<_> = (0..MAX_PARKED + 100)
            .map(|_| parking.park(ticket_use("low"), ParkedCall::CallAgain))
            .collect();
        assert!(parking.claim(&low[0], &ticket_use("low")).is_err());
        assert!(
            parking
                .claim(low.last().unwrap(), &ticket_use("low"))
                .is_ok()
        );
        assert!(parking.claim(&high, &ticket_use("high")).is_ok());
    }

    #[tokio::test]
    async fn many_callers_together_do_not_evict_another() {
        let parking = Parking::default();
        let high = parking.park(ticket_use("high"), ParkedCall::CallAgain);
        for number in 0..2 * MAX_PARKED {
            parking.park(
                ticket_use(&format!("low{}", number % 20)),
                ParkedCall::CallAgain,
            );
        }
        assert_eq!(lock(&parking.entries).len(), MAX_PARKED);
        assert!(parking.claim(&high, &ticket_use("high")).is_ok());
    }
}
