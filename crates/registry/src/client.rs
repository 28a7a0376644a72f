//! A client for the registry's API: searches by name, and fetches single entries.

use std::time::{Duration, SystemTime};

use kitbag_fetch::{BodyError, client, describe_error, retry_after};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::StatusCode;
use url::Url;

use crate::entry::{EntryPage, RegistryEntry};
use crate::error::RegistryError;
use crate::name::EntryName;
use crate::rank::{rank_entries, split_words};

#[derive(Debug, Clone)]
pub struct Registry {
    http: reqwest::Client,
    base: Url,
    /// The address without secrets.
    display_url: String,
}

/// The most entries that a registry returns for one request.
const PER_PAGE: usize = 100;
/// A search with more pages is too vague to rank.
const MAX_PAGES: usize = 3;
/// The user waits for the answer at the terminal.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// About a hundred times the size of a usual page.
const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
/// The most characters of the registry's message in an error.
const MAX_MESSAGE_CHARS: usize = 200;
/// The most names that an error suggests.
const MAX_SUGGESTIONS: usize = 3;
/// Encodes all characters but these in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Registry {
    /// The registry of the MCP project.
    pub const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

    pub fn new(base: Url) -> Self {
        let http = client()
            // Redirects to plain HTTP, where an attacker could change the answer, are not followed.
            .https_only(base.scheme() == "https")
            .build()
            .expect("the client is built from constants");
        let origin = base.origin().ascii_serialization();
        let display_url = format!("{origin}{}", base.path().trim_end_matches('/'));
        Self {
            http,
            base,
            display_url,
        }
    }

    pub fn display_url(&self) -> &str {
        &self.display_url
    }

    /// Returns the servers that match a text, best first. If no name contains all of it, its words
    /// are searched one by one.
    pub async fn find_servers(&self, text: &str) -> Result<Vec<RegistryEntry>, RegistryError> {
        let mut entries = self.search_names(text.trim(), MAX_PAGES).await?;
        let words = split_words(text);
        if entries.is_empty() && words.len() > 1 {
            // Half of all names contain any two letters.
            for word in words.iter().filter(|word| word.chars().count() > 2) {
                entries.extend(self.search_names(word, 1).await?);
            }
        }
        Ok(rank_entries(entries, text))
    }

    /// Returns the latest version of a server, or the specified one.
    pub async fn fetch_entry(
        &self,
        name: &EntryName,
        version: Option<&str>,
    ) -> Result<RegistryEntry, RegistryError> {
        match self.get_with_timeout(&entry_path(name, version), &[]).await {
            Ok(body) => {
                RegistryEntry::from_json(&body).map_err(|error| self.unreadable_error(&error))
            }
            Err(RegistryError::Refused { status: 404, .. }) => {
                Err(self.missing_error(name, version).await)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the only server with this short name.
    pub async fn find_by_short_name(&self, short: &str) -> Result<RegistryEntry, RegistryError> {
        let found = self.find_servers(short).await?;
        let mut fitting = found
            .iter()
            .filter(|entry| entry.server.name.short().eq_ignore_ascii_case(short));
        match (fitting.next(), fitting.next()) {
            (Some(entry), None) => Ok(entry.clone()),
            _ => Err(self.unknown_server_error(short, &found)),
        }
    }

    async fn search_names(
        &self,
        text: &str,
        pages: usize,
    ) -> Result<Vec<RegistryEntry>, RegistryError> {
        let limit = PER_PAGE.to_string();
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..pages {
            let mut query = vec![("search", text), ("version", "latest"), ("limit", &limit)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let body = self.get_with_timeout("", &query).await?;
            let page =
                EntryPage::from_json(&body).map_err(|error| self.unreadable_error(&error))?;
            entries.extend(page.entries);
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(entries)
    }

    /// Finds out whether the server or the version is missing, and which names are similar.
    async fn missing_error(&self, name: &EntryName, version: Option<&str>) -> RegistryError {
        // The error matters more than a failure of this search.
        let found = self.find_servers(name.short()).await.unwrap_or_default();
        match version {
            Some(version) if found.iter().any(|entry| entry.server.name == *name) => {
                RegistryError::NoSuchVersion {
                    url: self.display_url.clone(),
                    name: name.clone(),
                    version: version.to_owned(),
                }
            }
            _ => self.unknown_server_error(name.as_str(), &found),
        }
    }

    fn unknown_server_error(&self, name: &str, found: &[RegistryEntry]) -> RegistryError {
        let near = found.iter().take(MAX_SUGGESTIONS);
        let near = near.map(|entry| entry.server.name.clone()).collect();
        RegistryError::NoSuchServer {
            url: self.display_url.clone(),
            name: name.to_owned(),
            near,
        }
    }

    async fn get_with_timeout(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<u8>, RegistryError> {
        let asking = self.send_get(self.build_url(path, query));
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, asking).await;
        answer.unwrap_or_else(|_| {
            Err(RegistryError::TimedOut {
                url: self.display_url.clone(),
                after: REQUEST_TIMEOUT,
            })
        })
    }

    fn build_url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        let base = self.base.path().trim_end_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        url.set_path(&format!("{base}/v0.1/servers{slash}{path}"));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    async fn send_get(&self, url: Url) -> Result<Vec<u8>, RegistryError> {
        let response = self.http.get(url).send().await;
        let response = response.map_err(|error| self.unreachable_error(error))?;
        let (status, again_after) = (
            response.status(),
            retry_after(response.headers(), SystemTime::now()),
        );
        let body = self.read_body(response).await?;
        if status.is_success() {
            return Ok(body);
        }
        let url = self.display_url.clone();
        Err(match status {
            StatusCode::TOO_MANY_REQUESTS => RegistryError::Busy { url, again_after },
            status => RegistryError::Refused {
                url,
                status: status.as_u16(),
                message: find_message(&body),
            },
        })
    }

    async fn read_body(&self, response: reqwest::Response) -> Result<Vec<u8>, RegistryError> {
        let body = kitbag_fetch::read_body(response, MAX_RESPONSE_BYTES).await;
        body.map_err(|error| match error {
            BodyError::Lost(error) => self.unreachable_error(error),
            too_large => self.unreadable_error(&too_large),
        })
    }

    fn unreachable_error(&self, error: reqwest::Error) -> RegistryError {
        RegistryError::Unreachable {
            url: self.display_url.clone(),
            reason: describe_error(error),
        }
    }

    fn unreadable_error(&self, reason: &impl ToString) -> RegistryError {
        RegistryError::Unreadable {
            url: self.display_url.clone(),
            reason: reason.to_string(),
        }
    }
}

fn entry_path(name: &EntryName, version: Option<&str>) -> String {
    let name = utf8_percent_encode(name.as_str(), SEGMENT);
    let version = utf8_percent_encode(version.unwrap_or("latest"), SEGMENT);
    format!("{name}/versions/{version}")
}

/// Extracts the registry's message from any of the common formats.
fn find_message(body: &[u8]) -> String {
    let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let mut keys = ["detail", "error", "message", "title"].iter();
    match keys.find_map(|key| parsed.get(key)?.as_str()) {
        Some(message) => format!(
            ": {}",
            message.chars().take(MAX_MESSAGE_CHARS).collect::<String>()
        ),
        None => String::new(),
    }
}
