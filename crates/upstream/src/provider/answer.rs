//! What an API answered, read no further than we are willing to hold in memory.

use std::borrow::Cow;

use http::header::{CONTENT_TYPE, HeaderMap};
use reqwest::Response;

use super::error::Fault;
use crate::body::describe;
use crate::secrets::Secrets;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    /// Those that help with the next call, such as the place of the next page.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ProviderAnswer {
    /// Without the secrets that were sent, in case the API shows what it was asked.
    pub(super) fn without(mut self, secrets: &Secrets) -> Self {
        if secrets.is_empty() {
            return self;
        }
        for (_, value) in &mut self.headers {
            *value = secrets.hidden_in(value).into_owned();
        }
        // What is no text is shown as text in the end, so it is searched as that.
        if let Cow::Owned(clean) = secrets.hidden_in(&String::from_utf8_lossy(&self.body)) {
            self.body = clean.into_bytes();
        }
        self
    }
}

pub(super) async fn read(mut response: Response, max: usize) -> Result<ProviderAnswer, Fault> {
    if response
        .content_length()
        .is_some_and(|length| length > max as u64)
    {
        return Err(Fault::TooLarge { max });
    }
    let lost = |error: reqwest::Error| Fault::Lost {
        reason: describe(&error.without_url()),
    };
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(lost)? {
        if body.len() + chunk.len() > max {
            return Err(Fault::TooLarge { max });
        }
        body.extend_from_slice(&chunk);
    }
    let headers = response.headers();
    let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    Ok(ProviderAnswer {
        status: response.status().as_u16(),
        content_type: text(CONTENT_TYPE),
        headers: helpful(headers),
        body,
    })
}

/// Never cookies or challenges: a caller has no use for them, and they may be secrets.
fn helpful(headers: &HeaderMap) -> Vec<(String, String)> {
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
    let wanted = |name: &str| {
        HELPFUL.contains(&name) || name.starts_with("x-ratelimit-") || name.starts_with("ratelimit")
    };
    let kept = headers.iter().filter(|(name, _)| wanted(name.as_str()));
    kept.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}
