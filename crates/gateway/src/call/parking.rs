//! Calls that wait for their client to come back with an answer.
//!
//! The client gets a ticket: a random name that no other client can guess, so there is nothing in
//! it to forge or to read. The ticket is valid only for the caller it was given to, only for the
//! same request, only once, and only for a while.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::{Caller, KeyId};
use kitbag_upstream::{ClientQuestion, InFlight};

use crate::call::failure::Failure;
use crate::front::session::holders::has_ended_key;
use crate::state::random_ids::random_token;
use crate::turn::run::SuspendedRun;
use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

const TICKET_LIFETIME: Duration = Duration::from_secs(600);
/// Beyond this many, the oldest call of the caller who has most is given up: a client that never
/// comes back must not be able to hold the servers.
const MAX_PARKED: usize = 1_000;
/// Beyond this many of one caller, that caller's oldest is given up.
const MAX_PARKED_EACH: usize = 100;

#[derive(Default, Clone)]
pub(crate) struct Parking {
    entries: Arc<Mutex<HashMap<Ticket, ParkingEntry>>>,
}

pub(crate) enum ParkedCall {
    /// A legacy server that waits for answers in the middle of a call.
    Waiting {
        in_flight: InFlight,
        asks: Vec<(String, ClientQuestion)>,
    },
    /// A program that waits for answers in the middle of its run.
    Run(SuspendedRun),
    /// A call that is simply made again once the person has done what was asked.
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
    pub(crate) fn park(&self, purpose: TicketUse, parked: ParkedCall) -> Ticket {
        let ticket = Ticket(random_token());
        let mut places = lock(&self.entries);
        make_room(&mut places, &purpose.caller);
        places.insert(
            ticket.clone(),
            ParkingEntry {
                ticket_use: purpose,
                parked,
                since: Instant::now(),
            },
        );
        drop(places);
        self.expire_later(ticket.clone());
        ticket
    }

    pub(crate) fn claim(
        &self,
        ticket: &Ticket,
        purpose: &TicketUse,
    ) -> Result<ParkedCall, Failure> {
        let mut places = lock(&self.entries);
        match places.get(ticket) {
            Some(place) if place.ticket_use == *purpose => {}
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
        let place = places.remove(ticket).expect("it was just looked at");
        Ok(place.parked)
    }

    /// The keys whose callers have a call parked.
    pub(crate) fn caller_keys(&self) -> HashSet<KeyId> {
        lock(&self.entries)
            .values()
            .filter_map(|place| place.ticket_use.caller.key.clone())
            .collect()
    }

    /// Gives up the calls of keys that open nothing any more.
    pub(crate) fn drop_calls_of_keys(&self, ended: &[KeyId]) {
        let given_up: Vec<_> = lock(&self.entries)
            .extract_if(|_, place| has_ended_key(&place.ticket_use.caller, ended))
            .collect();
        // Dropping one cancels it at its server, which is nothing to do while others wait.
        drop(given_up);
    }

    fn expire_later(&self, ticket: Ticket) {
        let places = Arc::downgrade(&self.entries);
        tokio::spawn(async move {
            tokio::time::sleep(TICKET_LIFETIME).await;
            if let Some(places) = places.upgrade() {
                lock(&places).remove(&ticket);
            }
        });
    }
}

fn make_room(places: &mut HashMap<Ticket, ParkingEntry>, parking: &Caller) {
    let own = places
        .values()
        .filter(|it| it.ticket_use.caller == *parking)
        .count();
    let payer = if own >= MAX_PARKED_EACH {
        Some(parking)
    } else if places.len() >= MAX_PARKED {
        largest_holder(places.values().map(|it| (&it.ticket_use.caller, 1)))
    } else {
        None
    };
    let theirs = places
        .iter()
        .filter(|(_, place)| Some(&place.ticket_use.caller) == payer);
    let oldest = theirs
        .min_by_key(|(_, place)| place.since)
        .map(|(ticket, _)| ticket.clone());
    if let Some(oldest) = oldest {
        places.remove(&oldest);
    }
}

impl Ticket {
    const PREFIX: &str = "kitbag-call-";

    pub(crate) fn parse(state: &str) -> Option<Self> {
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
    async fn calls_parked_with_a_key_that_has_ended_are_given_up() {
        let parking = Parking::default();
        let key = |id: &str| KeyId(id.to_owned());
        let purpose = |id: &str| TicketUse {
            caller: Caller::user("acme".parse().unwrap(), key(id)),
            digest: [0; 32],
        };
        let ended = parking.park(purpose("ended"), ParkedCall::CallAgain);
        let living = parking.park(purpose("living"), ParkedCall::CallAgain);
        assert_eq!(parking.caller_keys().len(), 2);
        parking.drop_calls_of_keys(&[key("ended")]);
        assert!(parking.claim(&ended, &purpose("ended")).is_err());
        assert!(parking.claim(&living, &purpose("living")).is_ok());
    }

    fn purpose(tenant: &str) -> TicketUse {
        TicketUse {
            caller: Caller {
                tenant: tenant.parse().unwrap(),
                ..Caller::local()
            },
            digest: [0; 32],
        }
    }

    #[tokio::test]
    async fn who_parks_without_end_gives_up_their_own_calls() {
        let parking = Parking::default();
        let high = parking.park(purpose("high"), ParkedCall::CallAgain);
        let low: Vec<_> = (0..MAX_PARKED + 100)
            .map(|_| parking.park(purpose("low"), ParkedCall::CallAgain))
            .collect();
        assert!(parking.claim(&low[0], &purpose("low")).is_err());
        assert!(parking.claim(low.last().unwrap(), &purpose("low")).is_ok());
        assert!(parking.claim(&high, &purpose("high")).is_ok());
    }

    #[tokio::test]
    async fn many_callers_together_do_not_make_another_give_up() {
        let parking = Parking::default();
        let high = parking.park(purpose("high"), ParkedCall::CallAgain);
        for number in 0..2 * MAX_PARKED {
            parking.park(
                purpose(&format!("low{}", number % 20)),
                ParkedCall::CallAgain,
            );
        }
        assert_eq!(lock(&parking.entries).len(), MAX_PARKED);
        assert!(parking.claim(&high, &purpose("high")).is_ok());
    }
}
