//! Asking a service over HTTP: how much of an answer is held, and what went wrong, in a few words.

use std::error::Error;
use std::time::Duration;

use http::HeaderMap;
use http::header::RETRY_AFTER;
use reqwest::{ClientBuilder, Response};

/// Why a body could not be read whole.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error(transparent)]
    Lost(reqwest::Error),
    #[error("more than {most} bytes")]
    TooLarge { most: usize },
}

/// A client under our name that does not wait for ever for a connection.
pub fn client() -> ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .user_agent(concat!("kitbag/", env!("CARGO_PKG_VERSION")))
}

/// The whole body, if it is no longer than `most` bytes.
pub async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Lost)? {
        if body.len() + chunk.len() > most {
            return Err(BodyError::TooLarge { most });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// How long a service asks us to wait, where it says so in seconds.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// Why a request came to nothing, without its address, which may hold a secret.
pub fn cause(error: reqwest::Error) -> String {
    innermost(&error.without_url())
}

/// The reason at the bottom: `reqwest` wraps "connection refused" in three layers of its own.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}
