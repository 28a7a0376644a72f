//! `GET /v1/audit` returns the audit, page by page, to callers who may read it.
//!
//! An operator and the local user read everything. A tenant reads its own calls that reached a
//! server: rejected calls would reveal which hidden capabilities exist.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response as HttpResponse;
use http::{HeaderMap, StatusCode};
use kitbag_domain::{Caller, Outcome};
use kitbag_store::{AuditQuery, AuditRow};
use serde_json::{Value, json};

use super::auth;
use super::response::{reject_caller, uncached_json};
use crate::state::gateway::Gateway;
use crate::telemetry::audit::AuditLine;
use crate::telemetry::audit::parameters::{self, QueryParameters, parse_query};

const PAGE: u32 = 100;

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
    let query = match parse_query(&parameters, PAGE) {
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
        .map(|last| parameters::to_cursor(last.at, last.id));
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
    use kitbag_domain::KeyId;

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
            narrow_to_caller(parse_query(&parameters(pairs), PAGE).unwrap(), &acme())
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
                parse_query(&parameters(&[("tenant", "globex")]), PAGE).unwrap(),
                &operator
            )
            .is_some()
        );
    }
}
