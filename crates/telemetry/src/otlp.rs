//! Sends the figures, and a span for each call, to an OpenTelemetry collector.
//!
//! A span has the tool, the tenant, the outcome and the duration, but never the arguments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use kitbag_domain::{Kind, Observation, Outcome, TraceParent};
use kitbag_wire::meta::method;
use opentelemetry::metrics::{AsyncInstrument, Histogram, Meter, MeterProvider as _};
use opentelemetry::trace::{
    Span as _, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _,
    WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use url::Url;

use crate::figures::{BUCKETS, ListFigures, ToolFigures, ToolSeries, UsageFigures};
use crate::operations::OperationFigures;
use crate::span_ids::{ChosenIds, with_ids};
use kitbag_domain::sync::lock;

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct OtlpExporter {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    tracer: SdkTracer,
    latency: Histogram<f64>,
    /// True if every tool has series of its own; spans always name the tool.
    per_tool: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    #[error("failed to build the HTTP client for the collector: {0}")]
    Client(#[from] reqwest::Error),
    #[error("failed to build the exporter for the collector: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl OtlpExporter {
    /// Must be called within the runtime; requests to the collector run on it.
    pub fn start(
        collector: &Url,
        tables: &Arc<Mutex<UsageFigures>>,
        per_tool: bool,
    ) -> Result<Self, OtlpError> {
        let base = collector.as_str().trim_end_matches('/');
        let client: Arc<dyn HttpClient> = Arc::new(RuntimeClient::new(collector)?);
        let spans = SpanExporter::builder()
            .with_http()
            .with_shared_http_client(client.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()?;
        let figures = MetricExporter::builder()
            .with_http()
            .with_shared_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder()
            .with_service_name("kitbag")
            .with_attribute(version)
            .build();
        let traces = SdkTracerProvider::builder()
            .with_batch_exporter(spans)
            .with_id_generator(ChosenIds::default())
            .with_resource(resource.clone())
            .build();
        let metrics = SdkMeterProvider::builder()
            .with_periodic_exporter(figures)
            .with_resource(resource)
            .build();
        let scope = InstrumentationScope::builder("kitbag").build();
        let meter = metrics.meter_with_scope(scope.clone());
        register_counters(&meter, tables, per_tool);
        let latency = meter.f64_histogram("kitbag.call.duration").with_unit("s");
        Ok(Self {
            tracer: traces.tracer_with_scope(scope),
            latency: latency.with_boundaries(BUCKETS.to_vec()).build(),
            traces,
            metrics,
            per_tool,
        })
    }

    /// Records a finished call. Its span gets `ids` if servers were already given them.
    pub fn record_call(&self, observation: &Observation, name: &str, ids: Option<TraceParent>) {
        let Observation {
            caller,
            capability,
            outcome,
            latency,
            origin,
            ..
        } = observation;
        let mut attributes = vec![
            KeyValue::new("kitbag.tenant", caller.tenant.as_str().to_owned()),
            KeyValue::new("kitbag.server", capability.server.to_string()),
            KeyValue::new("kitbag.outcome", outcome.as_str()),
        ];
        let tool = KeyValue::new("kitbag.tool", name.to_owned());
        if self.per_tool {
            attributes.push(tool);
            self.latency.record(latency.as_secs_f64(), &attributes);
        } else {
            self.latency.record(latency.as_secs_f64(), &attributes);
            attributes.push(tool);
        }
        let end = SystemTime::now();
        let span = self
            .tracer
            .span_builder(format!("{} {name}", method_name(capability.kind)));
        let span = span
            .with_kind(SpanKind::Server)
            .with_start_time(end - *latency)
            .with_attributes(
                attributes
                    .into_iter()
                    .chain(semantic_attributes(observation, name)),
            );
        let mut span = with_ids(ids, || {
            span.start_with_context(&self.tracer, &parent_context(origin.trace))
        });
        if !matches!(outcome, Outcome::Ok | Outcome::InputRequired) {
            span.set_status(Status::error(outcome.as_str()));
            span.set_attribute(KeyValue::new("error.type", outcome.as_str()));
        }
        span.end_with_timestamp(end);
    }

    /// Sends the remaining data. Blocks until it is sent.
    pub fn shutdown(&self) {
        for ended in [self.traces.shutdown(), self.metrics.shutdown()] {
            if let Err(error) = ended {
                tracing::debug!(%error, "failed to send the last figures to the collector");
            }
        }
    }
}

/// Returns the attributes of a call in the semantic conventions for MCP and generative AI.
fn semantic_attributes(observation: &Observation, name: &str) -> Vec<KeyValue> {
    let Observation {
        capability, origin, ..
    } = observation;
    let mut attributes = vec![KeyValue::new(
        "mcp.method.name",
        method_name(capability.kind),
    )];
    match capability.kind {
        Kind::Tool => attributes.extend([
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", name.to_owned()),
        ]),
        Kind::Prompt => {
            attributes.push(KeyValue::new("gen_ai.prompt.name", capability.name.clone()));
        }
        Kind::Resource => {}
    }
    attributes.extend(
        origin
            .address
            .map(|address| KeyValue::new("client.address", address.to_string())),
    );
    let request = origin
        .request
        .as_ref()
        .map(|id| KeyValue::new("kitbag.request", id.to_string()));
    attributes.extend(request);
    attributes
}

fn method_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => method::CALL_TOOL,
        Kind::Prompt => method::GET_PROMPT,
        Kind::Resource => method::READ_RESOURCE,
    }
}

/// Returns the client's span as the parent. Its flags decide whether the trace is sampled.
fn parent_context(trace: Option<TraceParent>) -> Context {
    let Some(TraceParent { trace, span, flags }) = trace else {
        return Context::new();
    };
    let (trace, span) = (TraceId::from_bytes(trace), SpanId::from_bytes(span));
    let sampled = TraceFlags::new(flags) & TraceFlags::SAMPLED;
    Context::new().with_remote_span_context(SpanContext::new(
        trace,
        span,
        sampled,
        true,
        TraceState::NONE,
    ))
}

/// Registers counters that read the figures at each export.
fn register_counters(meter: &Meter, tables: &Arc<Mutex<UsageFigures>>, per_tool: bool) {
    type Read = fn(&UsageFigures, &dyn AsyncInstrument<u64>, bool);
    let instruments: [(&'static str, Read); 9] = [
        ("kitbag.tokens.catalog", |tables, it, _| {
            observe_by_surface(tables, it, |listed| listed.catalog);
        }),
        ("kitbag.tokens.shown", |tables, it, _| {
            observe_by_surface(tables, it, |listed| listed.shown);
        }),
        ("kitbag.tokens.saved", |tables, it, _| {
            observe_by_surface(tables, it, |listed| listed.saved);
        }),
        ("kitbag.tokens.returned", |tables, it, each| {
            observe_by_tool(tables, it, each, |tool| tool.returned);
        }),
        ("kitbag.answers", |tables, it, each| {
            observe_by_tool(tables, it, each, |tool| tool.answers);
        }),
        ("kitbag.operations", |tables, it, _| {
            observe_by_path(tables, it, |path| path.calls.count());
        }),
        ("kitbag.operation.tokens.asked", |tables, it, _| {
            observe_by_path(tables, it, |path| path.request_tokens);
        }),
        ("kitbag.operation.tokens.answered", |tables, it, _| {
            observe_by_path(tables, it, |path| path.answer_tokens);
        }),
        ("kitbag.operation.events", |tables, it, _| {
            observe_by_event(tables, it);
        }),
    ];
    for (name, read) in instruments {
        let tables = tables.clone();
        let observe = move |it: &dyn AsyncInstrument<u64>| read(&lock(&tables), it, per_tool);
        meter
            .u64_observable_counter(name)
            .with_callback(observe)
            .build();
    }
}

fn observe_by_surface(
    tables: &UsageFigures,
    into: &dyn AsyncInstrument<u64>,
    figure: fn(&ListFigures) -> u64,
) {
    for ((tenant, surface), listed) in &tables.surfaces {
        let tenant = KeyValue::new("kitbag.tenant", tenant.as_str().to_owned());
        into.observe(
            figure(listed),
            &[tenant, KeyValue::new("kitbag.surface", *surface)],
        );
    }
}

fn observe_by_path(
    tables: &UsageFigures,
    into: &dyn AsyncInstrument<u64>,
    figure: fn(&OperationFigures) -> u64,
) {
    for ((tenant, path), figures) in &tables.operations {
        let tenant = KeyValue::new("kitbag.tenant", tenant.as_str().to_owned());
        let path = KeyValue::new("kitbag.operation.path", path.as_str());
        into.observe(figure(figures), &[tenant, path]);
    }
}

fn observe_by_event(tables: &UsageFigures, into: &dyn AsyncInstrument<u64>) {
    for ((tenant, event), count) in &tables.events {
        let tenant = KeyValue::new("kitbag.tenant", tenant.as_str().to_owned());
        let event = KeyValue::new("kitbag.operation.event", event.as_str());
        into.observe(*count, &[tenant, event]);
    }
}

fn observe_by_tool(
    tables: &UsageFigures,
    into: &dyn AsyncInstrument<u64>,
    per_tool: bool,
    figure: fn(&ToolFigures) -> u64,
) {
    for ToolSeries {
        tenant,
        server,
        tool,
        figures,
    } in tables.tool_series(per_tool)
    {
        let mut attributes = vec![
            KeyValue::new("kitbag.tenant", tenant.as_str().to_owned()),
            KeyValue::new("kitbag.server", server),
        ];
        attributes.extend(tool.map(|name| KeyValue::new("kitbag.tool", name.to_string())));
        into.observe(figure(&figures), &attributes);
    }
}

/// Sends the exporters' requests on the runtime. The exporters have their own threads, on which the
/// client would not work.
#[derive(Debug)]
struct RuntimeClient {
    collector: String,
    client: reqwest::Client,
    runtime: Handle,
    /// True if the last delivery failed. Only changes are logged.
    has_failed: AtomicBool,
}

impl RuntimeClient {
    fn new(collector: &Url) -> Result<Self, reqwest::Error> {
        Ok(Self {
            // The origin omits a user name and a password in the URL.
            collector: collector.origin().ascii_serialization(),
            client: reqwest::Client::builder().timeout(TIMEOUT).build()?,
            runtime: Handle::current(),
            has_failed: AtomicBool::new(false),
        })
    }

    fn log_delivery(&self, problem: Option<String>) {
        match (
            self.has_failed.swap(problem.is_some(), Ordering::Relaxed),
            problem,
        ) {
            (false, Some(problem)) => {
                tracing::warn!(
                    collector = self.collector,
                    problem,
                    "telemetry does not reach the collector"
                );
            }
            (true, None) => {
                tracing::info!(
                    collector = self.collector,
                    "telemetry reaches the collector again"
                );
            }
            _ => {}
        }
    }
}

#[async_trait]
impl HttpClient for RuntimeClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sending = self.runtime.spawn(async move {
            let (head, body) = request.into_parts();
            let request = client
                .request(head.method, head.uri.to_string())
                .headers(head.headers)
                .body(body);
            let response = request.send().await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.bytes().await?))
        });
        let sent = sending.await?;
        self.log_delivery(match &sent {
            Ok((status, _)) if status.is_success() => None,
            Ok((status, _)) => Some(status.to_string()),
            Err(error) => Some(kitbag_fetch::root_cause(error)),
        });
        let (status, body) = sent?;
        Ok(Response::builder().status(status).body(body)?)
    }
}
