//! One request on its way, with the headers it is sent.

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use kitbag_fetch::guard;
use kitbag_wire::Raw;
use reqwest::{Request, Response};
use url::Url;

use crate::error::{ProviderFault, origin};
use crate::{Provider, ProviderCall, target};

/// JSON is what a model reads best; any other answer is taken, too.
const ACCEPTED: HeaderValue = HeaderValue::from_static("application/json, */*;q=0.5");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A request that is not answered yet, and that redirects may lead elsewhere.
pub(crate) struct PendingRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Raw>,
    /// True while every hop was at the API's own origin, which alone is sent the secrets.
    pub(crate) stayed_at_origin: bool,
}

impl PendingRequest {
    pub(crate) fn of(call: ProviderCall, base: &Url) -> Result<Self, ProviderFault> {
        Ok(Self {
            url: target::below(base, &call.path, &call.query)?,
            method: call.method,
            body: call.body,
            stayed_at_origin: true,
        })
    }

    fn build(&self, configured: &HeaderMap) -> Request {
        let mut request = Request::new(self.method.clone(), self.url.clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, ACCEPTED);
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        if self.stayed_at_origin {
            headers.extend(configured.clone());
        }
        *request.body_mut() = self.body.as_ref().map(|body| body.get().to_owned().into());
        request
    }
}

impl Provider {
    pub(crate) async fn send(
        &self,
        request: &PendingRequest,
        headers: &HeaderMap,
    ) -> Result<Response, ProviderFault> {
        guard::check_literal(&request.url, &self.guard)?;
        let sent = self.client.execute(request.build(headers)).await;
        sent.map_err(|error| match guard::refusal(&error) {
            Some(refused) => refused.clone().into(),
            None => ProviderFault::Unreachable {
                origin: origin(&request.url),
                reason: kitbag_fetch::cause(error),
            },
        })
    }
}
