//! The headers of a model request: those for the gateway, and those for the vendor.

use http::header::{AUTHORIZATION, CONTENT_LENGTH};
use http::{HeaderMap, HeaderName, HeaderValue};
use kitbag_fetch::relay::end_to_end_headers;
use kitbag_store::KEY_PREFIX;

use crate::models::model_vendors::X_API_KEY;

/// The header with the gateway's own key.
const X_KITBAG_KEY: HeaderName = HeaderName::from_static("x-kitbag-key");

/// Returns the headers for `/mcp`, with the gateway's key in the usual header.
pub(super) fn gateway_credentials(headers: &HeaderMap) -> HeaderMap {
    let mut credentials = headers.clone();
    credentials.remove(AUTHORIZATION);
    let key = headers.get(X_KITBAG_KEY).or_else(|| {
        vendor_keys(headers)
            .find(|(_, it)| is_gateway_key(it))
            .map(|(_, it)| it)
    });
    if let Some(bearer) = key.and_then(to_bearer) {
        credentials.insert(AUTHORIZATION, bearer);
    }
    credentials
}

/// Returns the headers for the vendor: everything that the client sent, without the gateway's key.
/// If the body was read, its length is computed again.
pub(super) fn vendor_headers(headers: &HeaderMap, is_body_read: bool) -> HeaderMap {
    let mut outgoing = end_to_end_headers(headers);
    outgoing.remove(X_KITBAG_KEY);
    for (name, _) in vendor_keys(headers).filter(|(_, key)| is_gateway_key(key)) {
        outgoing.remove(name);
    }
    if is_body_read {
        outgoing.remove(CONTENT_LENGTH);
    }
    outgoing
}

/// Returns the headers that may contain a vendor's key. A client that can set no other header may
/// put the gateway's key there.
fn vendor_keys(headers: &HeaderMap) -> impl Iterator<Item = (HeaderName, &HeaderValue)> {
    let names = [X_API_KEY, AUTHORIZATION].into_iter();
    names.filter_map(|name| Some((name.clone(), headers.get(&name)?)))
}

fn is_gateway_key(key: &HeaderValue) -> bool {
    strip_scheme(key).is_some_and(|token| token.starts_with(KEY_PREFIX))
}

fn to_bearer(key: &HeaderValue) -> Option<HeaderValue> {
    format!("Bearer {}", strip_scheme(key)?).parse().ok()
}

/// Strips the scheme from a key.
fn strip_scheme(key: &HeaderValue) -> Option<&str> {
    let text = key.to_str().ok()?.trim();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Some(token.trim()),
        _ => Some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which key the gateway reads, and which headers the vendor gets.
    #[track_caller]
    fn check(headers: &[(&str, &str)], read: Option<&str>, sent: &[&str]) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name: HeaderName = name.parse().expect("a name");
                (name, value.parse().expect("a value"))
            })
            .collect();
        let credentials = gateway_credentials(&headers);
        let found = credentials
            .get(AUTHORIZATION)
            .map(|it| it.to_str().expect("text"));
        assert_eq!(found, read);
        let outgoing = vendor_headers(&headers, true);
        let names: Vec<_> = outgoing.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, sent, "{headers:?}");
    }

    #[test]
    fn the_gateway_and_the_vendor_each_get_only_their_own_key() {
        let (vendor, own) = ("sk-ant-1", "kb_1_s");
        check(&[("x-api-key", vendor)], None, &["x-api-key"]);
        let both = [("x-api-key", vendor), ("x-kitbag-key", own)];
        check(&both, Some("Bearer kb_1_s"), &["x-api-key"]);
        check(&[("x-api-key", own)], Some("Bearer kb_1_s"), &[]);
        let bearer = [("authorization", "Bearer kb_1_s"), ("content-length", "7")];
        check(&bearer, Some("Bearer kb_1_s"), &[]);
        check(
            &[("authorization", "Bearer sk-1")],
            None,
            &["authorization"],
        );
    }
}
