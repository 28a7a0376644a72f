//! The HTTP endpoint: its routes, and the entry to MCP.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRef, Path, Request as HttpRequest, State};
use axum::middleware;
use axum::response::{IntoResponse, Redirect, Response as HttpResponse};
use axum::routing::{any, get, post};
use http::{Method, StatusCode};
use kitbag_wire::Era;

use super::response::{json_response, method_not_allowed, reject_caller, reject_request};
use super::streamable_http::AdmittedRequest;
use super::{access_log, audit, auth, context, feedback, metrics, models, ready, retrieve, tokens};
use crate::call::failure::Failure;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;
use crate::turn::view::McpEndpoint;

/// Returns the routes of MCP and of programs, and the given pages.
pub(super) fn router(host: Arc<GatewayHost>, pages: Router) -> Router {
    Router::new()
        .route("/", get(to_pages).fallback(not_found))
        .route("/mcp", any(serve_main))
        .route("/mcp/{surface}", any(serve_surface))
        .route("/servers/{name}/mcp", any(serve_single_server))
        .route("/v1/retrieve", post(retrieve::post_retrieve))
        .route("/v1/context", post(context::post_context))
        .route("/anthropic", any(models::anthropic))
        .route("/anthropic/", any(models::anthropic))
        .route("/anthropic/{*path}", any(models::anthropic))
        .route("/openai", any(models::openai))
        .route("/openai/", any(models::openai))
        .route("/openai/{*path}", any(models::openai))
        .route("/v1/tokens", get(tokens::get_tokens))
        .route("/v1/audit", get(audit::get_audit))
        .route("/admin/feedback", get(feedback::get_feedback))
        .route("/metrics", get(metrics::get_metrics))
        .route("/health", get(health))
        .route("/ready", get(ready::get_ready))
        .route("/readyz", get(ready::get_ready))
        .route("/openapi.json", get(openapi))
        .merge(pages.with_state(()))
        .fallback(not_found)
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(
            HttpState(host.clone()),
            access_log::log_request,
        ))
        .with_state(HttpState(host))
}

/// Gives every request the [`Gateway`] that is current when the request arrives.
#[derive(Clone)]
struct HttpState(Arc<GatewayHost>);

impl FromRef<HttpState> for Arc<Gateway> {
    fn from_ref(HttpState(host): &HttpState) -> Self {
        host.gateway()
    }
}

async fn serve_main(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    serve_mcp(gateway, peer, request, McpEndpoint::Main).await
}

async fn serve_surface(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(surface) => serve_mcp(gateway, peer, request, McpEndpoint::Surface(surface)).await,
        Err(_) => not_found().await,
    }
}

async fn serve_single_server(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(name): Path<String>,
    request: HttpRequest,
) -> HttpResponse {
    match name.parse() {
        Ok(server) => serve_mcp(gateway, peer, request, McpEndpoint::Server(server)).await,
        Err(_) => reject_request(None, Era::Legacy, &Failure::UnknownServer { server: name }),
    }
}

/// The liveness probe. The answer reveals nothing, so no key is needed.
async fn health() -> &'static str {
    "ok\n"
}

/// Returns the description of all endpoints other than MCP, for authors of clients.
async fn openapi() -> HttpResponse {
    const DESCRIPTION: &str = include_str!("../../../../docs/openapi.json");
    json_response(StatusCode::OK, DESCRIPTION)
}

/// A person who types the address of the gateway wants its pages.
async fn to_pages() -> Redirect {
    Redirect::to("/ui")
}

async fn not_found() -> HttpResponse {
    let text = "Nothing here. The web pages are at /ui. MCP is at /mcp, /mcp/{search,adaptive,code,all} and /servers/{name}/mcp; \
                tool retrieval is at /v1/retrieve, user prompts go to /v1/context, \
                models are behind /anthropic/ and /openai/, \
                figures are at /v1/tokens and /metrics, the audit at /v1/audit, agents' reports at \
                /admin/feedback, and the state at /health \
                and /ready.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

async fn serve_mcp(
    gateway: Arc<Gateway>,
    peer: SocketAddr,
    request: HttpRequest,
    endpoint: McpEndpoint,
) -> HttpResponse {
    let caller = match auth::admit_user(&gateway, peer, request.headers()).await {
        Ok(caller) => caller,
        Err(rejection) => return reject_caller(&rejection),
    };
    let catalog = gateway.catalog();
    if let McpEndpoint::Server(server) = &endpoint
        && (gateway.upstreams.get(server).is_none()
            || !gateway.is_server_visible(&catalog, &caller, server))
    {
        let failure = Failure::UnknownServer {
            server: server.to_string(),
        };
        return reject_request(None, Era::Legacy, &failure);
    }
    let origin = access_log::request_origin(peer, request.headers());
    let mcp_request = AdmittedRequest {
        gateway,
        catalog,
        caller,
        endpoint,
        origin,
    };
    match *request.method() {
        Method::POST => mcp_request.handle_post(request).await,
        Method::GET => mcp_request.handle_get(request.headers()),
        Method::DELETE => mcp_request.handle_delete(request.headers()).await,
        _ => method_not_allowed(),
    }
}
