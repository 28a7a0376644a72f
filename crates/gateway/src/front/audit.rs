//! `GET /v1/audit` returns the audit, page by page, to callers who may read it.
//!
//! An operator and the local user read everything. A tenant reads its own calls that reached a
//! server: rejected calls would reveal which hidden capabilities exist.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response as HttpResponse;
use http::{HeaderMap, StatusCode};
use kitbag_domain::{Caller, KeyId, Outcome, Timestamp};
use kitbag_store::{AuditPage, AuditQuery, AuditRow};
use serde_json::{Value, json};

use super::auth;
use super::response::{reject_caller, uncached_json};
use crate::state::gateway::Gateway;
use crate::telemetry::audit::AuditLine;
use crate::telemetry::audit::filters;

const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;

/// The query parameters as `name=value`, possibly repeated.
type QueryParameters = Vec<(String, String)>;

pub(super) async fn get_audit(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(parameters): Query<QueryParameters>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(rejection) => return reject_caller(&rejection),
    };
    let query = match parse_query(&parameters) {
        Ok(query) => narrow_to_caller(query, &caller),
        Err(reason) => return uncached_json(StatusCode::BAD_REQUEST, &json!({ "error": reason })),
    };
    let found = match query {
        Some(query) => gateway
            .services
            .store
            .read_audit(&query)
            .await
            .map(|rows| page_json(&rows, query.limit, &caller)),
        None => Ok(page_json(&[], PAGE, &caller)),
    };
    match found {
        Ok(page) => uncached_json(StatusCode::OK, &page),
        Err(error) => {
            tracing::warn!(%error, "failed to read the audit");
            let body = json!({ "error": "the audit is unavailable at the moment" });
            uncached_json(StatusCode::SERVICE_UNAVAILABLE, &body)
        }
    }
}

fn parse_query(parameters: &QueryParameters) -> Result<AuditQuery, String> {
    let mut query = AuditQuery::newest(PAGE);
    for parameter in parameters {
        let (name, value) = parameter;
        match name.as_str() {
            "tenant" => query.tenant = Some(parse_parameter(parameter, str::parse)?),
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

const KNOWN: &str = "tenant, server, tool, key, run, outcome, event, since, until, limit, cursor";

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

/// Narrows the query to the rows that this caller may read. Returns `None` if the caller requests
/// rows that it may not read.
fn narrow_to_caller(mut query: AuditQuery, caller: &Caller) -> Option<AuditQuery> {
    if caller.sees_all_tenants() {
        return Some(query);
    }
    if query
        .tenant
        .as_ref()
        .is_some_and(|tenant| *tenant != caller.tenant)
    {
        return None;
    }
    query.tenant = Some(caller.tenant.clone());
    if query.outcomes.is_empty() {
        query.outcomes = Outcome::ALL.to_vec();
    }
    query
        .outcomes
        .retain(|outcome| !matches!(outcome, Outcome::Denied | Outcome::Invalid));
    (!query.outcomes.is_empty()).then_some(query)
}

fn page_json(rows: &[AuditRow], limit: u32, caller: &Caller) -> Value {
    let lines: Vec<_> = rows.iter().map(|row| to_line(row, caller)).collect();
    let full = rows.len() == limit as usize;
    let next = rows
        .last()
        .filter(|_| full)
        .map(|last| format!("{}.{}", last.at.0, last.id));
    json!({ "rows": lines, "next": next })
}

/// A tenant must not learn the user names of this machine.
fn to_line<'a>(row: &'a AuditRow, caller: &Caller) -> AuditLine<'a> {
    let line = AuditLine::from_row(row);
    AuditLine {
        actor: line.actor.filter(|_| caller.sees_all_tenants()),
        ..line
    }
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

    fn acme() -> Caller {
        Caller::user("acme".parse().unwrap(), KeyId("77".to_owned()))
    }

    #[test]
    fn a_tenant_reads_only_its_own_calls_that_reached_a_server() {
        let check = |pairs: &[(&str, &str)]| {
            narrow_to_caller(parse_query(&parameters(pairs)).unwrap(), &acme())
        };
        let all = check(&[]).unwrap();
        assert_eq!(all.tenant.unwrap().as_str(), "acme");
        assert!(all.outcomes.contains(&Outcome::Ok) && !all.outcomes.contains(&Outcome::Denied));
        assert!(!all.outcomes.contains(&Outcome::Invalid));
        assert!(check(&[("tenant", "globex")]).is_none());
        assert!(check(&[("outcome", "denied")]).is_none());
        assert!(
            check(&[("outcome", "denied"), ("outcome", "ok")])
                .unwrap()
                .outcomes
                == [Outcome::Ok]
        );
        let operator = Caller::operator(KeyId("1".to_owned()));
        assert!(
            narrow_to_caller(
                parse_query(&parameters(&[("tenant", "globex")])).unwrap(),
                &operator
            )
            .is_some()
        );
    }

    #[test]
    fn calls_can_be_filtered_by_run() {
        let found = parse_query(&parameters(&[("run", "5ea7")])).unwrap();
        assert_eq!(found.run.as_deref(), Some("5ea7"));
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
            let error = parse_query(&parameters(&[(name, value)])).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
