//! Who stands at the HTTP door.
//!
//! A key decides, and it alone: no header or argument can name a tenant. Somebody on this
//! machine needs no key as long as the gateway is open to this machine only.

use std::net::SocketAddr;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use kitbag_domain::{Caller, Role};
use kitbag_store::{Recognition, Store};

use super::guard;
use crate::config::Serve;
use crate::meter::KeyRefusal;
use crate::rooms::{Rooms, now};

#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
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
    KeyUnknown(KeyRefusal),
    #[error(
        "this is an operator's key: it reads /metrics and /v1/tokens and calls nothing; for tools, make one with \
         `kitbag key create --tenant NAME`"
    )]
    CallsNothing,
    #[error("the Authorization header is not of the form `Bearer kb_…`")]
    NotABearer,
    #[error("keys cannot be checked right now: {0}")]
    Store(#[from] kitbag_store::Error),
}

/// Lets in who may use the servers, or says why not.
pub(super) async fn admit(rooms: &Rooms, peer: SocketAddr, headers: &HeaderMap) -> Result<Caller, Refused> {
    let caller = admit_reader(rooms, peer, headers).await?;
    match caller.role {
        Role::User => Ok(caller),
        Role::Operator => Err(Refused::CallsNothing),
    }
}

/// Lets in who may read figures and records: an operator, too. What is shown to a caller of one
/// tenant is for the reader of this to narrow, by [`Caller::sees_all_tenants`].
pub(super) async fn admit_reader(
    rooms: &Rooms,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, Refused> {
    match guard::refusal(&rooms.serve, headers) {
        Some(reason) => Err(Refused::Foreign { reason }),
        None => {
            let found = caller(&rooms.serve, &rooms.store, peer, headers).await;
            if let Some(why) = found.as_ref().err().and_then(Refused::of_key) {
                rooms.meter.key_refused(why);
            }
            found
        }
    }
}

impl Refused {
    fn of_key(&self) -> Option<KeyRefusal> {
        match self {
            Self::KeyWanted => Some(KeyRefusal::Missing),
            Self::NotABearer => Some(KeyRefusal::Unknown),
            Self::KeyUnknown(why) => Some(*why),
            Self::Foreign { .. } | Self::CallsNothing | Self::Store(_) => None,
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
        return if serve.keyless() && peer.ip().is_loopback() {
            Ok(Caller::local())
        } else {
            Err(Refused::KeyWanted)
        };
    };
    let token = authorization
        .to_str()
        .ok()
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or(Refused::NotABearer)?;
    match store.authenticate(token, now()).await? {
        Recognition::Known(caller) => Ok(caller),
        Recognition::Unknown => Err(Refused::KeyUnknown(KeyRefusal::Unknown)),
        Recognition::Revoked(key) => {
            tracing::warn!(%key, %peer, "a revoked key was refused");
            Err(Refused::KeyUnknown(KeyRefusal::Revoked))
        }
        Recognition::Expired(key) => {
            tracing::warn!(%key, %peer, "an expired key was refused; `kitbag key create` makes a new one");
            Err(Refused::KeyUnknown(KeyRefusal::Expired))
        }
    }
}
