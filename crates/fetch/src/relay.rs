//! Forwards a request to a service and its response back, both unchanged.

use http::header::{
    CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, Request, Response};
use reqwest::redirect::Policy;

use crate::{CONNECT_TIMEOUT, describe_error};

/// A streamed body; none of it is buffered.
pub use reqwest::Body as RelayedBody;

/// The client for requests of other programs.
#[derive(Debug, Clone)]
pub struct Relay {
    http: reqwest::Client,
}

#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RelayError {
    reason: String,
}

impl Relay {
    /// Returns a client that adds no headers, follows no redirects and sets no response timeout, which is up
    /// to the caller.
    pub fn new() -> Self {
        let built = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .build();
        Self {
            http: built.expect("the client is built from constants"),
        }
    }

    /// Returns the response as soon as its headers have arrived.
    pub async fn forward(
        &self,
        request: Request<RelayedBody>,
    ) -> Result<Response<RelayedBody>, RelayError> {
        let request = request.try_into().map_err(RelayError::from_reqwest)?;
        let answer = self
            .http
            .execute(request)
            .await
            .map_err(RelayError::from_reqwest)?;
        Ok(answer.into())
    }
}

impl Default for Relay {
    fn default() -> Self {
        Self::new()
    }
}

impl RelayError {
    fn from_reqwest(error: reqwest::Error) -> Self {
        Self {
            reason: describe_error(error),
        }
    }
}

/// Headers that concern one connection and not the message.
const HOP_BY_HOP_HEADERS: [HeaderName; 11] = [
    CONNECTION,
    EXPECT,
    HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Returns the headers that are forwarded with the message.
pub fn end_to_end_headers(headers: &HeaderMap) -> HeaderMap {
    let listed: Vec<&str> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    let travelling = headers.iter().filter(|(name, _)| {
        !HOP_BY_HOP_HEADERS.contains(name)
            && !listed
                .iter()
                .any(|listed| listed.eq_ignore_ascii_case(name.as_str()))
    });
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in travelling {
        passed.append(name, value.clone());
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_headers_are_dropped_and_all_others_are_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("host", "here"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("x-api-key", "k"),
        ] {
            headers.append(name, value.parse().expect("a value"));
        }
        let passed = end_to_end_headers(&headers);
        assert_eq!(passed.len(), 3);
        assert_eq!(passed.get_all("set-cookie").iter().count(), 2);
    }
}
