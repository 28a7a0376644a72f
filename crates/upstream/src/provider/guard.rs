//! Names are resolved and their addresses judged in one step: what was judged is what is
//! connected to, so a name cannot change its mind in between.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::error::Fault;

/// Says whether a request may go to an address, or why not.
pub type AddressGuard = Arc<dyn Fn(IpAddr) -> Result<(), String> + Send + Sync>;

pub(crate) struct GuardedResolver(pub(crate) AddressGuard);

/// Travels inside the HTTP client's error, from which [`refusal`] takes it out again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{host}` may not be called: {reason}")]
struct Refused {
    host: String,
    reason: String,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let host = name.as_str();
            let mut permitted: Vec<SocketAddr> = Vec::new();
            let mut refused = None;
            for address in tokio::net::lookup_host((host, 0)).await? {
                match guard(address.ip()) {
                    Ok(()) => permitted.push(address),
                    Err(reason) => {
                        refused = Some(Refused {
                            host: host.to_owned(),
                            reason,
                        })
                    }
                }
            }
            match refused {
                Some(refused) if permitted.is_empty() => Err(refused.into()),
                _ => Ok(Box::new(permitted.into_iter()) as Addrs),
            }
        })
    }
}

/// An address written into the URL is never resolved, so it is judged here.
pub(super) fn check_literal(url: &Url, guard: &AddressGuard) -> Result<(), Fault> {
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(_)) | None => return Ok(()),
    };
    guard(address).map_err(|reason| Fault::Address {
        host: address.to_string(),
        reason,
    })
}

/// What the guard said, if that is why a request failed.
pub(super) fn refusal(error: &reqwest::Error) -> Option<Fault> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(Refused { host, reason }) = inner.downcast_ref() {
            return Some(Fault::Address {
                host: host.clone(),
                reason: reason.clone(),
            });
        }
        cause = inner.source();
    }
    None
}
