//! `GET /metrics` and `GET /v1/tokens`: what the meter counted, for Prometheus and for people.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response as HttpResponse};
use http::header;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use kitbag_domain::Caller;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::auth;
use super::response::not_admitted;
use crate::meter::{BUCKETS, Listed, Tables, Tool};
use crate::rooms::Rooms;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn metrics(
    State(rooms): State<Arc<Rooms>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&rooms, peer, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape::of(&rooms, &caller)));
    let mut body = String::new();
    text::encode(&mut body, &registry).expect("writing into a string cannot fail");
    ([(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS))], body).into_response()
}

pub(super) async fn tokens(
    State(rooms): State<Arc<Rooms>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> HttpResponse {
    let caller = match auth::admit_reader(&rooms, peer, &headers).await {
        Ok(caller) => caller,
        Err(refused) => return not_admitted(&refused),
    };
    let body = for_people(&rooms.meter.figures(&caller)).to_string();
    let kind = HeaderValue::from_static("application/json");
    ([(CONTENT_TYPE, kind), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], body)
        .into_response()
}

/// By surface, by tool and by client, those that cost most first.
fn for_people(tables: &Tables) -> Value {
    let mut total = Listed::default();
    tables.surfaces.values().for_each(|listed| total.add(*listed));
    let returned: u64 = tables.tools.values().map(|tool| tool.returned).sum();
    let surfaces = tables.surfaces.iter().map(|((tenant, surface), listed)| {
        (listed.shown, merged(json!({ "tenant": tenant, "surface": surface }), *listed))
    });
    let tools = tables.tools.iter().filter(|(_, tool)| tool.answers > 0).map(|((tenant, name), tool)| {
        let row = json!({
            "tenant": tenant, "tool": **name, "answers": tool.answers, "returned": tool.returned,
        });
        (tool.returned, row)
    });
    let clients = tables.clients.iter().map(|(id, client)| {
        let row = json!({
            "tenant": client.tenant,
            "client": client.name,
            "session": id.alias(),
            "answers": client.answers,
            "returned": client.returned,
        });
        (client.listed.shown + client.returned, merged(row, client.listed))
    });
    json!({
        "estimated": true,
        "total": merged(json!({ "returned": returned }), total),
        "surfaces": dearest_first(surfaces),
        "tools": dearest_first(tools),
        "clients": dearest_first(clients),
    })
}

fn merged(mut row: Value, listed: Listed) -> Value {
    for (key, figure) in [
        ("lists", listed.lists),
        ("catalog", listed.catalog),
        ("shown", listed.shown),
        ("saved", listed.saved),
    ] {
        row[key] = json!(figure);
    }
    row
}

fn dearest_first(rows: impl Iterator<Item = (u64, Value)>) -> Vec<Value> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What one caller may see, at one moment.
#[derive(Debug)]
struct Scrape {
    tables: Tables,
    /// Every server, and whether it can be started as far as is known.
    servers: Vec<(String, bool)>,
    indexed: usize,
    embedded: usize,
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

impl Scrape {
    fn of(rooms: &Rooms, caller: &Caller) -> Self {
        let servers = rooms.upstreams.iter().filter(|it| rooms.policy.server_visible(caller, it.name()));
        let snapshot = rooms.index.snapshot();
        Self {
            tables: rooms.meter.figures(caller),
            servers: servers.map(|it| (it.name().to_string(), it.trouble().is_none())).collect(),
            indexed: snapshot.index.len(),
            embedded: snapshot.index.embedded(),
        }
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let help = "Estimated tokens the visible catalog would have cost in the lists that were asked for";
        counters(encoder, "kitbag_tokens_catalog", help, self.by_surface(|listed| listed.catalog))?;
        let help = "Estimated tokens of the tool lists that were shown";
        counters(encoder, "kitbag_tokens_shown", help, self.by_surface(|listed| listed.shown))?;
        let help = "Estimated tokens that were not shown";
        counters(encoder, "kitbag_tokens_saved", help, self.by_surface(|listed| listed.saved))?;
        let help = "Estimated tokens of what calls and searches returned";
        let returned = self.by_tool().map(|(labels, tool)| (labels, tool.returned));
        counters(encoder, "kitbag_tokens_returned", help, returned)?;
        let calls = self.by_tool().flat_map(|(labels, tool)| {
            tool.called.outcomes().map(move |(outcome, count)| {
                (labels.iter().copied().chain([("outcome", outcome.as_str())]).collect(), count)
            })
        });
        counters(encoder, "kitbag_calls", "Calls, by how they ended", calls)?;
        self.encode_latencies(encoder)?;
        self.encode_gauges(encoder)
    }
}

fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    mut rows: impl Iterator<Item = (Labels<'a>, u64)>,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    rows.try_for_each(|(labels, value)| {
        metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
    })
}

impl Scrape {
    fn by_surface(&self, figure: fn(&Listed) -> u64) -> impl Iterator<Item = (Labels<'_>, u64)> {
        self.tables.surfaces.iter().map(move |((tenant, surface), listed)| {
            (vec![("tenant", tenant.as_str()), ("surface", *surface)], figure(listed))
        })
    }

    fn by_tool(&self) -> impl Iterator<Item = (Labels<'_>, &Tool)> {
        self.tables.tools.iter().map(|((tenant, name), tool)| {
            let server = tool.server.as_ref().map_or("", |server| server.as_str());
            (vec![("tenant", tenant.as_str()), ("server", server), ("tool", name)], tool)
        })
    }

    fn encode_latencies(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "How long calls took, in seconds";
        let mut metric =
            encoder.encode_descriptor("kitbag_call_duration_seconds", help, None, MetricType::Histogram)?;
        for (labels, tool) in self.by_tool().filter(|(_, tool)| tool.called.count() > 0) {
            let ends = BUCKETS.into_iter().chain([f64::MAX]);
            let buckets: Vec<(f64, u64)> = ends.zip(tool.called.latencies).collect();
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
                tool.called.seconds,
                tool.called.count(),
                &buckets,
                None,
            )?;
        }
        Ok(())
    }

    fn encode_gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Whether a server could be started when that was tried last";
        let mut up = encoder.encode_descriptor("kitbag_upstream_up", help, None, MetricType::Gauge)?;
        for (server, is_up) in &self.servers {
            up.encode_family(&[("server", server.as_str())])?.encode_gauge(&u32::from(*is_up))?;
        }
        let mut gauge = |name, help, value: usize| -> fmt::Result {
            let mut gauge: MetricEncoder<'_> =
                encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            gauge.encode_gauge(&u32::try_from(value).unwrap_or(u32::MAX))
        };
        gauge("kitbag_index_tools", "Tools in the index", self.indexed)?;
        gauge("kitbag_index_vectors", "Tools in the index that have their vector", self.embedded)
    }
}
