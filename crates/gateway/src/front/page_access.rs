//! Checks of requests for web pages: the host, the origin, and the key of a signed-in person.

use std::net::SocketAddr;

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method};
use kitbag_domain::Caller;
use url::Url;

use super::{access_log, auth, browser_guard};
use crate::state::gateway::Gateway;
use crate::telemetry::rejections::Rejection;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Returns the reason to reject a request for a page, if any. Other sites may link to a page, but
/// not read, frame or submit one.
pub fn rejection_reason(gateway: &Gateway, method: &Method, headers: &HeaderMap) -> Option<String> {
    let is_link = method == Method::GET
        && header_is(headers, &SEC_FETCH_MODE, "navigate")
        && header_is(headers, &SEC_FETCH_DEST, "document");
    if is_link {
        let mut without_site = headers.clone();
        without_site.remove(SEC_FETCH_SITE);
        return browser_guard::rejection_reason(&gateway.serve, &without_site);
    }
    browser_guard::rejection_reason(&gateway.serve, headers).or_else(|| {
        (method != Method::GET && !is_same_origin(headers))
            .then(|| "only Kitbag's own pages may send forms to it".to_owned())
    })
}

/// True if the request comes from a page of this gateway. Browsers state the origin of every form.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let origin = text(ORIGIN).and_then(|origin| Url::parse(origin).ok());
    let (Some(origin), Some(host)) = (origin, text(HOST)) else {
        return false;
    };
    let site = text(SEC_FETCH_SITE);
    origin[url::Position::BeforeHost..url::Position::AfterPort].eq_ignore_ascii_case(host)
        && site.is_none_or(|site| site == "same-origin")
}

/// True if this person needs no key, because they are at this machine and nobody else can connect.
pub fn is_keyless(gateway: &Gateway, peer: SocketAddr) -> bool {
    gateway.serve.allows_keyless() && peer.ip().is_loopback()
}

/// Returns the caller that a signed-in person's key belongs to. Rejected keys are counted and
/// audited like those of clients.
pub async fn authenticate_key(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
    key: &str,
) -> Result<Caller, Rejection> {
    let authenticated = auth::authenticate_token(&gateway.services.store, peer, key).await;
    if let Err(rejection) = &authenticated {
        auth::record_rejection(gateway, rejection, peer, headers);
    }
    authenticated
}

/// Counts the request among the open requests of its caller.
pub fn reserve_request(gateway: &Gateway, caller: &Caller) -> Result<(), Rejection> {
    let open = gateway.services.in_flight.reserve_request(caller);
    let open = open.ok_or(Rejection::TooManyRequests)?;
    access_log::set_caller(caller, open);
    Ok(())
}

fn header_is(headers: &HeaderMap, name: &HeaderName, expected: &str) -> bool {
    headers.get(name).is_some_and(|value| value == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_gateway_are_of_the_same_origin() {
        let check = |origin: Option<&str>, site: Option<&str>, expected: bool| {
            let mut headers = HeaderMap::from_iter([(HOST, "localhost:7420".parse().unwrap())]);
            for (name, value) in [(ORIGIN, origin), (SEC_FETCH_SITE, site)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            assert_eq!(is_same_origin(&headers), expected, "{origin:?} {site:?}");
        };
        check(Some("http://localhost:7420"), Some("same-origin"), true);
        check(Some("https://LOCALHOST:7420"), None, true);
        check(Some("http://localhost:3000"), Some("same-site"), false);
        check(Some("http://localhost:7420"), Some("cross-site"), false);
        check(Some("http://localhost:7420.evil.example"), None, false);
        check(Some("http://user@localhost:7420"), None, true);
        check(Some("null"), None, false);
        check(None, Some("same-origin"), false);
    }
}
