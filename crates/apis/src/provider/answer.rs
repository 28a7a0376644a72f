//! The answer of an API that is called by path.

use http::header::HeaderMap;
use kitbag_fetch::Secrets;

use crate::received_response::ReceivedResponse;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    /// Headers that help with the next call, such as the address of the next page.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ProviderAnswer {
    pub(super) fn new(received: ReceivedResponse, secrets: &Secrets) -> Self {
        let received = received.mask_secrets(secrets);
        let mut headers = helpful_headers(&received.headers);
        for (_, value) in &mut headers {
            *value = secrets.mask_text(value).into_owned();
        }
        Self {
            status: received.status.as_u16(),
            content_type: received.content_type().map(str::to_owned),
            headers,
            body: received.body,
        }
    }
}

fn helpful_headers(headers: &HeaderMap) -> Vec<(String, String)> {
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
