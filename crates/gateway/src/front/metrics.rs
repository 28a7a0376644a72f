//! `GET /metrics`: what the meter counted and how the gateway does, for Prometheus.
//!
//! A tenant's key is shown what concerns its tenant and what it may know of; the figures of the
//! gateway itself are for operators.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use kitbag_domain::Caller;
use kitbag_upstream::ServerFigures;

use super::auth;
use super::response::not_admitted;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use kitbag_telemetry::exposition::{Histogram, Labels, MetricsFormat, MetricsPage};
use kitbag_telemetry::figures::{BUCKETS, CallFigures, ListFigures, ToolSeries, UsageFigures};
use kitbag_telemetry::model_requests::ModelFigures;
use kitbag_telemetry::process::Process;

pub(super) async fn metrics(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let format = MetricsFormat::accepted(&headers);
    let body = page(&gateway, &caller, format);
    let head = [
        (CONTENT_TYPE, format.content_type()),
        (VARY, HeaderValue::from_static("accept")),
    ];
    (head, body).into_response()
}

/// Returns the figures that one caller may see, at one moment.
fn page(gateway: &Gateway, caller: &Caller, format: MetricsFormat) -> String {
    let (mut page, catalog) = (MetricsPage::new(format), gateway.catalog());
    let tables = gateway.visible_figures(&catalog, caller);
    lists(&mut page, &tables);
    calls(&mut page, &tables.published(gateway.metrics_per_tool));
    operations(&mut page, &tables);
    templates(&mut page, &tables);
    model_requests(&mut page, gateway, caller);
    servers(&mut page, gateway, &catalog, caller);
    let (indexed, embedded) = gateway.index_counts(&catalog, caller);
    page.gauge("kitbag_index_tools", "Tools in the index", indexed);
    page.gauge(
        "kitbag_index_vectors",
        "Tools in the index that have their vector",
        embedded,
    );
    if caller.sees_all_tenants() {
        whole_gateway(&mut page, gateway);
        process(&mut page, &Process::now());
    }
    page.finish()
}

fn lists(page: &mut MetricsPage, tables: &UsageFigures) {
    type Figure = fn(&ListFigures) -> u64;
    let families: [(&str, &str, Figure); 3] = [
        (
            "kitbag_tokens_catalog",
            "Estimated tokens the visible catalog would have cost in the lists that were asked for",
            |listed| listed.catalog,
        ),
        (
            "kitbag_tokens_shown",
            "Estimated tokens of the tool lists that were shown",
            |listed| listed.shown,
        ),
        (
            "kitbag_tokens_saved",
            "Estimated tokens that were not shown",
            |listed| listed.saved,
        ),
    ];
    for (name, help, figure) in families {
        let rows = tables.surfaces.iter().map(|((tenant, surface), listed)| {
            (
                vec![("tenant", tenant.as_str()), ("surface", *surface)],
                figure(listed),
            )
        });
        page.counters(name, help, rows);
    }
}

fn calls(page: &mut MetricsPage, published: &[ToolSeries]) {
    let help = "Estimated tokens of what calls and searches returned";
    let returned = published.iter().map(|it| (labels(it), it.figures.returned));
    page.counters("kitbag_tokens_returned", help, returned);
    let ended = published.iter().flat_map(|it| {
        let outcomes = it.figures.called.outcomes();
        outcomes.map(move |(outcome, count)| (with(labels(it), "outcome", outcome.as_str()), count))
    });
    page.counters("kitbag_calls", "Calls, by how they ended", ended);
    let took = published
        .iter()
        .filter(|it| it.figures.called.count() > 0)
        .map(|it| (labels(it), histogram(&it.figures.called)));
    page.histograms("kitbag_call_duration_seconds", "How long calls took", took);
}

