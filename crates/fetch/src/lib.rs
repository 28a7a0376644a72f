//! Asks a service over HTTP: the client, the addresses it may reach, how much of an answer is held,
//! and the secrets an answer must not show.
//!
//! # Layout
//! - this file: the HTTP client under our name
//! - [`guard`]: the addresses that a request may go to
//! - [`redirect`]: the address that an answer redirects to
//! - `headers`: the headers that are sent, and the wait that a service asks for
//! - `body`: reading an answer up to a limit
//! - `cause`: the reason why a request failed
//! - [`relay`]: passing a request on and its answer back
//! - [`secrets`]: finding secrets in an answer, in every form

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

pub use body::{BodyError, body};
pub use cause::{cause, innermost};
pub use guard::AddressGuard;
use guard::GuardedResolver;
pub use headers::{header_map, retry_after};
pub use secrets::{MASK, Secrets};

/// A service that takes longer to accept a connection is as good as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns a client under our name that does not wait for ever for a connection.
pub fn client() -> ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("kitbag/", env!("CARGO_PKG_VERSION")))
}

/// Returns a [`client()`] that follows no redirect, because a redirected request would carry our
/// headers to an address that the operator did not configure.
pub fn client_without_redirects() -> ClientBuilder {
    client().redirect(Policy::none())
}

/// Returns a client for addresses that others choose: it connects only where the guard allows. It
/// uses no proxy, because a proxy would resolve names where the guard does not see it. It follows no
/// redirects, because each must be judged.
pub fn guarded_client(guard: AddressGuard) -> ClientBuilder {
    client_without_redirects()
        .no_proxy()
        .dns_resolver(GuardedResolver(guard))
        .referer(false)
}
