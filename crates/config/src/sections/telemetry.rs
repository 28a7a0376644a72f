//! `[telemetry]`: the way in which figures leave the gateway.

use toml::{Spanned, Value};
use url::Url;

use crate::Config;
use crate::error::{Fault, Problem};
use crate::rows::{
    Fallback, KeyRow, KeyTable, Restart, Secrecy, SectionRow, TableLayout, ValueType,
};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow = SectionRow {
    name: "telemetry",
    layout: TableLayout::One(&TABLE),
    fingerprint: Some(|config| format!("{:?}", config.telemetry)),
};

const TABLE: KeyTable = KeyTable {
    path: "telemetry",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "otlp_endpoint",
            default: Fallback::Unset("none"),
            secrecy: Secrecy::Address,
            restart: Some(Restart::unless_same(|a, b| {
                a.telemetry.collector == b.telemetry.collector
            })),
            meaning: "The address at which the collector takes OTLP over HTTP: `\"http://127.0.0.1:4318\"`. \
                      `/v1/traces` and `/v1/metrics` are added to it.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "metrics_per_tool",
            value: ValueType::Flag,
            default: Fallback::Value(|| Value::Boolean(Telemetry::default().per_tool)),
            restart: Some(Restart {
                same: same_for_collector,
                note: "A change reaches the collector after a restart.",
            }),
            meaning: "`true` counts calls, their latencies and their results for each tool, `false` for each server: \
                      series per tool grow with tenants times tools, and 500 tools used by 20 tenants are some \
                      160,000 of them. `/v1/tokens` always has every tool.",
            ..KeyRow::PLAIN
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawTelemetry {
    otlp_endpoint: Option<Spanned<String>>,
    metrics_per_tool: Option<bool>,
}

/// The way in which figures leave the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// The OpenTelemetry collector that receives figures and spans.
    pub collector: Option<Url>,
    /// True if every tool has series of its own. Their number grows with tenants times tools: 500
    /// tools used by 20 tenants are some 160,000 series, more than most operators would store.
    pub per_tool: bool,
}

/// The pages that clients ask for follow a change at once. Only a collector that runs since the
/// start goes on as before.
fn same_for_collector(running: &Config, config: &Config) -> bool {
    running.telemetry.collector.is_none() || running.telemetry.per_tool == config.telemetry.per_tool
}

pub(crate) fn build(raw: &RawTelemetry) -> Result<Telemetry, Fault> {
    Ok(Telemetry {
        collector: raw
            .otlp_endpoint
            .as_ref()
            .map(parse_collector)
            .transpose()?,
        per_tool: raw.metrics_per_tool.unwrap_or_default(),
    })
}

fn parse_collector(text: &Spanned<String>) -> Result<Url, Fault> {
    parse_web_address(text.get_ref()).ok_or_else(|| {
        Section::new("telemetry").fault_at("otlp_endpoint", text, Problem::Collector)
    })
}
