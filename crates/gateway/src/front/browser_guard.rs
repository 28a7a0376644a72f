//! Protects a local gateway from web pages.
//!
//! A page can make a browser send requests to localhost and, with DNS rebinding, even read the
//! answers. Such requests carry the page's `Origin`, or the rebound name as `Host`.

use std::net::IpAddr;

use http::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};
use http::{HeaderMap, Uri};
use kitbag_config::Serve;
use url::{Host, Url};

/// The header in which a browser states the origin of a request; web pages cannot change it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns the reason to reject a request, if any.
pub(super) fn rejection_reason(serve: &Serve, headers: &HeaderMap) -> Option<String> {
    for name in [HOST, ORIGIN] {
        if headers.get_all(&name).iter().count() > 1 {
            // With duplicates, a proxy may read another one than the gateway.
            return Some(format!("the request has more than one `{name}` header"));
        }
    }
    let host = headers.get(HOST).map(header_text);
    if let Some(host) = host
        && !is_host_allowed(serve, host)
    {
        return Some(format!(
            "the Host `{host}` is not allowed; to allow it, add it to `allowed_hosts` in [serve]"
        ));
    }
    let origin = headers.get(ORIGIN).map(header_text);
    if let Some(origin) = origin
        && !is_origin_allowed(serve, origin)
    {
        return Some(format!(
            "the origin `{origin}` is not allowed; to allow it, add it to `allowed_origins` in [serve]"
        ));
    }
    let invited = origin.is_some_and(|origin| is_configured_origin(serve, origin));
    if headers
        .get_all(SEC_FETCH_SITE)
        .iter()
        .any(|site| site == "cross-site")
        && !invited
    {
        return Some(
            "cross-site requests are not allowed; to allow them, add the page's origin to `allowed_origins` in \
             [serve]"
                .to_owned(),
        );
    }
    None
}

/// False if a request has an absolute target, as in requests to proxies, and its `Host` header
/// names a different host.
pub(super) fn has_one_host(target: &Uri, headers: &HeaderMap) -> bool {
    let Some(authority) = target.authority() else {
        return true;
    };
    headers
        .get(HOST)
        .is_some_and(|host| header_text(host).eq_ignore_ascii_case(authority.as_str()))
}

/// Returns the declared type of a body, if that is not JSON. Without a preflight request, a web
/// page can send a plain-text or form body to any address, but not a JSON body.
pub(super) fn non_json_type(headers: &HeaderMap) -> Option<&str> {
    headers
        .get_all(CONTENT_TYPE)
        .iter()
        .map(header_text)
        .find(|kind| !is_json(kind))
}

/// True if a browser sent the request, according to its headers.
pub(super) fn is_from_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN) || headers.contains_key(SEC_FETCH_SITE)
}

fn is_json(kind: &str) -> bool {
    let name = kind
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    name == "application/json" || (name.starts_with("application/") && name.ends_with("+json"))
}

fn header_text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or("?")
}

fn is_host_allowed(serve: &Serve, host: &str) -> bool {
    let name = without_port(host);
    is_loopback(name)
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address == serve.bind.ip())
        || (!serve.bind.ip().is_loopback() && serve.allowed_hosts.is_empty())
        || serve
            .allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host))
}

fn is_origin_allowed(serve: &Serve, origin: &str) -> bool {
    if is_configured_origin(serve, origin) {
        return true;
    }
    let Ok(url) = Url::parse(origin) else {
        return false;
    };
    // Extensions and apps choose their own schemes and names.
    if !["http", "https"].contains(&url.scheme()) {
        return false;
    }
    match url.host() {
        Some(Host::Domain(name)) => is_loopback(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_configured_origin(serve: &Serve, origin: &str) -> bool {
    serve
        .allowed_origins
        .iter()
        .any(|allowed| allowed.eq_ignore_ascii_case(origin))
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, origin: Option<&str>, allowed: bool) {
        let serve = Serve {
            allowed_hosts: vec!["kitbag.lan".to_owned()],
            ..Serve::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        assert_eq!(
            rejection_reason(&serve, &headers).is_none(),
            allowed,
            "{host} {origin:?}"
        );
    }

    #[test]
    fn only_local_and_allowed_hosts_and_origins_are_accepted() {
        check("127.0.0.1:7420", None, true);
        check("localhost:7420", Some("http://localhost:3000"), true);
        check("[::1]:7420", Some("http://[::1]:1"), true);
        check("kitbag.lan", None, true);
        check("evil.example:7420", None, false);
        check("localhost.evil.example", None, false);
        check("127.0.0.1:7420", Some("http://evil.example"), false);
        check(
            "127.0.0.1:7420",
            Some("http://localhost.evil.example"),
            false,
        );
        check("127.0.0.1:7420", Some("null"), false);
        check(
            "127.0.0.1:7420",
            Some("chrome-extension://localhost"),
            false,
        );
        check("127.0.0.1:7420", Some("app://localhost"), false);
        check("127.0.0.1:7420", Some("file://localhost"), false);
    }

    #[track_caller]
    fn check_headers(headers: &[(HeaderName, &str)], allowed: bool) {
        let serve = Serve {
            allowed_origins: vec!["https://app.example".to_owned()],
            ..Serve::default()
        };
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().unwrap());
        }
        assert_eq!(
            rejection_reason(&serve, &map).is_none(),
            allowed,
            "{headers:?}"
        );
    }

    #[test]
    fn cross_site_requests_and_duplicate_headers_are_rejected() {
        let (here, there) = ((HOST, "127.0.0.1:7420"), (HOST, "evil.example"));
        check_headers(&[here.clone(), there], false);
        check_headers(&[here.clone(), here.clone()], false);
        check_headers(
            &[
                (ORIGIN, "http://localhost"),
                (ORIGIN, "http://evil.example"),
            ],
            false,
        );
        check_headers(&[here.clone(), (SEC_FETCH_SITE, "cross-site")], false);
        check_headers(
            &[
                (SEC_FETCH_SITE, "cross-site"),
                (ORIGIN, "http://localhost:3000"),
            ],
            false,
        );
        check_headers(
            &[
                (SEC_FETCH_SITE, "cross-site"),
                (ORIGIN, "https://app.example"),
            ],
            true,
        );
        check_headers(&[here.clone(), (SEC_FETCH_SITE, "same-origin")], true);
        check_headers(&[here, (SEC_FETCH_SITE, "none")], true);
    }

    #[test]
    fn an_absolute_target_must_match_the_host_header() {
        let check = |target: &str, host: &str, fits: bool| {
            let headers = HeaderMap::from_iter([(HOST, host.parse().unwrap())]);
            assert_eq!(
                has_one_host(&target.parse().unwrap(), &headers),
                fits,
                "{target} {host}"
            );
        };
        check("/mcp", "localhost:7420", true);
        check("http://localhost:7420/mcp", "LOCALHOST:7420", true);
        check("http://evil.example/mcp", "localhost:7420", false);
        check("http://localhost/mcp", "localhost:7420", false);
    }

    #[test]
    fn a_body_is_json_or_has_no_declared_type() {
        let check = |kind: &str, fits: bool| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(non_json_type(&headers).is_none(), fits, "{kind}");
        };
        check("application/json", true);
        check("Application/JSON; charset=utf-8", true);
        check("application/vnd.mcp+json", true);
        check("text/plain", false);
        check("text/plain;application/json", false);
        check("application/x-www-form-urlencoded", false);
        check("multipart/form-data; boundary=x", false);
        assert_eq!(non_json_type(&HeaderMap::new()), None);
    }
}
