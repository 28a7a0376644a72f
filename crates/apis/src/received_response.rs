//! An answer, read up to a limit, without the secrets that were sent.

use std::borrow::Cow;

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap};
use kitbag_fetch::Secrets;
use reqwest::Response;

use crate::fault::RequestFault;

#[derive(Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ReceivedResponse {
    pub(crate) async fn read_within(response: Response, max: usize) -> Result<Self, RequestFault> {
        Ok(Self {
            status: response.status(),
            headers: response.headers().clone(),
            body: kitbag_fetch::read_body(response, max).await?,
        })
    }

    pub(crate) fn content_type(&self) -> Option<&str> {
        content_type(&self.headers)
    }

    /// Masks the secrets that were sent, in case the API echoes the request.
    pub(crate) fn mask_secrets(mut self, secrets: &Secrets) -> Self {
        if secrets.is_empty() {
            return self;
        }
        // A body that is not valid text is shown as text in the end, so it is searched as text.
        if let Cow::Owned(clean) = secrets.mask_text(&String::from_utf8_lossy(&self.body)) {
            self.body = clean.into_bytes();
        }
        if let Some(plain) = unescape_json(&self.body).filter(|plain| secrets.are_in(plain)) {
            self.body = secrets.mask_text(&plain).into_owned().into_bytes();
        }
        self
    }
}

/// Returns JSON without unnecessary escapes: some APIs write `=` as `\\u003d`.
fn unescape_json(body: &[u8]) -> Option<String> {
    if !body.windows(2).any(|pair| pair == b"\\u") {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    Some(json.to_string())
}

pub(crate) fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}
