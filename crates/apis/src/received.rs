//! An answer, read up to a limit, without the secrets that were sent.

use std::borrow::Cow;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use kitbag_fetch::Secrets;
use reqwest::Response;

use crate::fault::RequestFault;

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) async fn read(response: Response, max: usize) -> Result<Self, RequestFault> {
        Ok(Self {
            status: response.status(),
            headers: response.headers().clone(),
            body: kitbag_fetch::body(response, max).await?,
        })
    }

    pub(crate) fn content_type(&self) -> Option<&str> {
        content_type(&self.headers)
    }

    /// Takes out the secrets that were sent, in case the API shows the request.
    pub(crate) fn without(mut self, secrets: &Secrets) -> Self {
        if secrets.is_empty() {
            return self;
        }
        // A body that is not text is shown as text in the end, so it is searched as text.
        if let Cow::Owned(clean) = secrets.hidden_in(&String::from_utf8_lossy(&self.body)) {
            self.body = clean.into_bytes();
        }
        if let Some(plain) = unescaped(&self.body).filter(|plain| secrets.are_in(plain)) {
            self.body = secrets.hidden_in(&plain).into_owned().into_bytes();
        }
        self
    }
}

/// Returns JSON without the escapes of characters that need none: some APIs write `=` as `\\u003d`.
fn unescaped(body: &[u8]) -> Option<String> {
    if !body.windows(2).any(|pair| pair == b"\\u") {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(json.to_string())
}

pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}
