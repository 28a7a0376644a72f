//! The parameters of a query of the audit, as `GET /v1/audit` and the page of calls take them.

use std::fmt;

use kitbag_domain::{KeyId, Timestamp};
use kitbag_store::{AuditPage, AuditQuery};

use super::filters;

/// The query parameters as `name=value`, possibly repeated.
pub type QueryParameters = Vec<(String, String)>;

const LARGEST_PAGE: u32 = 1000;

/// Parses the parameters. The error names the invalid one. `limit` applies if none is given.
pub fn parse_query(parameters: &QueryParameters, limit: u32) -> Result<AuditQuery, String> {
    let mut query = AuditQuery::newest(limit);
    for parameter in parameters {
        let (name, value) = parameter;
        match name.as_str() {
            "tenant" => query.tenant = Some(parse_parameter(parameter, str::parse)?),
            "client" => query.client = Some(value.clone()),
            "server" => query.server = Some(parse_parameter(parameter, str::parse)?),
            "tool" => query.name = Some(value.clone()),
            "key" => query.key = Some(KeyId(value.clone())),
            "run" => query.run = Some(value.clone()),
            "outcome" => query
                .outcomes
                .extend(parse_parameter(parameter, filters::parse_outcomes)?.0),
            "event" => query
                .kinds
                .push(parse_parameter(parameter, filters::parse_row_kind)?),
            "since" => query.since = Some(parse_parameter(parameter, filters::parse_time)?),
            "until" => query.until = Some(parse_parameter(parameter, filters::parse_time)?),
            "limit" => query.limit = parse_parameter(parameter, parse_limit)?,
            "cursor" => query.page = parse_parameter(parameter, parse_cursor)?,
            _ => {
                return Err(format!(
                    "unknown parameter `{name}`; expected one of {KNOWN}"
                ));
            }
        }
    }
    Ok(query)
}

fn parse_parameter<T, E: fmt::Display>(
    (name, value): &(String, String),
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, String> {
    read(value).map_err(|why| format!("invalid `{name}={value}`: {why}"))
}

const KNOWN: &str =
    "tenant, client, server, tool, key, run, outcome, event, since, until, limit, cursor";

fn parse_limit(text: &str) -> Result<u32, &'static str> {
    let limit = text.parse().ok();
    limit
        .filter(|limit| (1..=LARGEST_PAGE).contains(limit))
        .ok_or("expected a number from 1 to 1000")
}

fn parse_cursor(text: &str) -> Result<AuditPage, &'static str> {
    older_than(text).ok_or("expected the value of `next` from an earlier page")
}

fn older_than(cursor: &str) -> Option<AuditPage> {
    let (at, id) = cursor.split_once('.')?;
    Some(AuditPage::OlderThan {
        at: Timestamp(at.parse().ok()?),
        id: id.parse().ok()?,
    })
}

/// Returns the cursor of the rows that are older than one.
pub fn to_cursor(at: Timestamp, id: i64) -> String {
    format!("{}.{id}", at.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(pairs: &[(&str, &str)]) -> QueryParameters {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn calls_can_be_filtered_by_run_and_client() {
        let found = parse_query(&parameters(&[("run", "5ea7")]), 9).unwrap();
        assert_eq!((found.run.as_deref(), found.limit), (Some("5ea7"), 9));
        let found = parse_query(&parameters(&[("client", "Cursor 1"), ("limit", "7")]), 9).unwrap();
        assert_eq!(
            (found.client.as_deref(), found.limit),
            (Some("Cursor 1"), 7)
        );
    }

    #[test]
    fn invalid_parameters_are_reported() {
        for (name, value, expected) in [
            ("tennant", "acme", "unknown parameter `tennant`"),
            ("limit", "5000", "1 to 1000"),
            ("cursor", "x", "`next`"),
            ("outcome", "fine", "timed_out"),
            ("since", "soon", "2h"),
            ("server", "No Such", "No Such"),
        ] {
            let error = parse_query(&parameters(&[(name, value)]), 9).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_cursor_names_the_next_page() {
        let cursor = to_cursor(Timestamp(5), 7);
        let found = parse_query(&parameters(&[("cursor", &cursor)]), 9).unwrap();
        let (at, id) = (Timestamp(5), 7);
        assert_eq!(found.page, AuditPage::OlderThan { at, id });
    }
}
