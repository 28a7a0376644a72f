//! Why a request is not let in, and the record of refused keys: enough rows to see an attack, too few
//! to be one.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::{Action, Event, KeyId, Origin, ShortText};
use kitbag_store::AuditSink;

use crate::clock::now;
use crate::meter::KeyRefusal;
use kitbag_domain::sync::lock;

/// Anybody can be refused as often as they like; so many rows in a row are written all the same.
const BURST: u32 = 20;
/// After that, one for each of these; together with the burst about 30,000 a day.
const ONE_EVERY: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(crate) struct Refusals {
    budget: Mutex<Budget>,
}

#[derive(Default)]
struct Budget {
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
        /// Whoever shows a key that was one of ours is told what a stranger is told; the record
        /// has its id.
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

    /// How it is counted.
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

    /// What was wrong with the key that somebody showed, in few words, if that is what it was.
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

impl Budget {
    /// Whether a row may be written, and how many were not since the last.
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
        let (mut budget, start) = (Budget::default(), Instant::now());
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
