//! A page through a reader service, which fetches it and converts it to Markdown.

use std::fmt;

use http::header::{ACCEPT, AUTHORIZATION};
use kitbag_domain::{Lookup, MissingVariable, Template};
use kitbag_fetch::guard::{self, ResolveError};
use kitbag_fetch::{AddressGuard, Secrets, describe_error};
use reqwest::{Client, RequestBuilder, Response};
use url::Url;

use super::error::PageError;
use super::{PageContent, WebPage, request};
use crate::address::origin_of;

/// A service that answers `GET {url}/{address of the page}` with Markdown, such as Jina's reader.
#[derive(Clone)]
pub struct ReaderService {
    /// The operator chose it, so it may be anywhere.
    url: Url,
    token: Option<Template>,
    /// Resolves the variables in the token for each page.
    lookup: Lookup,
    client: Client,
}

impl ReaderService {
    pub fn new(url: Url, token: Option<Template>, lookup: Lookup) -> Self {
        let client = kitbag_fetch::client_without_redirects().referer(false);
        Self {
            url,
            token,
            lookup,
            client: client.build().expect("the client is built from constants"),
        }
    }

    pub(super) async fn read(
        &self,
        page: Url,
        guard: &AddressGuard,
        max_chars: usize,
    ) -> Result<WebPage, PageError> {
        check_public(&page, guard).await?;
        let token = self.resolve_token()?;
        let sent = self.build_request(&page, token.as_deref()).send().await;
        let response = sent.map_err(|error| self.service_error(describe_error(error)))?;
        if !response.status().is_success() {
            return Err(self.service_error(format!("it answered with {}", response.status())));
        }
        let markdown = read_markdown(response, &token).await?;
        Ok(WebPage {
            url: page.into(),
            status: 200,
            media_type: "text/markdown".to_owned(),
            title: find_title(&markdown),
            content: PageContent::truncate(markdown, max_chars),
        })
    }

    fn resolve_token(&self) -> Result<Option<String>, MissingVariable> {
        let token = self.token.as_ref();
        token.map(|it| it.resolve(&*self.lookup)).transpose()
    }

    fn build_request(&self, page: &Url, token: Option<&str>) -> RequestBuilder {
        let base = self.url.as_str().trim_end_matches('/');
        let request = self.client.get(format!("{base}/{page}"));
        let request = request.header(ACCEPT, "text/plain");
        match token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    fn service_error(&self, reason: String) -> PageError {
        let service = origin_of(&self.url);
        PageError::Service { service, reason }
    }
}

/// The service might echo the token.
async fn read_markdown(response: Response, token: &Option<String>) -> Result<String, PageError> {
    let body = request::read_body(response).await?;
    let text = String::from_utf8_lossy(&body);
    Ok(Secrets::from_values(token).mask_text(&text).into_owned())
}

/// The name of a private host must not be sent to a third party's service.
async fn check_public(page: &Url, guard: &AddressGuard) -> Result<(), PageError> {
    guard::check_literal(page, guard)?;
    let Some(host) = page.domain() else {
        return Ok(());
    };
    match guard::resolve(host, 443, guard).await {
        Ok(_) => Ok(()),
        Err(ResolveError::Refused(refused)) => Err(refused.into()),
        Err(error @ ResolveError::Unknown(_)) => Err(PageError::Unreachable {
            origin: origin_of(page),
            reason: error.to_string(),
        }),
    }
}

/// Jina's reader begins its answer with such a line.
fn find_title(markdown: &str) -> Option<String> {
    let title = markdown.lines().next()?.strip_prefix("Title: ")?;
    Some(title.trim().to_owned())
}

impl fmt::Debug for ReaderService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReaderService({})", origin_of(&self.url))
    }
}