/// Writes the figures of programs and of requests in words.
fn operations(page: &mut MetricsPage, tables: &UsageFigures) {
    let rows = || {
        tables.operations.iter().map(|((tenant, path), it)| {
            (
                vec![("tenant", tenant.as_str()), ("path", path.as_str())],
                it,
            )
        })
    };
    let ended = rows().flat_map(|(labels, it)| {
        let outcomes = it.ended.outcomes();
        outcomes
            .map(move |(outcome, count)| (with(labels.clone(), "outcome", outcome.as_str()), count))
    });
    page.counters(
        "kitbag_operations",
        "Programs and requests in words, by their way and end",
        ended,
    );
    let took = rows().map(|(labels, it)| (labels, histogram(&it.ended)));
    page.histograms(
        "kitbag_operation_duration_seconds",
        "How long operations took",
        took,
    );
    let asked = rows().map(|(labels, it)| (labels, it.asked));
    page.counters(
        "kitbag_operation_tokens_asked",
        "Estimated tokens of programs and requests",
        asked,
    );
    let answered = rows().map(|(labels, it)| (labels, it.answered));
    page.counters(
        "kitbag_operation_tokens_answered",
        "Estimated tokens of their answers",
        answered,
    );
    let events = tables.events.iter().map(|((tenant, event), count)| {
        (
            vec![("tenant", tenant.as_str()), ("event", event.as_str())],
            *count,
        )
    });
    page.counters(
        "kitbag_operation_events",
        "Fallbacks, and what became of templates",
        events,
    );
}

/// Writes how often each template was used, and how well it did.
fn templates(page: &mut MetricsPage, tables: &UsageFigures) {
    let rows = || {
        tables.templates.iter().map(|((tenant, template), it)| {
            (
                vec![("tenant", tenant.as_str()), ("template", &**template)],
                it,
            )
        })
    };
    let ended = rows().flat_map(|(labels, it)| {
        let outcomes = it.ended.outcomes();
        outcomes
            .map(move |(outcome, count)| (with(labels.clone(), "outcome", outcome.as_str()), count))
    });
    page.counters(
        "kitbag_template_runs",
        "Runs of templates, by how they ended",
        ended,
    );
    let answered = rows().map(|(labels, it)| (labels, it.answered));
    page.counters(
        "kitbag_template_tokens_answered",
        "Estimated tokens of what templates answered",
        answered,
    );
}

/// Writes the figures of requests to models.
fn model_requests(page: &mut MetricsPage, gateway: &Gateway, caller: &Caller) {
    type Figure = fn(&ModelFigures) -> u64;
    let families: [(&str, &str, Figure); 7] = [
        (
            "kitbag_model_requests",
            "Requests to models that were passed on",
            |it| it.requests,
        ),
        (
            "kitbag_model_unreached",
            "Requests whose vendor could not be reached",
            |it| it.unreached,
        ),
        (
            "kitbag_model_tools_offered",
            "Our tools that clients put into requests",
            |it| it.offered,
        ),
        (
            "kitbag_model_tools_kept",
            "Our tools that were passed on",
            |it| it.kept,
        ),
        (
            "kitbag_model_tokens_saved",
            "Estimated tokens of tools that were not passed on",
            |it| it.tokens_saved,
        ),
        (
            "kitbag_model_unguided",
            "Requests for which no fitting tools were found in time",
            |it| it.unguided,
        ),
        (
            "kitbag_model_tools_used",
            "Calls of our tools that requests told of",
            |it| it.used,
        ),
    ];
    let figures = gateway.services.meter.model_requests();
    let tenant = (!caller.sees_all_tenants()).then_some(&caller.tenant);
    for (name, help, figure) in families {
        let rows = figures.of(tenant).map(|(tenant, route, it)| {
            (
                vec![("tenant", tenant.as_str()), ("route", route)],
                figure(it),
            )
        });
        page.counters(name, help, rows);
    }
}

fn histogram(called: &CallFigures) -> Histogram<'_> {
    Histogram {
        ends: &BUCKETS,
        counts: &called.latencies,
        sum: called.seconds,
    }
}

fn labels(published: &ToolSeries) -> Labels<'_> {
    let mut labels = vec![
        ("tenant", published.tenant.as_str()),
        ("server", published.server.as_str()),
    ];
    labels.extend(published.tool.as_deref().map(|tool| ("tool", tool)));
    labels
}

fn with<'a>(mut labels: Labels<'a>, key: &'static str, value: &'a str) -> Labels<'a> {
    labels.push((key, value));
    labels
}

