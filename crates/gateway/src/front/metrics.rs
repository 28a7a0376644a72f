//! `GET /metrics`: counters and gauges of the gateway, for Prometheus.
//!
//! A tenant's key gets the figures of its tenant and of the servers visible to it. Figures of the
//! gateway itself are for operators.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, VARY};
use kitbag_domain::{Caller, ServerName};
use kitbag_upstream::ServerFigures;

use super::auth;
use super::response::reject_caller;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use kitbag_telemetry::exposition::{Histogram, Labels, MetricsFormat, MetricsPage};
use kitbag_telemetry::figures::{BUCKETS, CallFigures, ListFigures, ToolSeries, UsageFigures};
use kitbag_telemetry::model_requests::ModelFigures;
use kitbag_telemetry::process::ProcessFigures;

/// The name and help of a metric, and its value.
type Metric<T> = (&'static str, &'static str, fn(&T) -> u64);

pub(super) async fn get_metrics(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&gateway, peer, &headers).await {
        Ok(caller) => caller,
        Err(rejection) => return reject_caller(&rejection),
    };
    let format = MetricsFormat::from_accept(&headers);
    let body = write_page(&gateway, &caller, format);
    let head = [
        (CONTENT_TYPE, format.content_type()),
        (VARY, HeaderValue::from_static("accept")),
    ];
    (head, body).into_response()
}

/// Writes the figures that the caller may see.
fn write_page(gateway: &Gateway, caller: &Caller, format: MetricsFormat) -> String {
    let (mut page, catalog) = (MetricsPage::new(format), gateway.catalog());
    let usage = gateway.visible_figures(&catalog, caller);
    write_lists(&mut page, &usage);
    write_calls(&mut page, &usage.tool_series(gateway.metrics_per_tool));
    write_operations(&mut page, &usage);
    write_templates(&mut page, &usage);
    write_model_requests(&mut page, gateway, caller);
    write_visible_servers(&mut page, gateway, &catalog, caller);
    let (indexed, embedded) = gateway.index_counts(&catalog, caller);
    page.write_gauge("kitbag_index_tools", "Tools in the index", indexed);
    page.write_gauge(
        "kitbag_index_vectors",
        "Tools in the index that have a vector",
        embedded,
    );
    if caller.sees_all_tenants() {
        write_gateway(&mut page, gateway);
        write_process(&mut page, &ProcessFigures::read_current());
    }
    page.finish()
}

fn write_lists(page: &mut MetricsPage, usage: &UsageFigures) {
    const METRICS: [Metric<ListFigures>; 3] = [
        (
            "kitbag_tokens_catalog",
            "Estimated tokens of the whole visible catalog, for each list requested",
            |lists| lists.catalog,
        ),
        (
            "kitbag_tokens_shown",
            "Estimated tokens of the tool lists returned",
            |lists| lists.shown,
        ),
        (
            "kitbag_tokens_saved",
            "Estimated tokens of the catalog that lists omitted",
            |lists| lists.saved,
        ),
    ];
    for (name, help, figure) in METRICS {
        let rows = usage.surfaces.iter().map(|((tenant, surface), lists)| {
            let labels = vec![("tenant", tenant.as_str()), ("surface", *surface)];
            (labels, figure(lists))
        });
        page.write_counters(name, help, rows);
    }
}

fn write_calls(page: &mut MetricsPage, series: &[ToolSeries]) {
    page.write_counters(
        "kitbag_tokens_returned",
        "Estimated tokens of the results of calls and searches",
        series.iter().map(|it| (labels(it), it.figures.returned)),
    );
    let calls = || series.iter().map(|it| (labels(it), &it.figures.calls));
    page.write_counters("kitbag_calls", "Calls, by outcome", by_outcome(calls()));
    page.write_histograms(
        "kitbag_call_duration_seconds",
        "Duration of calls",
        histograms(calls().filter(|(_, calls)| calls.count() > 0)),
    );
}

