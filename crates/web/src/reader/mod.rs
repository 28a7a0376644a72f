//! Reads a page as text: raw, or its main part as Markdown.
//!
//! # Layout
//! - this file: the reader and its settings, and one reading from start to end
//! - `request`: the request for a page, over redirects
//! - `service`: a page through a reader service
//! - `media`: the kinds of content, and decoding text
//! - `markdown`: the main part of an HTML page as Markdown
//! - `bounds`: sanitises HTML for the parsers
//! - `error`: the failures, and their advice

mod bounds;
mod error;
mod markdown;
mod media;
mod request;
mod service;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kitbag_fetch::AddressGuard;
use reqwest::Client;
use tokio::sync::Semaphore;

use crate::RootCertificates;
use crate::address;

pub use error::PageError;
pub(crate) use error::REFUSED;
pub use service::ReaderService;

use markdown::MarkdownPage;
use media::MediaKind;
use request::FetchedPage;

/// For a whole reading, including redirects, body and Markdown.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Pages are far smaller; anything larger is a file or an attack.
const MAX_BYTES: usize = 10 * 1024 * 1024;
/// Each parser takes a core, and one whose caller has gone still ends by itself.
const PARSERS: usize = 2;

pub struct ReaderSettings {
    /// Allows or rejects each address that a page would be fetched from.
    pub guard: AddressGuard,
    /// Converts to Markdown instead of Kitbag, if configured.
    pub service: Option<ReaderService>,
    pub roots: RootCertificates,
    /// For everything from the request to the Markdown.
    pub timeout: Duration,
}

/// Reads pages. It has no cookies, sends no login and never retries.
pub struct PageReader {
    settings: ReaderSettings,
    /// Created for the first page: reading the machine's certificates takes a while.
    client: OnceLock<Client>,
    parsers: Arc<Semaphore>,
}

#[derive(Debug, Clone)]
pub struct PageRequest {
    pub url: String,
    pub format: PageFormat,
    /// A longer text is truncated.
    pub max_chars: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageFormat {
    /// The main part of an HTML page as Markdown; other text as it is.
    Markdown,
    /// The raw text, or the bytes of something other than text.
    Raw,
}

/// A page, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// After all redirects.
    pub url: String,
    pub status: u16,
    /// Such as `text/html`; empty if the site does not name it.
    pub media_type: String,
    pub title: Option<String>,
    pub content: PageContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageContent {
    Text {
        text: String,
        /// The number of characters truncated from its end.
        left_out: usize,
    },
    /// Content other than text. Only a raw page has it.
    Bytes(Vec<u8>),
}

impl ReaderSettings {
    /// Returns settings for pages wherever the guard allows, and nothing else.
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            guard,
            service: None,
            roots: RootCertificates::default(),
            timeout: TIMEOUT,
        }
    }

    fn client(&self) -> Client {
        kitbag_fetch::guarded_client(self.guard.clone())
            .https_only(true)
            .tls_certs_merge(self.roots.for_client())
            .build()
            .expect("the certificates were checked, and the rest are constants")
    }
}

impl PageReader {
    pub fn new(settings: ReaderSettings) -> Self {
        Self {
            settings,
            client: OnceLock::new(),
            parsers: Arc::new(Semaphore::new(PARSERS)),
        }
    }

    pub async fn read(&self, request: PageRequest) -> Result<WebPage, PageError> {
        let after = self.settings.timeout;
        let done = tokio::time::timeout(after, Box::pin(self.read_without_timeout(request))).await;
        done.unwrap_or(Err(PageError::TimedOut { after }))
    }

    fn client(&self) -> &Client {
        self.client.get_or_init(|| self.settings.client())
    }

    async fn read_without_timeout(&self, request: PageRequest) -> Result<WebPage, PageError> {
        let url = address::parse_address(&request.url)?;
        match (&self.settings.service, request.format) {
            (Some(service), PageFormat::Markdown) => {
                service
                    .read(url, &self.settings.guard, request.max_chars)
                    .await
            }
            (None, PageFormat::Markdown) => {
                let page = self.fetch(url, request::WANTS_MARKDOWN).await?;
                self.to_markdown(page, request.max_chars).await
            }
            (_, PageFormat::Raw) => {
                let page = self.fetch(url, request::WANTS_ANYTHING).await?;
                to_raw_page(page, request.max_chars)
            }
        }
    }

    async fn to_markdown(&self, page: FetchedPage, max_chars: usize) -> Result<WebPage, PageError> {
        match page.kind() {
            MediaKind::Html => {
                let (page, readable) = self.parse_blocking(page).await?;
                let MarkdownPage { title, markdown } = readable;
                Ok(page.into_page(title, PageContent::truncate(markdown, max_chars)))
            }
            MediaKind::Text => to_raw_page(page, max_chars),
            MediaKind::Pdf => Err(PageError::Pdf),
            MediaKind::Other => Err(PageError::NotText {
                media_type: page.media_type,
            }),
        }
    }

    /// Parses outside the threads that serve requests.
    async fn parse_blocking(
        &self,
        page: FetchedPage,
    ) -> Result<(FetchedPage, MarkdownPage), PageError> {
        let permit = Arc::clone(&self.parsers).acquire_owned().await;
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let readable = markdown::html_to_markdown(&page.text(), &page.url)?;
            Ok((page, readable))
        });
        task.await.unwrap_or(Err(PageError::Unparsable))
    }
}

fn to_raw_page(page: FetchedPage, max_chars: usize) -> Result<WebPage, PageError> {
    let content = match page.kind() {
        MediaKind::Html | MediaKind::Text => PageContent::truncate(page.text(), max_chars),
        MediaKind::Pdf | MediaKind::Other => to_bytes(&page, max_chars)?,
    };
    Ok(page.into_page(None, content))
}

/// Half a picture is useless, so bytes are never truncated.
fn to_bytes(page: &FetchedPage, max_chars: usize) -> Result<PageContent, PageError> {
    let chars = page.body.len().div_ceil(3) * 4;
    if chars > max_chars {
        let media_type = page.media_type.clone();
        return Err(PageError::TooManyChars {
            media_type,
            chars,
            max_chars,
        });
    }
    Ok(PageContent::Bytes(page.body.clone()))
}

impl PageContent {
    fn truncate(mut text: String, max_chars: usize) -> Self {
        let Some((end, _)) = text.char_indices().nth(max_chars) else {
            return Self::Text { text, left_out: 0 };
        };
        let left_out = text[end..].chars().count();
        text.truncate(end);
        Self::Text { text, left_out }
    }
}

impl fmt::Debug for ReaderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderSettings")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PageReader").field(&self.settings).finish()
    }
}
