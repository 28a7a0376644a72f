//! The reasons why a request is rejected before it is read, and audit rows for rejected keys:
//! enough rows to show an attack, too few to fill the store.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::{Action, Event, KeyId, Origin, ShortText};
use kitbag_store::AuditSink;

use crate::state::clock::now;
use crate::telemetry::meter::KeyRejection;
use crate::telemetry::row_budget::{RowBudget, RowLimits, describe_skipped};
use kitbag_domain::sync::lock;

/// A client can cause any number of rejections, so the rows are limited: to about 30,000 a day.
const LIMITS: RowLimits = RowLimits {
    burst: 20,
    one_every: Duration::from_secs(3),
};

#[derive(Default)]
pub(crate) struct KeyRejectionLog {
    budget: Mutex<RowBudget>,
}

impl KeyRejectionLog {
    /// Records the reason and origin of a rejected key, never the key itself.
    pub(crate) fn record_key_rejection(
        &self,
        audit: &AuditSink,
        rejection: &Rejection,
        origin: Origin,
    ) {
        let Some(fault) = rejection.describe_key_fault() else {
            return;
        };
        let Some(skipped) = lock(&self.budget).try_spend(&LIMITS, Instant::now()) else {
            return;
        };
        audit.record_event(Event {
            origin,
            key: rejection.rejected_key().cloned(),
            detail: describe_skipped(skipped).map(|text| ShortText::truncate(&text)),
            ..Event::new(now(), Action::KeyRefused, fault)
        });
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// A web page of another origin, or a `Host` that is not this gateway.
    #[error("{reason}")]
    Foreign { reason: String },
    #[error(
        "this gateway requires an API key: send `Authorization: Bearer kb_…` (create one with `kitbag key create`)"
    )]
    KeyMissing,
    #[error(
        "the API key is unknown, revoked or expired (list keys with `kitbag key list`, create one with \
         `kitbag key create`)"
    )]
    KeyUnknown {
        why: KeyRejection,
        /// The id of a key that was once valid, for the audit. The caller gets the same error as
        /// for an unknown key.
        key: Option<KeyId>,
    },
    #[error(
        "an operator's key can only read /metrics, /v1/tokens, /v1/audit and /admin/feedback; for tools, create a key \
         with `kitbag key create --tenant NAME`"
    )]
    OperatorKey,
    #[error("the Authorization header does not have the form `Bearer kb_…`")]
    NotABearer,
    #[error("this caller has too many open requests")]
    TooManyRequests,
    #[error("keys cannot be checked right now: {0}")]
    Store(#[from] kitbag_store::Error),
}

impl Rejection {
    /// Returns the rejected key if it was valid once.
    pub(crate) fn rejected_key(&self) -> Option<&KeyId> {
        match self {
            Self::KeyUnknown { key, .. } => key.as_ref(),
            _ => None,
        }
    }

    /// Returns the reason under which the rejection is counted.
    pub(crate) fn key_rejection(&self) -> Option<KeyRejection> {
        match self {
            Self::KeyMissing => Some(KeyRejection::Missing),
            Self::NotABearer => Some(KeyRejection::Unknown),
            Self::KeyUnknown { why, .. } => Some(*why),
            Self::Foreign { .. } | Self::OperatorKey | Self::TooManyRequests | Self::Store(_) => {
                None
            }
        }
    }

    /// Describes the fault of the key in a few words, if the key was the reason.
    pub(crate) fn describe_key_fault(&self) -> Option<&'static str> {
        match self {
            Self::KeyUnknown { key: None, .. } => Some("unknown"),
            Self::KeyUnknown { key: Some(_), .. } => Some("revoked or expired"),
            Self::NotABearer => Some("not in the format of a key"),
            Self::OperatorKey => Some("an operator's key, which cannot call tools"),
            Self::Foreign { .. } | Self::KeyMissing | Self::TooManyRequests | Self::Store(_) => {
                None
            }
        }
    }
}