/// Writes the figures of programs and intents.
fn write_operations(page: &mut MetricsPage, usage: &UsageFigures) {
    let rows = || {
        usage.operations.iter().map(|((tenant, path), it)| {
            let labels = vec![("tenant", tenant.as_str()), ("path", path.as_str())];
            (labels, it)
        })
    };
    let calls = || rows().map(|(labels, it)| (labels, &it.calls));
    page.write_counters(
        "kitbag_operations",
        "Programs and intents, by path and outcome",
        by_outcome(calls()),
    );
    page.write_histograms(
        "kitbag_operation_duration_seconds",
        "Duration of programs and intents",
        histograms(calls()),
    );
    page.write_counters(
        "kitbag_operation_tokens_asked",
        "Estimated tokens of programs and intents",
        rows().map(|(labels, it)| (labels, it.request_tokens)),
    );
    page.write_counters(
        "kitbag_operation_tokens_answered",
        "Estimated tokens of the answers to programs and intents",
        rows().map(|(labels, it)| (labels, it.answer_tokens)),
    );
    let events = usage.events.iter().map(|((tenant, event), count)| {
        let labels = vec![("tenant", tenant.as_str()), ("event", event.as_str())];
        (labels, *count)
    });
    page.write_counters(
        "kitbag_operation_events",
        "Fallbacks, and promotions and demotions of templates",
        events,
    );
}

fn write_templates(page: &mut MetricsPage, usage: &UsageFigures) {
    let rows = || {
        usage.templates.iter().map(|((tenant, template), it)| {
            let labels = vec![("tenant", tenant.as_str()), ("template", &**template)];
            (labels, it)
        })
    };
    page.write_counters(
        "kitbag_template_runs",
        "Runs of templates, by outcome",
        by_outcome(rows().map(|(labels, it)| (labels, &it.calls))),
    );
    page.write_counters(
        "kitbag_template_tokens_answered",
        "Estimated tokens of the answers of templates",
        rows().map(|(labels, it)| (labels, it.answer_tokens)),
    );
}

fn write_model_requests(page: &mut MetricsPage, gateway: &Gateway, caller: &Caller) {
    const METRICS: [Metric<ModelFigures>; 7] = [
        (
            "kitbag_model_requests",
            "Requests to models, forwarded to their vendors",
            |it| it.requests,
        ),
        (
            "kitbag_model_unreached",
            "Requests whose vendor could not be reached",
            |it| it.unreached,
        ),
        (
            "kitbag_model_tools_offered",
            "Kitbag's tools that clients put into requests",
            |it| it.offered,
        ),
        (
            "kitbag_model_tools_kept",
            "Kitbag's tools that were forwarded",
            |it| it.kept,
        ),
        (
            "kitbag_model_tokens_saved",
            "Estimated tokens of tools that were not forwarded",
            |it| it.tokens_saved,
        ),
        (
            "kitbag_model_unguided",
            "Requests for which the search for tools did not finish in time",
            |it| it.unguided,
        ),
        (
            "kitbag_model_tools_used",
            "Calls of Kitbag's tools that requests reported",
            |it| it.used,
        ),
    ];
    let figures = gateway.services.meter.model_requests();
    let tenant = (!caller.sees_all_tenants()).then_some(&caller.tenant);
    for (name, help, figure) in METRICS {
        let rows = figures.rows(tenant).map(|(tenant, route, it)| {
            let labels = vec![("tenant", tenant.as_str()), ("route", route)];
            (labels, figure(it))
        });
        page.write_counters(name, help, rows);
    }
}

/// Splits each row of calls by outcome.
fn by_outcome<'a>(
    rows: impl Iterator<Item = (Labels<'a>, &'a CallFigures)>,
) -> impl Iterator<Item = (Labels<'a>, u64)> {
    rows.flat_map(|(labels, calls)| {
        calls.outcomes().map(move |(outcome, count)| {
            let outcome = ("outcome", outcome.as_str());
            (labels.iter().copied().chain([outcome]).collect(), count)
        })
    })
}

fn histograms<'a>(
    rows: impl Iterator<Item = (Labels<'a>, &'a CallFigures)>,
) -> impl Iterator<Item = (Labels<'a>, Histogram<'a>)> {
    rows.map(|(labels, calls)| {
        let histogram = Histogram {
            ends: &BUCKETS,
            counts: &calls.latencies,
            sum: calls.seconds,
        };
        (labels, histogram)
    })
}

fn labels(series: &ToolSeries) -> Labels<'_> {
    let mut labels = vec![
        ("tenant", series.tenant.as_str()),
        ("server", series.server.as_str()),
    ];
    labels.extend(series.tool.as_deref().map(|tool| ("tool", tool)));
    labels
}

