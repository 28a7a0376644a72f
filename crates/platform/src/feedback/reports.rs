//! Reports as operators query and read them: `kitbag feedback` and `GET /admin/feedback`.

use std::fmt;

use kitbag_domain::Tenant;
use kitbag_store::{FeedbackQuery, StoredFeedback};
use serde::Serialize;
use serde_json::{Value, json};

use super::FeedbackKind;
use crate::moment;

const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;

/// A report as `kitbag feedback` and `GET /admin/feedback` show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FeedbackLine {
    pub id: i64,
    /// `open` or `resolved`.
    pub status: &'static str,
    pub kind: String,
    pub severity: Option<String>,
    pub summary: String,
    pub details: Option<String>,
    pub tool: Option<String>,
    pub tenant: Tenant,
    pub key: Option<String>,
    pub client: Option<String>,
    pub at: String,
    pub resolved_at: Option<String>,
    /// The note of the operator who resolved it.
    pub resolution: Option<String>,
}

impl FeedbackLine {
    pub fn from_stored(stored: StoredFeedback) -> Self {
        let feedback = stored.feedback;
        let (resolved_at, resolution) = match stored.resolved {
            Some(resolved) => (Some(moment::to_rfc3339(resolved.at)), resolved.note),
            None => (None, None),
        };
        Self {
            id: stored.id,
            status: match resolved_at {
                Some(_) => "resolved",
                None => "open",
            },
            kind: feedback.kind,
            severity: feedback.severity,
            summary: feedback.summary,
            details: feedback.details,
            tool: feedback.tool.map(|tool| tool.to_string()),
            tenant: feedback.tenant,
            key: feedback.key.map(|key| key.0),
            client: feedback.client.map(|client| client.to_string()),
            at: moment::to_rfc3339(feedback.at),
            resolved_at,
            resolution,
        }
    }
}

/// Parses the parameters of `GET /admin/feedback`. The error names the invalid one.
pub fn parse_query(parameters: &[(String, String)]) -> Result<FeedbackQuery, String> {
    let mut query = FeedbackQuery {
        limit: PAGE,
        ..FeedbackQuery::default()
    };
    for (name, value) in parameters {
        parse_parameter(&mut query, name, value)?;
    }
    Ok(query)
}

fn parse_parameter(query: &mut FeedbackQuery, name: &str, value: &str) -> Result<(), String> {
    match name {
        "status" => query.open = Some(parse_status(value).map_err(invalid_parameter(name, value))?),
        "kind" => query.kind = Some(parse_kind(value).map_err(invalid_parameter(name, value))?),
        "tenant" => query.tenant = Some(value.parse().map_err(invalid_parameter(name, value))?),
        "limit" => query.limit = parse_limit(value).map_err(invalid_parameter(name, value))?,
        "cursor" => {
            query.before_id = Some(parse_cursor(value).map_err(invalid_parameter(name, value))?);
        }
        _ => {
            let known = "status, kind, tenant, limit and cursor";
            return Err(format!(
                "unknown parameter `{name}`; the parameters are {known}"
            ));
        }
    }
    Ok(())
}

fn invalid_parameter<E: fmt::Display>(name: &str, value: &str) -> impl FnOnce(E) -> String {
    move |why| format!("invalid `{name}={value}`: {why}")
}

fn parse_status(text: &str) -> Result<bool, &'static str> {
    match text {
        "open" => Ok(true),
        "resolved" => Ok(false),
        _ => Err("expected `open` or `resolved`"),
    }
}

fn parse_kind(text: &str) -> Result<String, String> {
    let kind = FeedbackKind::parse(text).ok_or_else(list_kinds)?;
    Ok(kind.as_str().to_owned())
}

fn parse_limit(text: &str) -> Result<u32, &'static str> {
    let limit = text.parse().ok();
    limit
        .filter(|limit| (1..=LARGEST_PAGE).contains(limit))
        .ok_or("expected a number from 1 to 1000")
}

fn parse_cursor(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| "expected `next` from a page")
}

fn list_kinds() -> String {
    let words: Vec<&str> = FeedbackKind::ALL.iter().map(|kind| kind.as_str()).collect();
    format!("expected one of {}", words.join(", "))
}

/// Returns a page of reports. `next` is the cursor for the next page.
pub fn to_page(found: Vec<StoredFeedback>, query: &FeedbackQuery) -> Value {
    let full = found.len() == query.limit as usize;
    let next = found
        .last()
        .filter(|_| full)
        .map(|last| last.id.to_string());
    let lines: Vec<FeedbackLine> = found.into_iter().map(FeedbackLine::from_stored).collect();
    json!({ "feedback": lines, "next": next })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Vec<(String, String)> {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn valid_parameters_are_parsed_and_others_are_reported() {
        let query = parse_query(&parameters(
            "status=open&kind=bug&tenant=acme&limit=5&cursor=7",
        ));
        let expected = FeedbackQuery {
            limit: 5,
            tenant: "acme".parse().ok(),
            kind: Some("bug".to_owned()),
            open: Some(true),
            before_id: Some(7),
        };
        assert_eq!(query.unwrap(), expected);
        for (text, told) in [
            ("status=done", "expected `open` or `resolved`"),
            ("kind=rant", "missing_capability"),
            ("tenant=No One", "is not a tenant name"),
            ("limit=0", "1 to 1000"),
            ("cursor=x", "`next`"),
            ("category=bug", "unknown parameter `category`"),
        ] {
            let error = parse_query(&parameters(text)).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
