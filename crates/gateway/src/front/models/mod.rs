//! `/anthropic/` and `/openai/`: forwards model requests to their vendors. On three of the paths,
//! requests contain tools for a model, and their tool lists are trimmed. Everything else passes
//! unchanged, in both directions.

mod outgoing_request;
mod rejection;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::header::CONTENT_ENCODING;
use http::request::Parts;
use http::{HeaderMap, Method, Request};
use kitbag_domain::Caller;
use kitbag_fetch::relay::{RelayedBody, end_to_end_headers};
use kitbag_llm::tool_schema::Vendor;
use kitbag_llm::trim::{ModelApi, ModelRequest};
use kitbag_telemetry::model_requests::ModelFigures;

use self::outgoing_request::{gateway_credentials, vendor_headers};
use self::rejection::ModelRejection;
use super::access_log::VendorAnswer;
use super::body::read_body;
use super::{auth, browser_guard};
use crate::call::failure::Failure;
use crate::front::in_flight::Reservation;
use crate::models::trim_tools;
use crate::state::gateway::Gateway;

pub(super) async fn anthropic(
    state: State<Arc<Gateway>>,
    peer: ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    relay_request(state, peer, request, Vendor::Anthropic).await
}

pub(super) async fn openai(
    state: State<Arc<Gateway>>,
    peer: ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    relay_request(state, peer, request, Vendor::OpenAi).await
}

async fn relay_request(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
    vendor: Vendor,
) -> HttpResponse {
    match admit_caller(&gateway, peer, request.headers()).await {
        Ok(caller) => {
            let admitted = AdmittedModelRequest {
                api: trimmable_api(vendor, &request),
                gateway,
                caller,
                vendor,
            };
            let passed = admitted.relay(request).await;
            passed.unwrap_or_else(|rejection| rejection.to_response(vendor))
        }
        Err(rejection) => rejection.to_response(vendor),
    }
}

/// Admits a caller by the rules of `/mcp`. The headers in which `/mcp` expects a key belong to the
/// vendor here, so the gateway's own key has a separate header.
async fn admit_caller(
    gateway: &Gateway,
    peer: SocketAddr,
    headers: &HeaderMap,
) -> Result<Caller, ModelRejection> {
    if !gateway.models.are_enabled() {
        return Err(ModelRejection::Disabled);
    }
    let credentials = gateway_credentials(headers);
    let caller = auth::admit_user(gateway, peer, &credentials).await?;
    match gateway.policy.unknown_tenant_reason(&caller) {
        Some(reason) => Err(ModelRejection::UnknownTenant { reason }),
        None => Ok(caller),
    }
}

fn trimmable_api(vendor: Vendor, request: &HttpRequest) -> Option<ModelApi> {
    let is_readable = !request.headers().contains_key(CONTENT_ENCODING);
    let path = vendor_path(vendor, request.uri().path());
    ModelApi::from_path(vendor, path).filter(|_| is_readable && *request.method() == Method::POST)
}

/// One request of an admitted caller.
struct AdmittedModelRequest {
    gateway: Arc<Gateway>,
    caller: Caller,
    vendor: Vendor,
    /// The API whose tool lists are trimmed, if the request is for one.
    api: Option<ModelApi>,
}

/// A request body for the vendor.
struct OutgoingBody {
    body: RelayedBody,
    figures: ModelFigures,
    /// Counts for the caller until the vendor has the body.
    _reservation: Option<Reservation>,
}

impl AdmittedModelRequest {
    async fn relay(&self, request: HttpRequest) -> Result<HttpResponse, ModelRejection> {
        let (head, body) = request.into_parts();
        let outgoing = match self.api {
            Some(api) => self.read_and_trim(api, &head, body).await?,
            None => OutgoingBody::pass_through(body),
        };
        let mut figures = outgoing.figures;
        let request = self.vendor_request(&head, outgoing.body)?;
        let relay = self.gateway.services.relay();
        let answered = relay.forward(request).await;
        figures.unreached = u64::from(answered.is_err());
        self.record_figures(figures);
        match answered {
            Ok(answer) => Ok(to_client_response(answer)),
            Err(error) => Err(ModelRejection::Unreached {
                url: self.gateway.models.vendor_origin(self.vendor),
                error,
            }),
        }
    }

