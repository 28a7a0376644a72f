//! `GET /admin/feedback` returns the reports of agents, page by page, to an operator.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response as HttpResponse;
use http::{HeaderMap, StatusCode};
use kitbag_platform::feedback::reading;
use serde_json::json;

use super::auth;
use super::response::{not_admitted, uncached_json};
use crate::state::gateway::Gateway;

pub(super) async fn answer(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(asked): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    if !caller.sees_all_tenants() {
        return told(
            StatusCode::FORBIDDEN,
            "reports are for operators: make a key with `kitbag key create --role operator`",
        );
    }
    let query = match reading::asked(&asked) {
        Ok(query) => query,
        Err(reason) => return told(StatusCode::BAD_REQUEST, &reason),
    };
    match gateway.services.store.feedback(&query).await {
        Ok(found) => uncached_json(StatusCode::OK, &reading::page(found, &query)),
        Err(error) => {
            tracing::warn!(%error, "feedback cannot be read");
            let reason = "feedback cannot be read at the moment";
            told(StatusCode::SERVICE_UNAVAILABLE, reason)
        }
    }
}

fn told(status: StatusCode, reason: &str) -> HttpResponse {
    uncached_json(status, &json!({ "error": reason }))
}
