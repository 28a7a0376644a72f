//! Reads an OpenAPI document from a file or a public https URL.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use kitbag_fetch::{AddressGuard, describe_error, guard, guarded_client, redirect};
use kitbag_gateway::state::address_guard::address_guard;
use kitbag_policy::AddressRules;
use reqwest::{Client, Response};
use url::Url;

use crate::cli::failure::Advise as _;

/// In bytes. The largest public documents have 12 million.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Large documents take long to download.
const TIMEOUT: Duration = Duration::from_secs(120);
/// More than legitimate URLs need.
const MAX_REDIRECTS: usize = 5;

/// Reads the document from a path or URL.
pub(super) async fn read_document(spec: &str) -> anyhow::Result<String> {
    if spec.contains("://") {
        let url = Url::parse(spec).with_context(|| format!("invalid URL `{spec}`"))?;
        return fetch(url).await.advise(|| {
            "download the document yourself and pass the file: kitbag tools import FILE".to_owned()
        });
    }
    let size = fs::metadata(spec).with_context(|| format!("cannot read {spec}"))?;
    if size.len() > MAX_BYTES as u64 {
        bail!("{spec} is larger than {MAX_BYTES} bytes");
    }
    fs::read_to_string(spec).with_context(|| format!("{spec} is not UTF-8 text"))
}

async fn fetch(mut url: Url) -> anyhow::Result<String> {
    let guard = address_guard(AddressRules::default());
    let client = guarded_client(guard.clone()).timeout(TIMEOUT).build()?;
    for _ in 0..=MAX_REDIRECTS {
        let answer = request(&client, &url, &guard).await?;
        match redirect::redirect_location(&answer)? {
            Some(location) => {
                let next = url.join(&location);
                url = next.with_context(|| format!("{url} redirects to an invalid URL"))?;
            }
            None => return read_body(answer, &url).await,
        }
    }
    Err(anyhow!("{url} redirects too often"))
}

/// Requests a URL, checking it first: it was typed or comes from a redirect.
async fn request(client: &Client, url: &Url, guard: &AddressGuard) -> anyhow::Result<Response> {
    if url.scheme() != "https" {
        bail!("{url} does not use https");
    }
    guard::check_literal(url, guard)?;
    match client.get(url.clone()).send().await {
        Ok(answer) => Ok(answer),
        Err(error) => match guard::find_refusal(&error) {
            Some(refused) => Err(refused.clone().into()),
            None => Err(anyhow!("cannot fetch {url}: {}", describe_error(error))),
        },
    }
}

async fn read_body(answer: Response, url: &Url) -> anyhow::Result<String> {
    if !answer.status().is_success() {
        bail!("{url} responded with {}", answer.status());
    }
    let body = kitbag_fetch::read_body(answer, MAX_BYTES).await;
    let body = body.with_context(|| format!("cannot fetch {url}"))?;
    String::from_utf8(body).with_context(|| format!("{url} is not UTF-8 text"))
}