    /// Reads the whole body and trims its tools. A body that the gateway cannot parse is forwarded
    /// unchanged, because the vendor reports best what is wrong with it.
    async fn read_and_trim(
        &self,
        api: ModelApi,
        head: &Parts,
        body: Body,
    ) -> Result<OutgoingBody, ModelRejection> {
        if let Some(kind) = browser_guard::non_json_type(&head.headers)
            && browser_guard::is_from_browser(&head.headers)
        {
            let kind = kind.to_owned();
            return Err(Failure::ForeignBody { kind }.into());
        }
        let incoming = self.gateway.services.in_flight.track_upload(&self.caller);
        let most = self.gateway.models.max_body_bytes();
        let (body, reservation) = read_body(body, most, incoming).await?;
        let text = std::str::from_utf8(&body).unwrap_or_default();
        let (shorter, figures) = match ModelRequest::parse(api, text) {
            Some(request) => {
                let catalog = self.gateway.catalog();
                let trimmed = trim_tools(&self.gateway, &catalog, &self.caller, &request).await;
                (trimmed.body, trimmed.figures)
            }
            None => (None, ONE_REQUEST),
        };
        Ok(OutgoingBody {
            body: shorter.map_or_else(|| body.into(), Into::into),
            figures,
            _reservation: reservation,
        })
    }

    fn vendor_request(
        &self,
        head: &Parts,
        body: RelayedBody,
    ) -> Result<Request<RelayedBody>, ModelRejection> {
        let models = &self.gateway.models;
        let target = head.uri.path_and_query().map_or("/", |it| it.as_str());
        let url = models.vendor_url(self.vendor, vendor_path(self.vendor, target))?;
        let mut headers = vendor_headers(&head.headers, self.api.is_some());
        models.put_key(self.vendor, &mut headers)?;
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.headers_mut() = headers;
        *request.uri_mut() = url
            .as_str()
            .parse()
            .map_err(|_| ModelRejection::OddTarget)?;
        Ok(request)
    }

    fn record_figures(&self, figures: ModelFigures) {
        let route = match (self.api, self.vendor) {
            (Some(ModelApi::Messages), _) => "anthropic/messages",
            (Some(ModelApi::ChatCompletions), _) => "openai/chat/completions",
            (Some(ModelApi::Responses), _) => "openai/responses",
            (None, Vendor::Anthropic) => "anthropic/other",
            (None, Vendor::OpenAi) => "openai/other",
        };
        let meter = &self.gateway.services.meter;
        meter.record_model_request(&self.caller.tenant, route, figures);
    }
}

const ONE_REQUEST: ModelFigures = ModelFigures {
    requests: 1,
    unreached: 0,
    offered: 0,
    kept: 0,
    tokens_saved: 0,
    unguided: 0,
    used: 0,
};

impl OutgoingBody {
    /// Streams a body without buffering it.
    fn pass_through(body: Body) -> Self {
        let body = if body.is_end_stream() {
            RelayedBody::default()
        } else {
            RelayedBody::wrap_stream(body.into_data_stream())
        };
        Self {
            body,
            figures: ONE_REQUEST,
            _reservation: None,
        }
    }
}

/// Streams the response as it arrives. A response that breaks off breaks off here, too.
fn to_client_response(answer: http::Response<RelayedBody>) -> HttpResponse {
    let (head, body) = answer.into_parts();
    let mut response = HttpResponse::new(Body::new(body));
    *response.status_mut() = head.status;
    *response.headers_mut() = end_to_end_headers(&head.headers);
    response.extensions_mut().insert(VendorAnswer);
    response
}

/// Returns the path at the vendor.
fn vendor_path(vendor: Vendor, path: &str) -> &str {
    let rest = path.strip_prefix(path_prefix(vendor)).unwrap_or_default();
    if rest.is_empty() { "/" } else { rest }
}

fn path_prefix(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Anthropic => "/anthropic",
        Vendor::OpenAi => "/openai",
    }
}
