//! Identifies the caller of an HTTP request.
//!
//! Only the key counts: no header or argument can name a tenant. A local caller needs no key as
//! long as the gateway listens only on this machine.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use kitbag_config::Serve;
use kitbag_domain::{Caller, Role};
use kitbag_store::{Recognition, Store};

use super::{access_log, browser_guard};
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::telemetry::meter::KeyRejection;
use crate::telemetry::rejections::Rejection;

/// Admits a caller who may use the servers, or returns the reason for the rejection.
pub(super) async fn admit_user(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Rejection> {
    let caller = admit_reader(gateway, peer, headers).await?;
    match caller.role {
        Role::User => Ok(caller),
        Role::Operator | Role::Admin => Err(Rejection::OperatorKey),
    }
}

/// Admits a caller who may read figures and records, including operators. The calling function must
/// restrict the rows for a caller of one tenant, by [`Caller::sees_all_tenants`].
pub(super) async fn admit_reader(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Rejection> {
    let admitted = match browser_guard::rejection_reason(&gateway.serve, headers) {
        Some(reason) => Err(Rejection::Foreign { reason }),
        None => identify_caller(&gateway.serve, &gateway.services.store, peer, headers).await,
    };
    match admitted {
        Ok(caller) => {
            let open = gateway
                .services
                .in_flight
                .reserve_request(&caller)
                .ok_or(Rejection::TooManyRequests)?;
            access_log::set_caller(&caller, open);
            Ok(caller)
        }
        Err(rejection) => {
            record_rejection(gateway, &rejection, peer, headers);
            Err(rejection)
        }
    }
}

/// Counts a rejected key and writes it to the audit.
pub(super) fn record_rejection(
    gateway: &Gateway,
    rejection: &Rejection,
    peer: SocketAddr,
    headers: &HeaderMap,
) {
    if let Some(why) = rejection.key_rejection() {
        gateway.services.meter.record_key_rejection(why);
    }
    gateway.services.key_rejections.record_key_rejection(
        &gateway.services.audit,
        rejection,
        access_log::request_origin(peer, headers),
    );
}

async fn identify_caller(
    serve: &Serve,
    store: &Store,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Rejection> {
    let Some(authorization) = headers.get(AUTHORIZATION) else {
        return if serve.allows_keyless() && peer.ip().is_loopback() {
            Ok(Caller::local())
        } else {
            Err(Rejection::KeyMissing)
        };
    };
    let token = bearer_token(authorization).ok_or(Rejection::NotABearer)?;
    authenticate_token(store, peer, token).await
}

/// Returns the caller that a key belongs to, unless the key is unknown, revoked or expired.
pub(super) async fn authenticate_token(
    store: &Store,
    peer: SocketAddr,
    token: &str,
) -> Result<Caller, Rejection> {
    match store.authenticate(token, now()).await? {
        Recognition::Known(caller) => Ok(caller),
        Recognition::Unknown => Err(Rejection::KeyUnknown {
            why: KeyRejection::Unknown,
            key: None,
        }),
        Recognition::Revoked(key) => {
            tracing::warn!(%key, %peer, "rejected a revoked key");
            Err(Rejection::KeyUnknown {
                why: KeyRejection::Revoked,
                key: Some(key),
            })
        }
        Recognition::Expired(key) => {
            tracing::warn!(%key, %peer, "rejected an expired key; create a new one with `kitbag key create`");
            Err(Rejection::KeyUnknown {
                why: KeyRejection::Expired,
                key: Some(key),
            })
        }
    }
}

fn bearer_token(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}
