//! The HTTP endpoint: the addresses, what answers at each, and the way in to MCP.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRef, Path, Request as HttpRequest, State};
use axum::middleware;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::{any, get, post};
use http::{Method, StatusCode};
use kitbag_wire::Era;

use super::admitted::AdmittedRequest;
use super::response::{json, not_admitted, not_allowed, refuse_at_door};
use super::{access, audit, auth, context, feedback, metrics, models, ready, retrieve, tokens};
use crate::call::failure::Failure;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;
use crate::turn::view::McpEndpoint;

pub(super) fn router(host: Arc<GatewayHost>) -> Router {
    Router::new()
        .route("/mcp", any(main))
        .route("/mcp/{surface}", any(surface))
        .route("/servers/{name}/mcp", any(one))
        .route("/v1/retrieve", post(retrieve::answer))
        .route("/v1/context", post(context::answer))
        .route("/anthropic", any(models::anthropic))
        .route("/anthropic/", any(models::anthropic))
        .route("/anthropic/{*path}", any(models::anthropic))
        .route("/openai", any(models::openai))
        .route("/openai/", any(models::openai))
        .route("/openai/{*path}", any(models::openai))
        .route("/v1/tokens", get(tokens::tokens))
        .route("/v1/audit", get(audit::answer))
        .route("/admin/feedback", get(feedback::answer))
        .route("/metrics", get(metrics::metrics))
        .route("/health", get(health))
        .route("/ready", get(ready::ready))
        .route("/readyz", get(ready::ready))
        .route("/openapi.json", get(openapi))
        .fallback(nowhere)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(
            HttpState(host.clone()),
            access::layer,
        ))
        .with_state(HttpState(host))
}

/// Every request is handed the [`Gateway`] that is in use when the request comes in.
#[derive(Clone)]
struct HttpState(Arc<GatewayHost>);

impl FromRef<HttpState> for Arc<Gateway> {
    fn from_ref(HttpState(host): &HttpState) -> Self {
        host.gateway()
    }
}

async fn main(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    enter(gateway, peer, request, McpEndpoint::Main).await
}

async fn surface(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(surface) => enter(gateway, peer, request, McpEndpoint::Surface(surface)).await,
        Err(_) => nowhere().await,
    }
}

async fn one(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(server) => enter(gateway, peer, request, McpEndpoint::Server(server)).await,
        Err(_) => refuse_at_door(None, Era::Legacy, &Failure::UnknownServer { server: name }),
    }
}

/// Answers the program that keeps this process alive. The answer tells nothing, so no caller needs
/// a key for it.
async fn health() -> &'static str {
    "ok\n"
}

/// Returns the description of everything there is beside MCP, for programs that write clients.
async fn openapi() -> HttpResponse {
    const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");
    json(StatusCode::OK, DESCRIPTION)
}

async fn nowhere() -> HttpResponse {
    let text = "Nothing here. MCP is at /mcp, /mcp/{search,adaptive,code,all} and /servers/{name}/mcp; \
                tools for an intent are at /v1/retrieve, words of a person go to /v1/context, \
                models are behind /anthropic/ and /openai/, \
                figures at /v1/tokens and /metrics, what happened at /v1/audit, reports of agents at \
                /admin/feedback, and how it does at /health \
                and /ready.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn enter(
    gateway: Arc<Gateway>,
    peer: SocketAddr,
    request: HttpRequest,
    door: McpEndpoint,
) -> HttpResponse {
    let caller = match auth::admit(&gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let catalog = gateway.catalog();
    if let McpEndpoint::Server(server) = &door
        && (gateway.upstreams.get(server).is_none()
            || !gateway.is_server_visible(&catalog, &caller, server))
    {
        let failure = Failure::UnknownServer {
            server: server.to_string(),
        };
        return refuse_at_door(None, Era::Legacy, &failure);
    }
    let origin = access::origin(peer, request.headers());
    let visit = AdmittedRequest {
        gateway,
        catalog,
        caller,
        door,
        origin,
    };
    match *request.method() {
        Method::POST => visit.post(request).await,
        Method::GET => visit.get(request.headers()),
        Method::DELETE => visit.delete(request.headers()).await,
        _ => not_allowed(),
    }
}
