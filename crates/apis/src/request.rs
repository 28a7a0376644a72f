//! One pending request, with its headers.

use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::Request;
use url::Url;

use crate::auth::Proof;
use crate::fault::RequestFault;

/// Models read JSON best; any other answer is accepted, too.
pub(crate) const ACCEPT_JSON: HeaderValue = HeaderValue::from_static("application/json, */*;q=0.5");

/// A request without an answer yet, which may be redirected.
#[derive(Clone)]
pub(crate) struct PendingRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) accept: HeaderValue,
    pub(crate) body: Option<PendingBody>,
    /// Headers that may hold secrets, and so only go to the API's own origin.
    pub(crate) own_headers: HeaderMap,
    pub(crate) proof: Proof,
    /// True while every hop was at the API's own origin, the only one that gets the secrets.
    pub(crate) stayed_at_origin: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct PendingBody {
    pub(crate) content_type: HeaderValue,
    pub(crate) bytes: Bytes,
}

/// Adds trace headers, without overriding existing ones.
pub(crate) fn with_trace(mut headers: HeaderMap, trace: &HeaderMap) -> HeaderMap {
    for (name, value) in trace {
        headers.entry(name).or_insert_with(|| value.clone());
    }
    headers
}

impl PendingRequest {
    pub(crate) fn build(&self) -> Result<Request, RequestFault> {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, self.accept.clone());
        if let Some(body) = &self.body {
            headers.insert(CONTENT_TYPE, body.content_type.clone());
        }
        if self.stayed_at_origin {
            headers.extend(self.own_headers.clone());
        }
        if self.body.is_none() {
            headers.remove(CONTENT_TYPE);
        }
        *request.body_mut() = self.body.as_ref().map(|body| body.bytes.clone().into());
        // The signature covers the whole request, so it comes last.
        if self.stayed_at_origin {
            self.proof.add_to(&mut request)?;
        }
        Ok(request)
    }
}

impl PendingBody {
    pub(crate) fn new(content_type: &'static str, bytes: impl Into<Bytes>) -> Self {
        Self {
            content_type: HeaderValue::from_static(content_type),
            bytes: bytes.into(),
        }
    }

    pub(crate) fn form(fields: String) -> Self {
        Self::new("application/x-www-form-urlencoded", fields)
    }

    pub(crate) fn json(text: String) -> Self {
        Self::new("application/json", text)
    }
}
