//! `GET /admin/feedback` returns the feedback reports of agents, page by page, to an operator.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response as HttpResponse;
use http::{HeaderMap, StatusCode};
use kitbag_platform::feedback::reports;
use serde_json::json;

use super::auth;
use super::response::{reject_caller, uncached_json};
use crate::state::gateway::Gateway;

pub(super) async fn get_feedback(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(parameters): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(rejection) => return reject_caller(&rejection),
    };
    if !caller.sees_all_tenants() {
        return error_response(
            StatusCode::FORBIDDEN,
            "only operators may read reports; create a key with `kitbag key create --role operator`",
        );
    }
    let query = match reports::parse_query(&parameters) {
        Ok(query) => query,
        Err(reason) => return error_response(StatusCode::BAD_REQUEST, &reason),
    };
    match gateway.services.store.list_feedback(&query).await {
        Ok(found) => uncached_json(StatusCode::OK, &reports::to_page(found, &query)),
        Err(error) => {
            tracing::warn!(%error, "failed to read feedback");
            let reason = "feedback is unavailable at the moment";
            error_response(StatusCode::SERVICE_UNAVAILABLE, reason)
        }
    }
}

fn error_response(status: StatusCode, reason: &str) -> HttpResponse {
    uncached_json(status, &json!({ "error": reason }))
}
