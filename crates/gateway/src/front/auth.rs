//! Finds out which caller sends an HTTP request.
//!
//! The key alone decides: no header or argument can name a tenant. A caller on this machine needs
//! no key as long as the gateway is open to this machine only.

use std::net::SocketAddr;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use kitbag_config::Serve;
use kitbag_domain::{Caller, Role};
use kitbag_store::{Recognition, Store};

use super::{access, guard};
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::telemetry::meter::KeyRefusal;
use crate::telemetry::refusals::Refused;

/// Admits a caller who may use the servers, or says why the caller may not.
pub(super) async fn admit(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Refused> {
    let caller = admit_reader(gateway, peer, headers).await?;
    match caller.role {
        Role::User => Ok(caller),
        Role::Operator => Err(Refused::CallsNothing),
    }
}

/// Admits a caller who may read figures and records; an operator may, too. The calling function
/// must narrow what a caller of one tenant is shown, by [`Caller::sees_all_tenants`].
pub(super) async fn admit_reader(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Refused> {
    let admitted = match guard::refusal(&gateway.serve, headers) {
        Some(reason) => Err(Refused::Foreign { reason }),
        None => caller(&gateway.serve, &gateway.services.store, peer, headers).await,
    };
    match admitted {
        Ok(caller) => {
            let open = gateway
                .services
                .flights
                .open_request(&caller)
                .ok_or(Refused::TooManyRequests)?;
            access::admitted(&caller, open);
            Ok(caller)
        }
        Err(refused) => {
            refused
                .of_key()
                .into_iter()
                .for_each(|why| gateway.services.meter.key_refused(why));
            gateway.services.refusals.note(
                &gateway.services.audit,
                &refused,
                access::origin(peer, headers),
            );
            Err(refused)
        }
    }
}

async fn caller(
    serve: &Serve,
    store: &Store,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Refused> {
    let Some(authorization) = headers.get(AUTHORIZATION) else {
        return if serve.allows_keyless() && peer.ip().is_loopback() {
            Ok(Caller::local())
        } else {
            Err(Refused::KeyWanted)
        };
    };
    let token = bearer(authorization).ok_or(Refused::NotABearer)?;
    match store.authenticate(token, now()).await? {
        Recognition::Known(caller) => Ok(caller),
        Recognition::Unknown => Err(Refused::KeyUnknown {
            why: KeyRefusal::Unknown,
            key: None,
        }),
        Recognition::Revoked(key) => {
            tracing::warn!(%key, %peer, "a revoked key was refused");
            Err(Refused::KeyUnknown {
                why: KeyRefusal::Revoked,
                key: Some(key),
            })
        }
        Recognition::Expired(key) => {
            tracing::warn!(%key, %peer, "an expired key was refused; `kitbag key create` makes a new one");
            Err(Refused::KeyUnknown {
                why: KeyRefusal::Expired,
                key: Some(key),
            })
        }
    }
}

fn bearer(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}
