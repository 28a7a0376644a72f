//! Builds the request from an action and its arguments.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use kitbag_tool_spec::{AnswerType, FillValues, TextPattern};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::run::{ActionRun, PageRequest};
use super::{ActionFault, body};
use crate::auth::Proof;
use crate::request::{PendingRequest, with_trace};

/// The characters that are never encoded. A space becomes `%20`, which all servers and signatures
/// accept.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl ActionRun<'_> {
    pub(super) fn build_request(
        &self,
        page: &PageRequest,
        values: &FillValues<'_>,
        proof: Proof,
    ) -> Result<PendingRequest, ActionFault> {
        let body = self.action.body.as_ref();
        Ok(PendingRequest {
            method: self.action.method.clone(),
            url: match &page.link {
                Some(link) => link.clone(),
                None => self.build_url(values)?,
            },
            accept: accept_header(self.action.answer.kind),
            body: body.map_or(Ok(None), |body| body::fill_body(body, values))?,
            own_headers: with_trace(self.build_headers(values)?, &self.trace),
            proof,
            stayed_at_origin: true,
        })
    }

    fn build_url(&self, values: &FillValues<'_>) -> Result<Url, ActionFault> {
        let base = self.api.base_url(values)?;
        let path = self.action.path.fill(values)?;
        let text = format!("{}{path}", base.as_str().trim_end_matches('/'));
        let mut url = Url::parse(&text).map_err(|error| ActionFault::ConfigInvalid {
            reason: format!("its URL is invalid: {error}"),
        })?;
        let own = url.query().map(str::to_owned);
        let given = self.action.query(values).into_iter().map(encode_pair);
        let query: Vec<String> = own.into_iter().chain(given).collect();
        if !query.is_empty() {
            url.set_query(Some(&query.join("&")));
        }
        Ok(url)
    }

    fn build_headers(&self, values: &FillValues<'_>) -> Result<HeaderMap, ActionFault> {
        let of_api = self.api.declaration.headers.iter();
        let mut headers = HeaderMap::new();
        for (name, pattern) in of_api.chain(&self.action.headers) {
            if let Some(value) = fill_header(name, pattern, values)? {
                headers.insert(name.clone(), value);
            }
        }
        Ok(headers)
    }
}

fn fill_header(
    name: &HeaderName,
    pattern: &TextPattern,
    values: &FillValues<'_>,
) -> Result<Option<HeaderValue>, ActionFault> {
    let Some(text) = pattern.fill(values) else {
        return Ok(None);
    };
    let mut value = HeaderValue::try_from(text).map_err(|_| ActionFault::Arguments {
        reason: format!("the value of the header `{name}` has characters HTTP does not allow"),
    })?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn encode_pair((name, value): (String, String)) -> String {
    let [name, value] = [name, value].map(|text| utf8_percent_encode(&text, RESERVED).to_string());
    format!("{name}={value}")
}

/// A single type: some APIs compare the header literally.
fn accept_header(kind: AnswerType) -> HeaderValue {
    match kind {
        AnswerType::Json => HeaderValue::from_static("application/json"),
        AnswerType::Events => HeaderValue::from_static("text/event-stream"),
        AnswerType::Text | AnswerType::JsonLines | AnswerType::Image | AnswerType::Bytes => {
            HeaderValue::from_static("*/*")
        }
    }
}
