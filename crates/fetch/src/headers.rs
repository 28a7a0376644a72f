//! The headers that are sent to a service, and the wait that a service asks for.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Checks headers that an operator configured. Their values never show in debug output.
pub fn header_map(
    headers: impl IntoIterator<Item = (String, String)>,
) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("`{name}` is not a header name"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            format!("the value of the header `{name}` has characters HTTP does not allow")
        })?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

/// Returns how long a service asks us to wait, if it says so in seconds.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
