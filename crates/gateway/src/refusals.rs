//! The reasons why a request is refused, and the record of refused keys: the rows are enough to see
//! an attack, and too few to fill the store.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::{Action, Event, KeyId, Origin, ShortText};
use kitbag_store::AuditSink;

use crate::clock::now;
use crate::meter::KeyRefusal;
use kitbag_domain::sync::lock;

/// The number of rows that are written in a row. A client can be refused as often as it likes, so
/// the rows must be limited.
const BURST: u32 = 20;
/// After the burst, one row is written for each of these; together that is about 30,000 rows a day.
const ONE_EVERY: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(crate) struct Refusals {
    budget: Mutex<RefusalBudget>,
}

#[derive(Default)]
struct RefusalBudget {
    spent: u32,
    since: Option<Instant>,
    untold: u64,
}

impl Refusals {
    /// Records that a key was refused, where from and why; never the key.
    pub(crate) fn note(&self, audit: &AuditSink, refused: &Refused, origin: Origin) {
        let Some(fault) = refused.fault_of_key() else {
            return;
        };
        let Some(untold) = lock(&self.budget).spend(Instant::now()) else {
            return;
        };
        let more = (untold > 0).then(|| format!("{untold} more since the row before this one"));
        audit.note(Event {
            origin,
            key: refused.key().cloned(),
            detail: more.map(|text| ShortText::cut(&text)),
            ..Event::new(now(), Action::KeyRefused, fault)
        });
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// A web page from elsewhere, or a name that is not ours.
    #[error("{reason}")]
    Foreign { reason: String },
    #[error(
        "this gateway wants an API key: send `Authorization: Bearer kb_…` (make one with `kitbag key create`)"
    )]
    KeyWanted,
    #[error(
        "the API key is unknown, was revoked or has expired (see which there are with `kitbag key list`, make a \
         new one with `kitbag key create`)"
    )]
    KeyUnknown {
        why: KeyRefusal,
        /// The id of a key that was once valid, for the record. The caller is told the same as a
        /// caller with an unknown key.
        key: Option<KeyId>,
    },
    #[error(
        "this is an operator's key: it reads /metrics, /v1/tokens and /v1/audit and calls nothing; for tools, make one with \
         `kitbag key create --tenant NAME`"
    )]
    CallsNothing,
    #[error("the Authorization header is not of the form `Bearer kb_…`")]
    NotABearer,
    #[error("this caller has too many requests open")]
    TooManyRequests,
    #[error("keys cannot be checked right now: {0}")]
    Store(#[from] kitbag_store::Error),
}

impl Refused {
    /// The key that was refused, where it was once one of ours.
    pub(crate) fn key(&self) -> Option<&KeyId> {
        match self {
            Self::KeyUnknown { key, .. } => key.as_ref(),
            _ => None,
        }
    }

    /// Returns the kind under which the refusal is counted.
    pub(crate) fn of_key(&self) -> Option<KeyRefusal> {
        match self {
            Self::KeyWanted => Some(KeyRefusal::Missing),
            Self::NotABearer => Some(KeyRefusal::Unknown),
            Self::KeyUnknown { why, .. } => Some(*why),
            Self::Foreign { .. } | Self::CallsNothing | Self::TooManyRequests | Self::Store(_) => {
                None
            }
        }
    }

    /// Returns in few words what was wrong with the key that the caller sent, if the key was the
    /// reason.
    pub(crate) fn fault_of_key(&self) -> Option<&'static str> {
        match self {
            Self::KeyUnknown { key: None, .. } => Some("unknown"),
            Self::KeyUnknown { key: Some(_), .. } => Some("revoked or expired"),
            Self::NotABearer => Some("not of the form of a key"),
            Self::CallsNothing => Some("an operator's, which calls nothing"),
            Self::Foreign { .. } | Self::KeyWanted | Self::TooManyRequests | Self::Store(_) => None,
        }
    }
}

impl RefusalBudget {
    /// Returns the number of rows that were not written since the last one, if a row may be written
    /// now.
    fn spend(&mut self, at: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(at);
        let regained = u32::try_from(at.duration_since(since).as_secs() / ONE_EVERY.as_secs())
            .unwrap_or(u32::MAX);
        if regained > 0 {
            self.spent = self.spent.saturating_sub(regained);
            self.since = Some(since + ONE_EVERY * regained);
        }
        if self.spent >= BURST {
            self.untold += 1;
            return None;
        }
        self.spent += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refused_keys_leaves_few_rows_and_is_counted() {
        let (mut budget, start) = (RefusalBudget::default(), Instant::now());
        let told = (0..1000)
            .filter_map(|_| budget.spend(start))
            .collect::<Vec<_>>();
        assert_eq!(told, [0; BURST as usize]);
        assert_eq!(budget.spend(start + ONE_EVERY), Some(980));
        assert_eq!(budget.spend(start + ONE_EVERY), None);
        let later = start + ONE_EVERY * 100;
        assert_eq!(budget.spend(later), Some(1));
        let told = (0..1000).filter_map(|_| budget.spend(later)).count();
        assert_eq!(told, BURST as usize - 1);
    }
}
