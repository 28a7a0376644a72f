//! Keeps web pages away from a gateway on this machine.
//!
//! A page can make a browser send requests to localhost, and with a rebound DNS name even
//! read the answers. Such requests carry the page's `Origin`, or the rebound name as `Host`.

use std::net::IpAddr;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use url::{Host, Url};

use crate::config::Serve;

/// Why a request is turned away.
pub(super) fn refusal(serve: &Serve, headers: &HeaderMap) -> Option<String> {
    let host = headers.get(HOST).map(|value| value.to_str().unwrap_or("?"));
    if let Some(host) = host
        && !host_allowed(serve, host)
    {
        return Some(format!(
            "the Host `{host}` is not this gateway; add it to `allowed_hosts` in [serve] if it should be"
        ));
    }
    let origin = headers.get(ORIGIN).map(|value| value.to_str().unwrap_or("?"));
    if let Some(origin) = origin
        && !origin_allowed(serve, origin)
    {
        return Some(format!(
            "pages from `{origin}` may not use this gateway; add it to `allowed_origins` in [serve] if they should"
        ));
    }
    None
}

fn host_allowed(serve: &Serve, host: &str) -> bool {
    let name = without_port(host);
    is_loopback(name)
        || name.parse::<IpAddr>().is_ok_and(|address| address == serve.bind.ip())
        || (!serve.bind.ip().is_loopback() && serve.allowed_hosts.is_empty())
        || serve
            .allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name) || allowed.eq_ignore_ascii_case(host))
}

fn origin_allowed(serve: &Serve, origin: &str) -> bool {
    if serve.allowed_origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
        return true;
    }
    let Ok(url) = Url::parse(origin) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => is_loopback(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
        let serve = Serve { allowed_hosts: vec!["kitbag.lan".to_owned()], ..Serve::default() };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        assert_eq!(refusal(&serve, &headers).is_none(), allowed, "{host} {origin:?}");
    }

    #[test]
    fn only_this_machine_and_what_was_allowed_may_come_in() {
        check("127.0.0.1:7420", None, true);
        check("localhost:7420", Some("http://localhost:3000"), true);
        check("[::1]:7420", Some("http://[::1]:1"), true);
        check("kitbag.lan", None, true);
        check("evil.example:7420", None, false);
        check("localhost.evil.example", None, false);
        check("127.0.0.1:7420", Some("http://evil.example"), false);
        check("127.0.0.1:7420", Some("http://localhost.evil.example"), false);
        check("127.0.0.1:7420", Some("null"), false);
    }
}
