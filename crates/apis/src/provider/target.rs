//! From the caller's path to a URL below the base, however the path is spelt.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::ProviderFault;

/// Honest clients encode a path once, and a proxy may do so again. A path encoded more often is
/// meant to bypass a check.
const MAX_ENCODINGS: usize = 4;

const LEAVES_BASE: &str = "it must stay below the base address of the API, without `.` and `..`";

/// Returns the URL of `path` below `base`. Keeps a query in the path, and appends `query`.
pub(crate) fn join_below(
    base: &Url,
    path: &str,
    query: &[(String, String)],
) -> Result<Url, ProviderFault> {
    let (path, own_query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let path = check_path(path).map_err(path_fault)?;
    let folder = base.path().trim_end_matches('/');
    let mut url = base.clone();
    if !path.is_empty() {
        url.set_path(&format!("{folder}/{path}"));
    }
    url.set_query(own_query.filter(|query| !query.is_empty()));
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    // A second line of defence after the checks above.
    match rest_below(base, &url).is_some() && url.origin() == base.origin() {
        true => Ok(url),
        false => Err(path_fault(LEAVES_BASE)),
    }
}

fn path_fault(reason: &'static str) -> ProviderFault {
    ProviderFault::Path { reason }
}

/// Returns the path after the base's path, if the URL is below the base in every reading.
pub(crate) fn relative_path<'a>(base: &Url, url: &'a Url) -> Option<&'a str> {
    rest_below(base, url).filter(|rest| check_path(rest).is_ok())
}

fn rest_below<'a>(base: &Url, url: &'a Url) -> Option<&'a str> {
    let folder = base.path().trim_end_matches('/');
    let rest = url.path().strip_prefix(folder)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// True if a URL leads to the same API by another name of its host or by its other scheme. Secrets
/// do not follow there, but the same rules apply.
pub(crate) fn is_same_api(base: &Url, url: &Url) -> bool {
    normalized_port(base) == normalized_port(url) && normalized_host(base) == normalized_host(url)
}

/// Returns the port, the same for the default ports of both schemes.
fn normalized_port(url: &Url) -> Option<u16> {
    match url.port_or_known_default() {
        Some(443) => Some(80),
        port => port,
    }
}

/// Returns the host, the same for all names of this machine.
fn normalized_host(url: &Url) -> String {
    match url.host() {
        Some(Host::Domain(name)) => domain_name(name.trim_end_matches('.')).to_owned(),
        Some(Host::Ipv4(address)) if address == Ipv4Addr::LOCALHOST => LOCALHOST.to_owned(),
        Some(Host::Ipv6(address)) if address == Ipv6Addr::LOCALHOST || address == MAPPED => {
            LOCALHOST.to_owned()
        }
        Some(address) => address.to_string(),
        None => String::new(),
    }
}

fn domain_name(name: &str) -> &str {
    match name.ends_with(".localhost") {
        true => LOCALHOST,
        false => name,
    }
}

const LOCALHOST: &str = "localhost";
const MAPPED: Ipv6Addr = Ipv4Addr::LOCALHOST.to_ipv6_mapped();

/// Returns the path as a server may read it: decoded, and without empty segments.
pub(crate) fn normalize_path(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut reading = path.to_owned();
    for _ in 0..MAX_ENCODINGS {
        reading = percent_decode(&reading);
    }
    let steps: Vec<_> = reading.split('/').filter(|step| !step.is_empty()).collect();
    format!("/{}", steps.join("/"))
}

/// Returns the path without its leading slash, if every reading of it stays below the base.
fn check_path(path: &str) -> Result<&str, &'static str> {
    if Url::parse(path).is_ok_and(|url| url.has_host()) {
        return Err("it is a full URL; pass only the path");
    }
    let relative = path.strip_prefix('/').unwrap_or(path);
    if relative.starts_with('/') {
        return Err("it begins with `//`, which would name another host");
    }
    if path.contains('#') {
        return Err("it contains a `#`; write `%23` if that is part of a name");
    }
    check_readings(relative).map(|()| relative)
}

fn check_readings(path: &str) -> Result<(), &'static str> {
    let mut reading = Cow::Borrowed(path);
    for _ in 0..MAX_ENCODINGS {
        check_reading(&reading)?;
        let decoded = percent_decode(&reading);
        if decoded == reading {
            return Ok(());
        }
        reading = Cow::Owned(decoded);
    }
    Err("it is percent-encoded too many times")
}

fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// In some APIs, `%2F` inside a name is a slash that separates nothing, so it is allowed as long as
/// no segment leads upwards.
fn check_reading(path: &str) -> Result<(), &'static str> {
    if path.chars().any(char::is_control) {
        return Err("it contains control characters");
    }
    if path.contains('\\') {
        return Err("it contains a backslash, which some servers treat as a slash");
    }
    match path.split('/').any(is_dot_step) {
        true => Err(LEAVES_BASE),
        false => Ok(()),
    }
}

