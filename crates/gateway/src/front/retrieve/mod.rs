//! `POST /v1/retrieve`: the tools for a query, formatted for a context.

mod context;
mod findings;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::Response as HttpResponse;
use http::StatusCode;
use kitbag_domain::{Caller, InquiryKind, Purpose};
use kitbag_relevance::Options;
use kitbag_wire::RawObject;

use super::access_log;
use super::json_post::{error_json, read_json_post};
use super::response::json_response;
use crate::call::observe;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use crate::surface::find::doubt_note;
use crate::telemetry::audit::queries::{AuditedQuery, QueryContext, QueryOutcome};
use context::{RetrievedContext, ToolWriter};
use findings::{RetrieveFindings, SearchSettings};
use request::{RequestedQueries, RetrieveRequest};

pub(super) async fn post_retrieve(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: HttpRequest,
) -> HttpResponse {
    let origin = access_log::request_origin(peer, request.headers());
    let posted = match read_json_post(&gateway, peer, request).await {
        Ok(posted) => posted,
        Err(response) => return response,
    };
    let (caller, body) = (&posted.caller, &posted.bytes);
    let request = RetrieveRequest::parse(body).and_then(|mut request| {
        request.normalize_servers(&known_servers(&gateway, &gateway.catalog(), caller))?;
        Ok(request)
    });
    match request {
        Ok(request) => {
            let by = QueryContext {
                gateway: &gateway,
                caller,
                client: None,
                origin: &origin,
                purpose: Purpose::Use,
            };
            answer_retrieve(by, request, &String::from_utf8_lossy(body)).await
        }
        Err(wrong) => error_json(StatusCode::BAD_REQUEST, &wrong),
    }
}

/// Returns the servers and APIs that a caller may know of.
fn known_servers(gateway: &Gateway, catalog: &Catalog, caller: &Caller) -> Vec<String> {
    let servers = gateway.upstreams.iter().map(|server| server.name());
    let visible = servers
        .chain(gateway.providers.names())
        .filter(|name| gateway.is_server_visible(catalog, caller, name));
    visible.map(ToString::to_string).collect()
}

/// Answers, and writes an audit row.
async fn answer_retrieve(
    by: QueryContext<'_>,
    request: RetrieveRequest,
    body: &str,
) -> HttpResponse {
    let QueryContext {
        gateway, caller, ..
    } = by;
    let started = Instant::now();
    let options = search_options(&request, caller);
    let search = SearchSettings {
        options: &options,
        min_confidence: request.min_confidence.unwrap_or(0.0),
    };
    let found = find_tools(gateway, caller, &request.intents, &search).await;
    report_query(gateway, caller, &request.intents, &found);
    let least = request.min_score.unwrap_or(0.0);
    let candidates = found
        .candidates
        .iter()
        .filter(|found| f64::from(found.score) >= least);
    let writer = ToolWriter {
        gateway,
        catalog: &found.catalog,
        format: request.format,
    };
    let context = RetrievedContext::within_budget(&writer, candidates, request.token_budget);
    let (indexed, embedded) = gateway.index_counts(&found.catalog, caller);
    let mut answer = RawObject::new()
        .with("tools", &context.tools)
        .with("candidates", &context.shown)
        .with("indexed", &indexed)
        .with("embedded", &embedded)
        .with("took_ms", &(started.elapsed().as_secs_f64() * 1e3));
    if !context.left_out.is_empty() {
        answer.put("left_out", &context.left_out);
    }
    let withheld = found.withheld.counts();
    if !withheld.is_empty() {
        answer.put("withheld", &withheld);
    }
    put_confidence(&mut answer, &found);
    let query = AuditedQuery {
        kind: InquiryKind::Search,
        subject: "/v1/retrieve",
        arguments: body,
        started,
    };
    query.record(
        by,
        &QueryOutcome::with_results(context.shown.len(), Some(context.tokens)),
    );
    json_response(StatusCode::OK, answer.to_raw().get().to_owned())
}

/// A program that retrieves tools passes them to a model, which will soon call one of them.
fn report_query(
    gateway: &Gateway,
    caller: &Caller,
    intents: &RequestedQueries,
    found: &RetrieveFindings,
) {
    if let RequestedQueries::One(intent) = intents {
        let names = found.candidates.iter().map(|it| it.entry.tool_name.clone());
        observe::report_prompt(gateway, caller, intent, names.collect());
    }
}

fn search_options(request: &RetrieveRequest, caller: &Caller) -> Options {
    Options {
        top_k: request.top_k,
        max_cost_usd: request.max_cost_usd,
        include_unknown_cost: request.include_unknown_cost,
        max_latency_ms_p99: request.max_latency_ms_p99,
        tenant: Some(caller.tenant.clone()),
        scopes: request.scopes.clone(),
        servers: request.servers.clone(),
        tags: request.tags.clone(),
        write_classes: request.write_class.clone(),
        exclude: request.exclude.clone(),
        ..Options::default()
    }
}

async fn find_tools(
    gateway: &Gateway,
    caller: &Caller,
    intents: &RequestedQueries,
    search: &SearchSettings<'_>,
) -> RetrieveFindings {
    match intents {
        RequestedQueries::One(intent) => {
            RetrieveFindings::for_query(gateway, caller, intent, search).await
        }
        RequestedQueries::Several(intents) => {
            RetrieveFindings::for_queries(gateway, caller, intents, search).await
        }
    }
}

/// Adds the confidence of the search to the answer.
fn put_confidence(answer: &mut RawObject, found: &RetrieveFindings) {
    if let Some(intents) = &found.intents {
        answer.put("intents", intents);
    }
    if let Some(confidence) = found.confidence {
        answer.put("confident", &confidence.is_likely());
        answer.put("confidence", &confidence);
        if let Some(doubt) = doubt_note(confidence) {
            answer.put("note", &found.unfinished.note().unwrap_or(doubt));
        }
    } else if found.candidates.is_empty()
        && let Some(note) = found.unfinished.note()
    {
        answer.put("note", &note);
    }
    if let Some(corrected) = &found.corrected {
        answer.put("searched_for", corrected);
    }
    if let Some(language) = found.language {
        answer.put("language", language);
    }
    if let Some(degraded) = &found.degraded {
        answer.put("degraded", degraded);
    }
}
