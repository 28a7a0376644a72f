//! The target of a redirect.

use http::header::LOCATION;
use reqwest::Response;

/// A `Location` header that is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("to an address that is not text")]
pub struct LocationNotText;

/// Returns the target of a redirect response.
pub fn redirect_location(response: &Response) -> Result<Option<String>, LocationNotText> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| redirects) else {
        return Ok(None);
    };
    match location.to_str() {
        Ok(location) => Ok(Some(location.to_owned())),
        Err(_) => Err(LocationNotText),
    }
}