/// True for `.` and `..`, also with parameters after a `;`, which some servers strip.
fn is_dot_step(step: &str) -> bool {
    let name = step.split(';').next().unwrap_or_default().trim();
    matches!(name, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_path(base: &str, path: &str, query: &[(&str, &str)], expected: &str) {
        let query: Vec<_> = query
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let found = match join_below(&base.parse().unwrap(), path, &query) {
            Ok(url) => url.to_string(),
            Err(ProviderFault::Path { reason }) => format!("refused: {reason}"),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_path_lies_below_the_base_however_it_begins() {
        check_path(
            "https://api.example/v1",
            "/issues/3",
            &[],
            "https://api.example/v1/issues/3",
        );
        check_path(
            "https://api.example/v1/",
            "issues",
            &[],
            "https://api.example/v1/issues",
        );
        check_path("https://api.example", "/", &[], "https://api.example/");
        check_path("https://api.example/v1", "", &[], "https://api.example/v1");
        check_path(
            "https://api.example/v1/",
            "/",
            &[],
            "https://api.example/v1/",
        );
        check_path(
            "https://api.example",
            "a//b/",
            &[],
            "https://api.example/a//b/",
        );
        check_path(
            "https://api.example",
            "/users:search",
            &[],
            "https://api.example/users:search",
        );
        check_path(
            "https://api.example",
            "/what now/ü",
            &[],
            "https://api.example/what%20now/%C3%BC",
        );
    }

    #[test]
    fn an_encoded_slash_in_a_name_stays_as_it_is() {
        check_path(
            "https://git.example/api",
            "/projects/group%2Fname/x",
            &[],
            "https://git.example/api/projects/group%2Fname/x",
        );
        check_path(
            "https://a.example",
            "/100%/half%25",
            &[],
            "https://a.example/100%/half%25",
        );
    }

    #[test]
    fn a_query_may_be_in_the_path_and_in_addition_to_it() {
        check_path(
            "https://a.example",
            "/s?q=a+b",
            &[("page", "2")],
            "https://a.example/s?q=a+b&page=2",
        );
        check_path(
            "https://a.example",
            "/s",
            &[("q", "a&b=c"), ("q", "ü")],
            "https://a.example/s?q=a%26b%3Dc&q=%C3%BC",
        );
        check_path("https://a.example", "/s?", &[], "https://a.example/s");
    }

    #[test]
    fn no_spelling_climbs_out_of_the_base() {
        for path in [
            "..",
            "/../admin",
            "a/../../b",
            ".",
            "%2e%2e/x",
            "%2E./x",
            "a%2f..%2f..%2fb",
            "%252e%252e/x",
            "%25252e%25252e/x",
            "..;/x",
            "..;a=b/x",
            "%2e%2e%3b/x",
            " .. /x",
        ] {
            check_path(
                "https://a.example/v1",
                path,
                &[],
                &format!("refused: {LEAVES_BASE}"),
            );
        }
    }

    #[test]
    fn rules_see_one_path_for_all_its_spellings() {
        for path in [
            "/admin/users",
            "admin/users/",
            "/%61dmin//users?x=1",
            "/admin%2Fusers",
            "/%2561dmin/users",
        ] {
            assert_eq!(normalize_path(path), "/admin/users", "{path}");
        }
        assert_eq!(normalize_path(""), "/");
    }

    #[test]
    fn a_url_below_the_base_has_a_relative_path_and_no_other_url_has_one() {
        let below = |url: &str| {
            let url: Url = url.parse().unwrap();
            relative_path(&"https://a.example/v1".parse().unwrap(), &url).map(str::to_owned)
        };
        assert_eq!(
            below("https://a.example/v1/admin?x=1").as_deref(),
            Some("/admin")
        );
        assert_eq!(below("https://a.example/v1").as_deref(), Some(""));
        for outside in [
            "/",
            "/v10/x",
            "/V1/x",
            "/v1/../admin",
            "/v1/..%2fadmin",
            "/v1/%252e%252e/x",
            "/v1//x",
        ] {
            assert_eq!(
                below(&format!("https://a.example{outside}")),
                None,
                "{outside}"
            );
        }
    }

    #[test]
    fn an_api_is_the_same_under_other_names_of_its_host() {
        let same =
            |one: &str, other: &str| is_same_api(&one.parse().unwrap(), &other.parse().unwrap());
        for other in [
            "https://API.example/x",
            "http://api.example/",
            "https://api.example./",
            "https://api.example:443",
        ] {
            assert!(same("https://api.example/v1", other), "{other}");
        }
        for other in [
            "http://localhost:81/",
            "http://[::1]:81",
            "http://0x7f.1:81",
            "http://x.localhost:81/",
        ] {
            assert!(same("http://127.0.0.1:81/v1", other), "{other}");
        }
        assert!(
            !same("https://api.example", "https://api.example:8443")
                && !same("http://a.example", "http://b.a.example")
        );
        assert!(!same("http://127.0.0.1:81", "http://127.0.0.1:82"));
    }

    #[test]
    fn a_path_that_names_another_host_is_rejected() {
        let whole = "refused: it is a full URL; pass only the path";
        check_path("https://a.example", "https://evil.example/x", &[], whole);
        check_path("https://a.example", "http:evil.example", &[], whole);
        check_path("https://a.example", "ftp://evil.example", &[], whole);
        let host = "refused: it begins with `//`, which would name another host";
        check_path("https://a.example", "//evil.example/x", &[], host);
        check_path(
            "https://a.example/v1",
            "/@evil.example",
            &[],
            "https://a.example/v1/@evil.example",
        );
        check_path(
            "https://a.example",
            "/:80/x",
            &[],
            "https://a.example/:80/x",
        );
    }

    #[test]
    fn a_path_that_servers_read_in_different_ways_is_rejected() {
        let backslash = "refused: it contains a backslash, which some servers treat as a slash";
        check_path("https://a.example", "/a\\b", &[], backslash);
        check_path("https://a.example", "/a%5c..%5cb", &[], backslash);
        let control = "refused: it contains control characters";
        for path in ["/a\nb", "/.\t./x", "/a%00b", "/a%0d%0ab", "/a%250ab"] {
            check_path("https://a.example", path, &[], control);
        }
        check_path(
            "https://a.example",
            "/a#b",
            &[],
            "refused: it contains a `#`; write `%23` if that is part of a name",
        );
        check_path(
            "https://a.example",
            "/%2525252525a",
            &[],
            "refused: it is percent-encoded too many times",
        );
    }
}
