//! The registry's API: a search by letters in names, and single entries.

use std::time::Duration;

use kitbag_fetch::{BodyError, cause, client, retry_after};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::StatusCode;
use url::Url;

use crate::entry::{Entry, Page};
use crate::error::RegistryError;
use crate::name::EntryName;
use crate::rank::{rank, words};

#[derive(Debug, Clone)]
pub struct Registry {
    http: reqwest::Client,
    base: Url,
    /// Where it is, without anything that could be a secret.
    place: String,
}

/// What a registry gives at most for one request.
const PER_PAGE: usize = 100;
/// Beyond these, a search is too vague to be ranked by reading on.
const PAGES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(20);
const MAX_ANSWER: usize = 16 * 1024 * 1024;
const MAX_MESSAGE: usize = 200;
/// How many names are worth suggesting.
const NEAR: usize = 3;
/// What may stand in a step of a path as it is.
const STEP: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Registry {
    /// The one of the MCP project.
    pub const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

    pub fn at(base: Url) -> Self {
        let http = client()
            // No redirect may lead to where anybody on the way could change the answer.
            .https_only(base.scheme() == "https")
            .build()
            .expect("the client is built from constants");
        let place = format!(
            "{}{}",
            base.origin().ascii_serialization(),
            base.path().trim_end_matches('/')
        );
        Self { http, base, place }
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    /// The servers that fit a text, best first. Where no name has all of it, its words are looked
    /// for one by one.
    pub async fn find(&self, text: &str) -> Result<Vec<Entry>, RegistryError> {
        let mut entries = self.search(text.trim(), PAGES).await?;
        let words = words(text);
        if entries.is_empty() && words.len() > 1 {
            // Two letters are in half of all names.
            for word in words.iter().filter(|word| word.chars().count() > 2) {
                entries.extend(self.search(word, 1).await?);
            }
        }
        Ok(rank(entries, text))
    }

    /// The latest version of a server, or the one that is named.
    pub async fn entry(
        &self,
        name: &EntryName,
        version: Option<&str>,
    ) -> Result<Entry, RegistryError> {
        let step = |text: &str| utf8_percent_encode(text, STEP).to_string();
        let path = format!(
            "{}/versions/{}",
            step(name.as_str()),
            step(version.unwrap_or("latest"))
        );
        match self.get(&path, &[]).await {
            Ok(body) => Entry::read(&body).map_err(|error| self.unreadable(&error)),
            Err(RegistryError::Refused { status: 404, .. }) => {
                Err(self.missing(name, version).await)
            }
            Err(error) => Err(error),
        }
    }

    /// The one server that somebody calls by its short name.
    pub async fn named(&self, short: &str) -> Result<Entry, RegistryError> {
        let found = self.find(short).await?;
        let is_it = |entry: &&Entry| entry.server.name.short().eq_ignore_ascii_case(short);
        let mut fitting = found.iter().filter(is_it);
        match (fitting.next(), fitting.next()) {
            (Some(entry), None) => Ok(entry.clone()),
            _ => Err(self.unknown(short, &found)),
        }
    }

    async fn search(&self, text: &str, pages: usize) -> Result<Vec<Entry>, RegistryError> {
        let mut entries = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..pages {
            let limit = PER_PAGE.to_string();
            let mut query = vec![("search", text), ("version", "latest"), ("limit", &limit)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = Page::read(&self.get("", &query).await?)
                .map_err(|error| self.unreadable(&error))?;
            entries.extend(page.entries);
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(entries)
    }

    /// Which of the two is missing, and what may have been meant.
    async fn missing(&self, name: &EntryName, version: Option<&str>) -> RegistryError {
        // The refusal is the news; a search that fails on top of it adds nothing.
        let found = self.find(name.short()).await.unwrap_or_default();
        match version {
            Some(version) if found.iter().any(|entry| entry.server.name == *name) => {
                let (place, version) = (self.place.clone(), version.to_owned());
                RegistryError::NoSuchVersion {
                    place,
                    name: name.clone(),
                    version,
                }
            }
            _ => self.unknown(name.as_str(), &found),
        }
    }

    fn unknown(&self, name: &str, found: &[Entry]) -> RegistryError {
        let near = found
            .iter()
            .take(NEAR)
            .map(|entry| entry.server.name.clone())
            .collect();
        RegistryError::NoSuchServer {
            place: self.place.clone(),
            name: name.to_owned(),
            near,
        }
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Vec<u8>, RegistryError> {
        let mut url = self.base.clone();
        let slash = if path.is_empty() { "" } else { "/" };
        url.set_path(&format!(
            "{}/v0.1/servers{slash}{path}",
            self.base.path().trim_end_matches('/')
        ));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let timed_out = || RegistryError::TimedOut {
            place: self.place.clone(),
            after: PATIENCE,
        };
        tokio::time::timeout(PATIENCE, self.exchange(url))
            .await
            .unwrap_or_else(|_| Err(timed_out()))
    }

    async fn exchange(&self, url: Url) -> Result<Vec<u8>, RegistryError> {
        let unreachable = |error| RegistryError::Unreachable {
            place: self.place.clone(),
            reason: cause(error),
        };
        let response = self.http.get(url).send().await.map_err(unreachable)?;
        let (status, again_after) = (response.status(), retry_after(response.headers()));
        let body = kitbag_fetch::body(response, MAX_ANSWER)
            .await
            .map_err(|error| match error {
                BodyError::Lost(error) => unreachable(error),
                too_large => self.unreadable(&too_large),
            })?;
        let place = self.place.clone();
        match status {
            status if status.is_success() => Ok(body),
            StatusCode::TOO_MANY_REQUESTS => Err(RegistryError::Busy { place, again_after }),
            status => Err(RegistryError::Refused {
                place,
                status: status.as_u16(),
                message: message(&body),
            }),
        }
    }

    fn unreadable(&self, reason: &impl ToString) -> RegistryError {
        RegistryError::Unreadable {
            place: self.place.clone(),
            reason: reason.to_string(),
        }
    }
}

/// What the registry says is wrong, in one of the shapes that are in use.
fn message(body: &[u8]) -> String {
    let parsed: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let said = ["detail", "error", "message", "title"]
        .iter()
        .find_map(|key| parsed.get(key)?.as_str());
    said.map(|said| format!(": {}", said.chars().take(MAX_MESSAGE).collect::<String>()))
        .unwrap_or_default()
}
