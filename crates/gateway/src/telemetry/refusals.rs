//! The reasons why a request is refused, and the record of refused keys: the rows are enough to see
//! an attack, and too few to fill the store.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::{Action, Event, KeyId, Origin, ShortText};
use kitbag_store::AuditSink;

use crate::state::clock::now;
use crate::telemetry::meter::KeyRefusal;
use crate::telemetry::row_budget::{RowBudget, RowLimits, more};
use kitbag_domain::sync::lock;

/// A client can be refused as often as it likes, so the rows must be limited. Together these are
/// about 30,000 rows a day.
const LIMITS: RowLimits = RowLimits {
    burst: 20,
    one_every: Duration::from_secs(3),
};

#[derive(Default)]
pub(crate) struct Refusals {
    budget: Mutex<RowBudget>,
}

impl Refusals {
    /// Records that a key was refused, where from and why; never the key.
    pub(crate) fn note(&self, audit: &AuditSink, refused: &Refused, origin: Origin) {
        let Some(fault) = refused.fault_of_key() else {
            return;
        };
        let Some(untold) = lock(&self.budget).spend(&LIMITS, Instant::now()) else {
            return;
        };
        audit.note(Event {
            origin,
            key: refused.key().cloned(),
            detail: more(untold).map(|text| ShortText::cut(&text)),
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
        "this is an operator's key: it reads /metrics, /v1/tokens, /v1/audit and /admin/feedback and calls nothing; for tools, make one with \
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
