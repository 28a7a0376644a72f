//! Checks of requests for web pages: the host, the origin, and the key of a signed-in person.

use std::net::SocketAddr;

use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method};
use kitbag_domain::{Caller, Role};
use kitbag_store::Recognition;
use url::Url;

use super::{access_log, auth, browser_guard};
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::telemetry::rejections::Rejection;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Returns the reason to reject a request for a page, if any. Other sites may link to a page, but
/// not read, frame or submit one; those in `allowed_origins` may speak MCP and no more.
pub fn rejection_reason(gateway: &Gateway, method: &Method, headers: &HeaderMap) -> Option<String> {
    let mut without_page = headers.clone();
    without_page.remove(SEC_FETCH_SITE);
    if headers.get_all(ORIGIN).iter().count() <= 1 {
        without_page.remove(ORIGIN);
    }
    let host_fault = browser_guard::rejection_reason(&gateway.serve, &without_page);
    host_fault.or_else(|| Some(foreign_page_fault(method, headers)?.to_owned()))
}

fn foreign_page_fault(method: &Method, headers: &HeaderMap) -> Option<&'static str> {
    if !is_read(method) {
        let is_own_form = has_own_origin(headers) == Some(true) && is_same_site(headers);
        return (!is_own_form).then_some("only Kitbag's own pages may send forms to it");
    }
    let is_link = header_is(headers, &SEC_FETCH_MODE, "navigate")
        && header_is(headers, &SEC_FETCH_DEST, "document");
    let is_own = has_own_origin(headers) != Some(false) && is_same_site(headers);
    (!is_link && !is_own).then_some("other web pages may link to Kitbag's pages, but not read them")
}

/// True if the method changes nothing.
pub fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// True if the person followed a link of another site. The browser sends no `SameSite=Strict`
/// cookie then, even if there is one.
pub fn is_link_from_elsewhere(headers: &HeaderMap) -> bool {
    header_is(headers, &SEC_FETCH_SITE, "cross-site")
}

/// Returns whether the request comes from a page of this gateway, if the browser names the origin,
/// as it does with every form.
fn has_own_origin(headers: &HeaderMap) -> Option<bool> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    headers.get(ORIGIN)?;
    let origin = text(ORIGIN).and_then(|origin| Url::parse(origin).ok());
    let (Some(origin), Some(host)) = (origin, text(HOST)) else {
        return Some(false);
    };
    let authority = &origin[url::Position::BeforeHost..url::Position::AfterPort];
    Some(["http", "https"].contains(&origin.scheme()) && authority.eq_ignore_ascii_case(host))
}

/// False if the browser says that a page of another origin, or of another port, is asking.
fn is_same_site(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    sites.all(|site| site == "same-origin" || site == "none")
}

/// True if this person needs no key, because they are at this machine and nobody else can connect.
/// A proxy or tunnel on this machine connects from it, too, but for people elsewhere.
pub fn is_keyless(gateway: &Gateway, peer: SocketAddr, headers: &HeaderMap) -> bool {
    let is_forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    gateway.serve.allows_keyless() && peer.ip().to_canonical().is_loopback() && !is_forwarded
}

/// The headers with which proxies and tunnels say that they forward a request.
const FORWARDED: [&str; 7] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
];

/// True if the key is still accepted for pages.
pub async fn is_accepted(gateway: &Gateway, key: &str) -> bool {
    let recognized = gateway.services.store.authenticate(key, now()).await;
    matches!(recognized, Ok(Recognition::Known(caller)) if caller.role != Role::User)
}

/// Returns the caller that a signed-in person's key belongs to. Rejected keys are counted and
/// audited like clients' keys.
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

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn only_pages_of_this_gateway_may_send_forms() {
        let check = |origin: Option<&str>, site: Option<&str>, expected: bool| {
            let mut headers = headers(&[(HOST, "localhost:7420")]);
            for (name, value) in [(ORIGIN, origin), (SEC_FETCH_SITE, site)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            let fault = foreign_page_fault(&Method::POST, &headers);
            assert_eq!(fault.is_none(), expected, "{origin:?} {site:?}");
        };
        check(Some("http://localhost:7420"), Some("same-origin"), true);
        check(Some("https://LOCALHOST:7420"), None, true);
        check(Some("http://localhost:3000"), Some("same-site"), false);
        check(Some("http://localhost:7420"), Some("same-site"), false);
        check(Some("http://localhost:7420"), Some("cross-site"), false);
        check(Some("http://localhost:7420.evil.example"), None, false);
        check(Some("app://localhost:7420"), None, false);
        check(Some("null"), None, false);
        check(None, Some("same-origin"), false);
    }

    #[test]
    fn other_pages_may_link_to_pages_and_not_read_them() {
        let check = |given: &[(HeaderName, &str)], expected: bool| {
            let mut headers = headers(given);
            headers.insert(HOST, "localhost:7420".parse().unwrap());
            let fault = foreign_page_fault(&Method::GET, &headers);
            assert_eq!(fault.is_none(), expected, "{given:?}");
        };
        let (navigate, document) = ((SEC_FETCH_MODE, "navigate"), (SEC_FETCH_DEST, "document"));
        let cross_site = (SEC_FETCH_SITE, "cross-site");
        check(&[], true);
        check(&[(SEC_FETCH_SITE, "same-origin")], true);
        check(
            &[(SEC_FETCH_SITE, "none"), navigate.clone(), document.clone()],
            true,
        );
        check(&[cross_site.clone(), navigate.clone(), document], true);
        check(
            &[cross_site.clone(), navigate, (SEC_FETCH_DEST, "iframe")],
            false,
        );
        check(&[cross_site, (SEC_FETCH_MODE, "no-cors")], false);
        check(
            &[(SEC_FETCH_SITE, "same-site"), (SEC_FETCH_MODE, "no-cors")],
            false,
        );
        check(&[(ORIGIN, "http://localhost:3000")], false);
        check(&[(ORIGIN, "http://localhost:7420")], true);
    }
}
