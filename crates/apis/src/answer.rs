//! The answer of an API, read up to a limit.

use std::borrow::Cow;

use http::header::{CONTENT_TYPE, HeaderMap};
use kitbag_fetch::{BodyError, Secrets, cause};
use reqwest::Response;

use crate::error::ProviderFault;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    /// Those that help with the next call, such as the address of the next page.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ProviderAnswer {
    /// Takes out the secrets that were sent, in case the API shows the request.
    pub(crate) fn without(mut self, secrets: &Secrets) -> Self {
        if secrets.is_empty() {
            return self;
        }
        for (_, value) in &mut self.headers {
            *value = secrets.hidden_in(value).into_owned();
        }
        // A body that is not text is shown as text in the end, so it is searched as text.
        if let Cow::Owned(clean) = secrets.hidden_in(&String::from_utf8_lossy(&self.body)) {
            self.body = clean.into_bytes();
        }
        self
    }
}

pub(crate) async fn read(response: Response, max: usize) -> Result<ProviderAnswer, ProviderFault> {
    let headers = response.headers();
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    Ok(ProviderAnswer {
        status: response.status().as_u16(),
        content_type: content_type.map(str::to_owned),
        headers: helpful(headers),
        body: kitbag_fetch::body(response, max).await.map_err(unread)?,
    })
}

fn unread(error: BodyError) -> ProviderFault {
    match error {
        BodyError::TooLarge { most } => ProviderFault::TooLarge { max: most },
        BodyError::Lost(error) => ProviderFault::Lost {
            reason: cause(error),
        },
    }
}

fn helpful(headers: &HeaderMap) -> Vec<(String, String)> {
    let mut kept = Vec::new();
    for (name, value) in headers {
        if let Ok(value) = value.to_str()
            && is_helpful(name.as_str())
        {
            kept.push((name.to_string(), value.to_owned()));
        }
    }
    kept
}

/// False for cookies and challenges: a caller has no use for them, and they may be secrets.
fn is_helpful(name: &str) -> bool {
    const HELPFUL: [&str; 8] = [
        "allow",
        "content-location",
        "etag",
        "last-modified",
        "link",
        "location",
        "retry-after",
        "x-total-count",
    ];
    HELPFUL.contains(&name) || name.starts_with("x-ratelimit-") || name.starts_with("ratelimit")
}
