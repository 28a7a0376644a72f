//! Configured request headers, and the wait of `Retry-After`.

use std::time::{Duration, SystemTime};

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Parses headers from the configuration. Debug output hides their values.
pub fn header_map(
    headers: impl IntoIterator<Item = (String, String)>,
) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("`{name}` is not a valid header name"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            format!("the value of the header `{name}` has characters HTTP does not allow")
        })?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Returns the wait of `Retry-After`, which is given in seconds or as a date.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_in_seconds_and_as_a_date() {
        let now = httpdate::parse_http_date("Fri, 31 Dec 1999 23:59:00 GMT").expect("a date");
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Fri, 31 Dec 1999 23:59:59 GMT", Some(59)),
            ("Fri, 31 Dec 1999 23:58:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
        ] {
            let value = text.parse().expect("a value");
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value)]);
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(retry_after(&headers, now), expected, "{text}");
        }
    }
}