fn write_visible_servers(
    page: &mut MetricsPage,
    gateway: &Gateway,
    catalog: &Catalog,
    caller: &Caller,
) {
    let is_visible = |name: &ServerName| gateway.is_server_visible(catalog, caller, name);
    let servers = gateway.upstreams.iter();
    let up = servers
        .filter(|it| is_visible(it.name()))
        .map(|it| (by_server(it.name()), u8::from(it.start_problem().is_none())));
    page.write_gauges(
        "kitbag_upstream_up",
        "Whether the last attempt to start a server succeeded",
        up,
    );
    let changed = gateway.services.definitions.count_changes();
    let changed = changed.iter().filter(|(server, _)| is_visible(server));
    page.write_counters(
        "kitbag_definitions_changed",
        "Definitions that a server changed",
        changed.map(|(server, count)| (by_server(server), *count)),
    );
    let mut unapproved = catalog.unapproved.counts();
    for (server, count) in catalog.unapproved_uris.counts() {
        *unapproved.entry(server).or_default() += count;
    }
    let unapproved = unapproved.iter().filter(|(server, _)| is_visible(server));
    page.write_gauges(
        "kitbag_definitions_held",
        "Definitions withheld because they differ from the approved ones",
        unapproved.map(|(server, count)| (by_server(server), *count)),
    );
}

fn by_server(server: &ServerName) -> Labels<'_> {
    vec![("server", server.as_str())]
}

fn write_gateway(page: &mut MetricsPage, gateway: &Gateway) {
    let services = &gateway.services;
    write_running_servers(page, gateway);
    let rejections = services.meter.key_rejections();
    page.write_counters(
        "kitbag_keys_refused",
        "Requests rejected for a missing or invalid key",
        rejections.map(|(reason, count)| (vec![("reason", reason.as_str())], count)),
    );
    page.write_gauge(
        "kitbag_sessions",
        "Sessions of legacy clients",
        services.sessions.count(),
    );
    page.write_counter(
        "kitbag_audit_lost",
        "Calls that could not be written to the audit",
        services.audit.lost_count(),
    );
    page.write_counter(
        "kitbag_learning_lost",
        "Events dropped by the learner because its queue was full",
        services.learner.lost_events(),
    );
    page.write_gauge(
        "kitbag_audit_waiting",
        "Calls waiting to be written to the audit",
        services.audit.queued_count(),
    );
    page.write_info(
        "kitbag_build",
        "Version of Kitbag",
        &vec![("version", env!("CARGO_PKG_VERSION"))],
    );
}

fn write_running_servers(page: &mut MetricsPage, gateway: &Gateway) {
    const GAUGES: [Metric<ServerFigures>; 3] = [
        (
            "kitbag_upstream_running",
            "Whether a server is running or connected",
            |it| u64::from(it.is_running),
        ),
        (
            "kitbag_upstream_calls_in_flight",
            "Calls that a server has not answered yet",
            |it| it.in_flight as u64,
        ),
        (
            "kitbag_upstream_calls_waiting",
            "Calls queued for a server",
            |it| it.waiting as u64,
        ),
    ];
    const COUNTERS: [Metric<ServerFigures>; 2] = [
        ("kitbag_upstream_starts", "Starts of a server", |it| {
            it.starts
        }),
        (
            "kitbag_upstream_restarts",
            "Starts of a server after it exited on its own",
            |it| it.restarts,
        ),
    ];
    let servers = gateway.upstreams.iter();
    let figures: Vec<_> = servers
        .map(|it| (by_server(it.name()), it.figures()))
        .collect();
    let rows = |figure: fn(&ServerFigures) -> u64| {
        let rows = figures.iter();
        rows.map(move |(labels, it)| (labels.clone(), figure(it)))
    };
    for (name, help, figure) in GAUGES {
        page.write_gauges(name, help, rows(figure));
    }
    for (name, help, figure) in COUNTERS {
        page.write_counters(name, help, rows(figure));
    }
}

/// Writes the figures of the process under the standard names of Prometheus exporters.
fn write_process(page: &mut MetricsPage, process: &ProcessFigures) {
    page.write_gauge(
        "process_start_time_seconds",
        "Start time of the process, in seconds since the Unix epoch",
        process.started,
    );
    if let Some(seconds) = process.cpu_seconds {
        page.write_counter("process_cpu_seconds", "CPU time used", seconds);
    }
    let gauges = [
        (
            "process_resident_memory_bytes",
            "Resident memory",
            process.resident_bytes,
        ),
        (
            "process_open_fds",
            "Open file descriptors",
            process.open_files,
        ),
        (
            "process_max_fds",
            "Limit of open file descriptors",
            process.max_open_files,
        ),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            page.write_gauge(name, help, value);
        }
    }
}
