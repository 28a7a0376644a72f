//! The addresses that a request may go to.
//!
//! A name is resolved and its addresses are judged in one step: the client connects to the
//! addresses that were judged, so a name cannot lead elsewhere in between.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// Allows a request to go to an address, or says why not.
pub type AddressGuard = Arc<dyn Fn(IpAddr) -> Result<(), String> + Send + Sync>;

/// Resolves a name to those of its addresses that the guard allows.
pub struct GuardedResolver(pub AddressGuard);

/// The guard's reason, which travels inside the HTTP client's error until
/// [`refusal`] takes it out again.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{host}` may not be called: {reason}")]
pub struct AddressRefused {
    pub host: String,
    pub reason: String,
}

/// The reason why a name leads to no address.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("there is no address for it: {0}")]
    Unknown(io::Error),
    #[error("{}", .0.reason)]
    Refused(AddressRefused),
}

/// Returns those addresses of a name, or of an address as text, that the guard allows.
pub async fn resolve(
    host: &str,
    port: u16,
    guard: &AddressGuard,
) -> Result<Vec<SocketAddr>, ResolveError> {
    let addresses = tokio::net::lookup_host((host, port)).await;
    let addresses = addresses.map_err(ResolveError::Unknown)?;
    allowed(host, addresses, guard).map_err(ResolveError::Refused)
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

/// Leaves out the addresses that are refused; it is an error if none is left.
fn allowed(
    host: &str,
    addresses: impl Iterator<Item = SocketAddr>,
    guard: &AddressGuard,
) -> Result<Vec<SocketAddr>, AddressRefused> {
    let mut allowed = Vec::new();
    let mut refused = None;
    for address in addresses {
        match guard(address.ip()) {
            Ok(()) => allowed.push(address),
            Err(reason) => refused = Some(reason),
        }
    }
    match refused {
        Some(reason) if allowed.is_empty() => Err(AddressRefused {
            host: host.to_owned(),
            reason,
        }),
        _ => Ok(allowed),
    }
}

/// Judges an address that is written into the URL, which is never resolved.
pub fn check_literal(url: &Url, guard: &AddressGuard) -> Result<(), AddressRefused> {
    let Some(address) = literal_address(url) else {
        return Ok(());
    };
    guard(address).map_err(|reason| AddressRefused {
        host: address.to_string(),
        reason,
    })
}

/// Returns the guard's reason, if that is why a request failed.
pub fn refusal(error: &reqwest::Error) -> Option<&AddressRefused> {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref() {
            return Some(refused);
        }
        cause = inner.source();
    }
    None
}

/// Returns the address in a URL that has an address where a name could stand.
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
