//! The request for a page, over redirects, and its response.

use http::HeaderValue;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use kitbag_fetch::{BodyError, describe_error, guard, redirect};
use reqwest::Response;
use url::Url;

use super::error::PageError;
use super::media::{self, MediaKind};
use super::{MAX_BYTES, PageContent, PageReader, WebPage};
use crate::address::{self, origin_of};

/// Sites redirect to another spelling, to a language, to a login; more are a loop.
const MAX_REDIRECTS: usize = 5;

/// Some sites have their own Markdown, which is better than a conversion.
pub(super) const WANTS_MARKDOWN: HeaderValue = HeaderValue::from_static(
    "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.5",
);
pub(super) const WANTS_ANYTHING: HeaderValue = HeaderValue::from_static("*/*");

#[derive(Debug)]
pub(super) struct FetchedPage {
    /// After all redirects.
    pub(super) url: Url,
    pub(super) status: u16,
    /// In lower case and without parameters.
    pub(super) media_type: String,
    /// The encoding that the site names.
    charset: Option<String>,
    pub(super) body: Vec<u8>,
}

impl PageReader {
    pub(super) async fn fetch(
        &self,
        mut url: Url,
        wanted: HeaderValue,
    ) -> Result<FetchedPage, PageError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&url, &wanted).await?;
            let location = redirect::redirect_location(&response)
                .map_err(|error| redirect_error(&url, error.to_string()))?;
            let Some(location) = location else {
                return FetchedPage::from_response(url, response).await;
            };
            url = next_url(&url, &location)?;
        }
        Err(PageError::TooManyRedirects { max: MAX_REDIRECTS })
    }

    async fn send(&self, url: &Url, wanted: &HeaderValue) -> Result<Response, PageError> {
        guard::check_literal(url, &self.settings.guard)?;
        let request = self.client().get(url.clone()).header(ACCEPT, wanted);
        request
            .send()
            .await
            .map_err(|error| unreachable_error(url, error))
    }
}

fn unreachable_error(url: &Url, error: reqwest::Error) -> PageError {
    match guard::find_refusal(&error) {
        Some(refused) => refused.clone().into(),
        None => PageError::Unreachable {
            origin: origin_of(url),
            reason: describe_error(error),
        },
    }
}

/// Returns the address of the next hop, checked like the first one.
fn next_url(from: &Url, location: &str) -> Result<Url, PageError> {
    let joined = from.join(location);
    let url =
        joined.map_err(|error| redirect_error(from, format!("not to an address: {error}")))?;
    match address::check_address(&url) {
        Ok(()) => Ok(url),
        Err(error) => Err(redirect_error(
            from,
            format!("to {}: {error}", origin_of(&url)),
        )),
    }
}

fn redirect_error(from: &Url, reason: String) -> PageError {
    let origin = origin_of(from);
    PageError::Redirect { origin, reason }
}

impl FetchedPage {
    async fn from_response(url: Url, response: Response) -> Result<Self, PageError> {
        refuse_encoded(response.headers())?;
        let content_type = header_text(response.headers(), &CONTENT_TYPE);
        Ok(Self {
            url,
            status: response.status().as_u16(),
            media_type: media::parse_media_type(content_type),
            charset: media::parse_charset(content_type),
            body: read_body(response).await?,
        })
    }

    pub(super) fn kind(&self) -> MediaKind {
        MediaKind::detect(&self.media_type, &self.body)
    }

    pub(super) fn text(&self) -> String {
        media::decode_text(&self.body, self.charset.as_deref())
    }

    pub(super) fn into_page(self, title: Option<String>, content: PageContent) -> WebPage {
        WebPage {
            url: self.url.into(),
            status: self.status,
            media_type: self.media_type,
            title,
            content,
        }
    }
}

/// Kitbag requests no compression, since a small response could become a huge one.
fn refuse_encoded(headers: &HeaderMap) -> Result<(), PageError> {
    match header_text(headers, &CONTENT_ENCODING) {
        "" | "identity" => Ok(()),
        encoding => Err(PageError::Encoded {
            encoding: encoding.to_owned(),
        }),
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> &'a str {
    let value = headers.get(name);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

pub(super) async fn read_body(response: Response) -> Result<Vec<u8>, PageError> {
    let body = kitbag_fetch::read_body(response, MAX_BYTES).await;
    body.map_err(|error| match error {
        BodyError::TooLarge { most } => PageError::TooLarge { max: most },
        BodyError::Lost(error) => PageError::Lost {
            reason: describe_error(error),
        },
    })
}
