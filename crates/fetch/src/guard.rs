//! Keeps requests from private addresses (SSRF), by a rule that the caller passes in.
//!
//! A name is resolved and its addresses are checked in one step, and the client connects to exactly those
//! addresses, so a name cannot resolve elsewhere in between.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Allows requests to an address, or returns the reason why not.
pub type AddressGuard = Arc<dyn Fn(IpAddr) -> Result<(), String> + Send + Sync>;

/// A DNS resolver that drops the addresses which the guard rejects.
pub struct GuardedResolver(pub AddressGuard);

/// The guard's reason. The HTTP client wraps it in its own error, and [`find_refusal`] unwraps it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{host}` may not be called: {reason}")]
pub struct AddressRefusal {
    pub host: String,
    pub reason: String,
}

/// Why a name could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("no address found: {0}")]
    Unknown(io::Error),
    #[error("{}", .0.reason)]
    Refused(AddressRefusal),
}

/// Resolves a host name or address to the addresses that the guard allows.
pub async fn resolve(
    host: &str,
    port: u16,
    guard: &AddressGuard,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let addresses = tokio::net::lookup_host((host, port)).await;
    let addresses = addresses.map_err(ResolveError::Unknown)?;
    filter_allowed(host, addresses, guard).map_err(ResolveError::Refused)
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            match resolve(name.as_str(), 0, &guard).await {
                Ok(allowed) => Ok(Box::new(allowed.into_iter()) as Addrs),
                Err(ResolveError::Unknown(error)) => Err(error.into()),
                Err(ResolveError::Refused(refused)) => Err(refused.into()),
            }
        })
    }
}

/// Drops rejected addresses; fails if none is left.
fn filter_allowed(
    host: &str,
    addresses: impl Iterator<Item = SocketAddr>,
    guard: &AddressGuard,
) -> Result<Vec<SocketAddr>, AddressRefusal> {
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in addresses {
        match guard(address.ip()) {
            Ok(()) => allowed.push(address),
            Err(reason) => refused = Some(reason),
        }
    }
    match refused {
        Some(reason) if allowed.is_empty() => Err(AddressRefusal {
            host: host.to_owned(),
            reason,
        }),
        _ => Ok(allowed),
    }
}

/// Checks an IP address in the URL itself, which is never resolved.
pub fn check_literal(url: &Url, guard: &AddressGuard) -> Result<(), AddressRefusal> {
    let Some(address) = literal_address(url) else {
        return Ok(());
    };
    guard(address).map_err(|reason| AddressRefusal {
        host: address.to_string(),
        reason,
    })
}

/// Returns the guard's reason, if that is why a request failed.
pub fn find_refusal(error: &reqwest::Error) -> Option<&AddressRefusal> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref() {
            return Some(refused);
        }
        cause = inner.source();
    }
    None
}

/// Returns the host of a URL if it is an IP address.
pub fn literal_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

impl std::fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GuardedResolver")
    }
}