fn servers(page: &mut MetricsPage, gateway: &Gateway, catalog: &Catalog, caller: &Caller) {
    let visible = gateway
        .upstreams
        .iter()
        .filter(|it| gateway.is_server_visible(catalog, caller, it.name()));
    let up = visible.map(|it| {
        (
            vec![("server", it.name().as_str())],
            u8::from(it.trouble().is_none()),
        )
    });
    page.gauges(
        "kitbag_upstream_up",
        "Whether a server could be started when that was tried last",
        up,
    );
    let changed = gateway.services.definitions.changes();
    let visible = changed
        .iter()
        .filter(|(server, _)| gateway.is_server_visible(catalog, caller, server));
    let help = "Definitions of tools and prompts that a server replaced by others";
    let rows = visible.map(|(server, count)| (vec![("server", server.as_str())], *count));
    page.counters("kitbag_definitions_changed", help, rows);
    let held = catalog.held.counts();
    let visible = held
        .iter()
        .filter(|(server, _)| gateway.is_server_visible(catalog, caller, server));
    let help = "Tools and prompts that are held back, because they are not as they were approved";
    let rows = visible.map(|(server, count)| (vec![("server", server.as_str())], *count));
    page.gauges("kitbag_definitions_held", help, rows);
}

/// Writes the figures of the gateway itself.
fn whole_gateway(page: &mut MetricsPage, gateway: &Gateway) {
    running_servers(page, gateway);
    let refused = gateway
        .services
        .meter
        .keys_refused()
        .map(|(why, count)| (vec![("reason", why.as_str())], count));
    page.counters(
        "kitbag_keys_refused",
        "Requests that were not let in for want of a good key",
        refused,
    );
    page.gauge(
        "kitbag_sessions",
        "Sessions of legacy clients",
        gateway.services.sessions.count(),
    );
    let help = "Calls that could not be written into the audit";
    page.counters(
        "kitbag_audit_lost",
        help,
        [(Vec::new(), gateway.services.audit.lost())],
    );
    page.counters(
        "kitbag_learning_lost",
        "Events that could not be learned from, because too many came at once",
        [(Vec::new(), gateway.services.learner.lost())],
    );
    page.gauge(
        "kitbag_audit_waiting",
        "Calls that wait to be written into the audit",
        gateway.services.audit.queued(),
    );
    page.info(
        "kitbag_build",
        "Which Kitbag this is",
        &vec![("version", env!("CARGO_PKG_VERSION"))],
    );
}

/// Writes the figures of the servers that the operator runs.
fn running_servers(page: &mut MetricsPage, gateway: &Gateway) {
    let servers = gateway.upstreams.iter();
    let figures: Vec<_> = servers
        .map(|it| (it.name().as_str(), it.figures()))
        .collect();
    page.gauges(
        "kitbag_upstream_running",
        "Whether a server runs, or is connected to, now",
        by_server(&figures, |it| u64::from(it.is_running)),
    );
    page.gauges(
        "kitbag_upstream_calls_in_flight",
        "Calls a server has not answered yet",
        by_server(&figures, |it| it.in_flight as u64),
    );
    page.gauges(
        "kitbag_upstream_calls_waiting",
        "Calls that wait for a place at a server",
        by_server(&figures, |it| it.waiting as u64),
    );
    page.counters(
        "kitbag_upstream_starts",
        "How often a server was started",
        by_server(&figures, |it| it.starts),
    );
    page.counters(
        "kitbag_upstream_restarts",
        "How often a server was started after it had ended by itself",
        by_server(&figures, |it| it.restarts),
    );
}

fn by_server<'a>(
    figures: &[(&'a str, ServerFigures)],
    figure: fn(&ServerFigures) -> u64,
) -> impl Iterator<Item = (Labels<'a>, u64)> {
    figures
        .iter()
        .map(move |(name, it)| (vec![("server", *name)], figure(it)))
}

/// Under the names every exporter uses.
fn process(page: &mut MetricsPage, process: &Process) {
    page.gauge(
        "process_start_time_seconds",
        "When the process began, since the Unix epoch",
        process.started,
    );
    if let Some(seconds) = process.cpu_seconds {
        page.counters(
            "process_cpu_seconds",
            "Time spent on processors",
            [(Vec::new(), seconds)],
        );
    }
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Memory that is in use",
            process.resident_bytes,
        ),
        (
            "process_open_fds",
            "Open file descriptors",
            process.open_files,
        ),
        (
            "process_max_fds",
            "The most file descriptors that may be open",
            process.most_files,
        ),
    ];
    for (name, help, value) in gauges {
        value
            .into_iter()
            .for_each(|value| page.gauge(name, help, value));
    }
}
