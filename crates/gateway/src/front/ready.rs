//! `GET /ready` and `/readyz`: readiness probes for load balancers.
//!
//! The request needs no key, so the answer states briefly what is missing, without names. Any
//! answer means that the listener is open.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;

use crate::learning::priors::overdue::{overdue_age, stale_message};
use crate::state::clock::now;
use crate::state::gateway::Gateway;

pub(super) async fn get_ready(State(gateway): State<Arc<Gateway>>) -> HttpResponse {
    let store = gateway
        .services
        .readiness
        .can_write(&gateway.services.store)
        .await;
    let missing = describe_missing([
        (store, "the store cannot be written to"),
        (
            gateway.services.index.has_begun(),
            "the index is not loaded yet",
        ),
    ]);
    match missing {
        None => format!("ready\n{}", degraded_line(&gateway)).into_response(),
        Some(text) => (StatusCode::SERVICE_UNAVAILABLE, text).into_response(),
    }
}

/// Returns a line about a problem that the operator should check, although clients can work.
fn degraded_line(gateway: &Gateway) -> String {
    let (last, created) = gateway.services.index.priors_age();
    let overdue = overdue_age(gateway.priors.schedule.as_ref(), last, created, now());
    overdue
        .map(|age| format!("degraded: {}\n", stale_message(age)))
        .unwrap_or_default()
}

fn describe_missing(checks: [(bool, &str); 2]) -> Option<String> {
    let reasons: Vec<_> = checks
        .into_iter()
        .filter(|(is_ok, _)| !is_ok)
        .map(|(_, why)| why)
        .collect();
    (!reasons.is_empty()).then(|| format!("not ready: {}\n", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_listed() {
        assert_eq!(describe_missing([(true, "a"), (true, "b")]), None);
        assert_eq!(
            describe_missing([(true, "a"), (false, "b")]).as_deref(),
            Some("not ready: b\n")
        );
        assert_eq!(
            describe_missing([(false, "a"), (false, "b")]).as_deref(),
            Some("not ready: a; b\n")
        );
    }
}
