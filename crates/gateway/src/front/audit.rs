//! `GET /v1/audit` returns the audit, page by page, to a caller who may read it.
//!
//! An operator and the person at this machine read everything. A tenant reads its own calls that
//! reached a server: what was refused before would tell it which hidden things exist.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use kitbag_domain::{Caller, KeyId, Outcome, Timestamp};
use kitbag_store::{AuditPage, AuditQuery, AuditRow};
use serde_json::{Value, json};

use super::auth;
use super::response::not_admitted;
use crate::audit::AuditLine;
use crate::audit::terms;
use crate::gateway::Gateway;

const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;

/// The parameters of the query, each as `name=value`. Some may be there more than once.
type QueryParameters = Vec<(String, String)>;

pub(super) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(asked): Query<QueryParameters>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let query = match query(&asked) {
        Ok(query) => narrowed(query, &caller),
        Err(reason) => return json_response(StatusCode::BAD_REQUEST, &json!({ "error": reason })),
    };
    let found = match query {
        Some(query) => gateway
            .services
            .store
            .audit(&query)
            .await
            .map(|rows| page(&rows, query.limit, &caller)),
        None => Ok(page(&[], PAGE, &caller)),
    };
    match found {
        Ok(page) => json_response(StatusCode::OK, &page),
        Err(error) => {
            tracing::warn!(%error, "the audit cannot be read");
            let told = json!({ "error": "the audit cannot be read at the moment" });
            json_response(StatusCode::SERVICE_UNAVAILABLE, &told)
        }
    }
}

fn query(asked: &QueryParameters) -> Result<AuditQuery, String> {
    let mut query = AuditQuery::newest(PAGE);
    for (name, value) in asked {
        let wrong = |why: &dyn std::fmt::Display| format!("`{name}={value}` cannot be used: {why}");
        match name.as_str() {
            "tenant" => query.tenant = Some(value.parse().map_err(|error| wrong(&error))?),
            "server" => query.server = Some(value.parse().map_err(|error| wrong(&error))?),
            "tool" => query.name = Some(value.clone()),
            "key" => query.key = Some(KeyId(value.clone())),
            "outcome" => query
                .outcomes
                .extend(terms::outcomes(value).map_err(|error| wrong(&error))?.0),
            "event" => query
                .kinds
                .push(terms::entry(value).map_err(|error| wrong(&error))?),
            "since" => query.since = Some(terms::start(value).map_err(|error| wrong(&error))?),
            "until" => query.until = Some(terms::start(value).map_err(|error| wrong(&error))?),
            "limit" => {
                query.limit = limit(value).ok_or_else(|| wrong(&"a number from 1 to 1000"))?;
            }
            "cursor" => {
                query.page = cursor(value).ok_or_else(|| wrong(&"take `next` of a page"))?;
            }
            _ => return Err(format!("there is no `{name}`; there are {KNOWN}")),
        }
    }
    Ok(query)
}

const KNOWN: &str = "tenant, server, tool, key, outcome, event, since, until, limit and cursor";

fn limit(text: &str) -> Option<u32> {
    text.parse()
        .ok()
        .filter(|limit| (1..=LARGEST_PAGE).contains(limit))
}

fn cursor(text: &str) -> Option<AuditPage> {
    let (at, id) = text.split_once('.')?;
    Some(AuditPage::OlderThan {
        at: Timestamp(at.parse().ok()?),
        id: id.parse().ok()?,
    })
}

/// Narrows the query to the rows that this caller may read. Returns `None` if the caller asks for
/// rows that it may not read.
fn narrowed(mut query: AuditQuery, caller: &Caller) -> Option<AuditQuery> {
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

fn page(rows: &[AuditRow], limit: u32, caller: &Caller) -> Value {
    let line = |row| {
        let mut line = AuditLine::of(row);
        // A tenant must not learn who has an account on this machine.
        line.actor = line.actor.filter(|_| caller.sees_all_tenants());
        line
    };
    let full = rows.len() == limit as usize;
    let next = rows
        .last()
        .filter(|_| full)
        .map(|last| format!("{}.{}", last.at.0, last.id));
    json!({ "rows": rows.iter().map(line).collect::<Vec<_>>(), "next": next })
}

fn json_response(status: StatusCode, body: &Value) -> HttpResponse {
    let kind = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let fresh = (CACHE_CONTROL, HeaderValue::from_static("no-store"));
    (status, [kind, fresh], body.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> QueryParameters {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn acme() -> Caller {
        Caller::user("acme".parse().unwrap(), KeyId("77".to_owned()))
    }

    #[test]
    fn a_tenant_reads_its_own_and_nothing_that_tells_hidden_from_missing() {
        let check = |pairs: &[(&str, &str)]| narrowed(query(&asked(pairs)).unwrap(), &acme());
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
        assert!(narrowed(query(&asked(&[("tenant", "globex")])).unwrap(), &operator).is_some());
    }

    #[test]
    fn what_cannot_be_asked_is_told() {
        for (name, value, told) in [
            ("tennant", "acme", "there is no `tennant`"),
            ("limit", "5000", "1 to 1000"),
            ("cursor", "x", "`next`"),
            ("outcome", "fine", "timed_out"),
            ("since", "soon", "2h"),
            ("server", "No Such", "No Such"),
        ] {
            let error = query(&asked(&[(name, value)])).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
