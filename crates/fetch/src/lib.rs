//! HTTP to services: the client, the addresses it may reach, the limit on a response, and the secrets to mask
//! in it.
//!
//! # Layout
//! - this file: the HTTP client with Kitbag's user agent
//! - [`guard`]: the addresses that a request may go to
//! - [`redirect`]: the target of a redirect
//! - `headers`: configured headers, and `Retry-After`
//! - `body`: reading a response body up to a limit
//! - `cause`: why a request failed
//! - [`relay`]: forwarding requests unchanged
//! - [`secrets`]: masking secrets, in every encoding

mod body;
mod cause;
pub mod guard;
mod headers;
pub mod redirect;
pub mod relay;
pub mod secrets;

use std::time::Duration;

use reqwest::ClientBuilder;
use reqwest::redirect::Policy;

pub use body::{BodyError, read_body};
pub use cause::{describe_error, root_cause};
pub use guard::AddressGuard;
use guard::GuardedResolver;
pub use headers::{header_map, retry_after};
pub use secrets::{MASK, Secrets};

/// A service that takes longer to accept a connection counts as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns a client with Kitbag's user agent and a connect timeout.
pub fn client() -> ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("kitbag/", env!("CARGO_PKG_VERSION")))
}

/// Returns a [`client()`] that follows no redirect, because a redirected request would carry
/// configured headers to an address that the operator did not configure.
pub fn client_without_redirects() -> ClientBuilder {
    client().redirect(Policy::none())
}

/// Returns a client for addresses that others choose: it only connects where the guard allows. It
/// uses no proxy, because a proxy would resolve names without the guard, and follows no redirects,
/// because each must be checked.
pub fn guarded_client(guard: AddressGuard) -> ClientBuilder {
    client_without_redirects()
        .no_proxy()
        .dns_resolver(GuardedResolver(guard))
        .referer(false)
}
