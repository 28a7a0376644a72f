//! Passes a request on to a service and the answer back, both as they are.

use http::header::{
    CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, Request, Response};
use reqwest::redirect::Policy;

use crate::{CONNECT_TIMEOUT, cause};

/// A body on its way; nothing of it is held.
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
    /// Returns a client that adds nothing of our own, follows no redirect and waits for an answer as
    /// long as the one who asked.
    pub fn new() -> Self {
        let built = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .build();
        Self {
            http: built.expect("the client is built from constants"),
        }
    }

    /// Returns the answer as soon as its head is there.
    pub async fn pass(
        &self,
        request: Request<RelayedBody>,
    ) -> Result<Response<RelayedBody>, RelayError> {
        let request = request.try_into().map_err(RelayError::of)?;
        let answer = self.http.execute(request).await.map_err(RelayError::of)?;
        Ok(answer.into())
    }
}

impl Default for Relay {
    fn default() -> Self {
        Self::new()
    }
}

impl RelayError {
    fn of(error: reqwest::Error) -> Self {
        Self {
            reason: cause(error),
        }
    }
}

/// Headers about one connection and not about the message.
const OF_A_CONNECTION: [HeaderName; 11] = [
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

/// Returns the headers that belong to the message and travel on with it.
pub fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let listed: Vec<&str> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    let travelling = headers.iter().filter(|(name, _)| {
        !OF_A_CONNECTION.contains(name)
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
    fn what_belongs_to_a_connection_stays_there_and_everything_else_travels() {
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
        let passed = end_to_end(&headers);
        assert_eq!(passed.len(), 3);
        assert_eq!(passed.get_all("set-cookie").iter().count(), 2);
    }
}
