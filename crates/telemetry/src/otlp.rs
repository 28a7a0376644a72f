//! Sends the figures, and a span for each call, to a collector of OpenTelemetry.
//!
//! A span says which tool, for whom, how it ended and how long it took; never with what arguments.

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

const PATIENCE: Duration = Duration::from_secs(10);

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
    #[error("the HTTP client for the collector cannot be built: {0}")]
    Client(#[from] reqwest::Error),
    #[error("nothing can be sent to the collector: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl OtlpExporter {
    /// Must be called within the runtime, on which everything is sent.
    pub fn start(
        collector: &Url,
        tables: &Arc<Mutex<UsageFigures>>,
        per_tool: bool,
    ) -> Result<Self, OtlpError> {
        let base = collector.as_str().trim_end_matches('/');
        let courier: Arc<dyn HttpClient> = Arc::new(Courier::new(collector)?);
        let spans = SpanExporter::builder()
            .with_http()
            .with_shared_http_client(courier.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()?;
        let figures = MetricExporter::builder()
            .with_http()
            .with_shared_http_client(courier)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(PATIENCE)
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
        watch(&meter, tables, per_tool);
        let latency = meter.f64_histogram("kitbag.call.duration").with_unit("s");
        Ok(Self {
            tracer: traces.tracer_with_scope(scope),
            latency: latency.with_boundaries(BUCKETS.to_vec()).build(),
            traces,
            metrics,
            per_tool,
        })
    }

    /// A call has ended. Its span has the ids that it was told under, if it was.
    pub fn called(&self, observation: &Observation, name: &str, ids: Option<TraceParent>) {
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
            .span_builder(format!("{} {name}", method_of(capability.kind)));
        let span = span
            .with_kind(SpanKind::Server)
            .with_start_time(end - *latency)
            .with_attributes(
                attributes
                    .into_iter()
                    .chain(conventional(observation, name)),
            );
        let mut span = with_ids(ids, || {
            span.start_with_context(&self.tracer, &parent(origin.trace))
        });
        if !matches!(outcome, Outcome::Ok | Outcome::InputRequired) {
            span.set_status(Status::error(outcome.as_str()));
            span.set_attribute(KeyValue::new("error.type", outcome.as_str()));
        }
        span.end_with_timestamp(end);
    }

    /// Waits until what is left is sent, so not on a thread that others wait for.
    pub fn shutdown(&self) {
        for ended in [self.traces.shutdown(), self.metrics.shutdown()] {
            if let Err(error) = ended {
                tracing::debug!(%error, "the last figures did not reach the collector");
            }
        }
    }
}

/// Returns the attributes of a call, named after the conventions of OpenTelemetry for MCP and for
/// generative AI.
fn conventional(observation: &Observation, name: &str) -> Vec<KeyValue> {
    let Observation {
        capability, origin, ..
    } = observation;
    let mut attributes = vec![KeyValue::new("mcp.method.name", method_of(capability.kind))];
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

fn method_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Tool => method::CALL_TOOL,
        Kind::Prompt => method::GET_PROMPT,
        Kind::Resource => method::READ_RESOURCE,
    }
}

/// The span of the client that this one belongs under. A client that does not want its trace
/// recorded says so in the flags, and is obeyed.
fn parent(trace: Option<TraceParent>) -> Context {
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

/// The figures are read from the tables whenever they are to be sent.
fn watch(meter: &Meter, tables: &Arc<Mutex<UsageFigures>>, per_tool: bool) {
    type Read = fn(&UsageFigures, &dyn AsyncInstrument<u64>, bool);
    let instruments: [(&'static str, Read); 9] = [
        ("kitbag.tokens.catalog", |tables, it, _| {
            by_surface(tables, it, |listed| listed.catalog);
        }),
        ("kitbag.tokens.shown", |tables, it, _| {
            by_surface(tables, it, |listed| listed.shown);
        }),
        ("kitbag.tokens.saved", |tables, it, _| {
            by_surface(tables, it, |listed| listed.saved);
        }),
        ("kitbag.tokens.returned", |tables, it, each| {
            by_tool(tables, it, each, |tool| tool.returned);
        }),
        ("kitbag.answers", |tables, it, each| {
            by_tool(tables, it, each, |tool| tool.answers);
        }),
        ("kitbag.operations", |tables, it, _| {
            by_path(tables, it, |path| path.ended.count());
        }),
        ("kitbag.operation.tokens.asked", |tables, it, _| {
            by_path(tables, it, |path| path.asked);
        }),
        ("kitbag.operation.tokens.answered", |tables, it, _| {
            by_path(tables, it, |path| path.answered);
        }),
        ("kitbag.operation.events", |tables, it, _| {
            by_event(tables, it);
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

fn by_surface(
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

fn by_path(
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

fn by_event(tables: &UsageFigures, into: &dyn AsyncInstrument<u64>) {
    for ((tenant, event), count) in &tables.events {
        let tenant = KeyValue::new("kitbag.tenant", tenant.as_str().to_owned());
        let event = KeyValue::new("kitbag.operation.event", event.as_str());
        into.observe(*count, &[tenant, event]);
    }
}

fn by_tool(
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
    } in tables.published(per_tool)
    {
        let mut attributes = vec![
            KeyValue::new("kitbag.tenant", tenant.as_str().to_owned()),
            KeyValue::new("kitbag.server", server),
        ];
        attributes.extend(tool.map(|name| KeyValue::new("kitbag.tool", name.to_string())));
        into.observe(figure(&figures), &attributes);
    }
}

/// Carries what the exporters hand over. They run on threads of their own, where our client,
/// which needs the runtime, could not.
#[derive(Debug)]
struct Courier {
    collector: String,
    client: reqwest::Client,
    runtime: Handle,
    /// True if the last delivery failed; a collector that is away is mentioned once.
    failed: AtomicBool,
}

impl Courier {
    fn new(collector: &Url) -> Result<Self, reqwest::Error> {
        Ok(Self {
            // The origin leaves out what may be a password in front of the host.
            collector: collector.origin().ascii_serialization(),
            client: reqwest::Client::builder().timeout(PATIENCE).build()?,
            runtime: Handle::current(),
            failed: AtomicBool::new(false),
        })
    }

    fn mention(&self, problem: Option<String>) {
        match (
            self.failed.swap(problem.is_some(), Ordering::Relaxed),
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
impl HttpClient for Courier {
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
        self.mention(match &sent {
            Ok((status, _)) if status.is_success() => None,
            Ok((status, _)) => Some(status.to_string()),
            Err(error) => Some(kitbag_fetch::innermost(error)),
        });
        let (status, body) = sent?;
        Ok(Response::builder().status(status).body(body)?)
    }
}
