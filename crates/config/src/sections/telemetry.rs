//! `[telemetry]`: export of metrics and spans.

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
            meaning: "The base URL of an OTLP collector over HTTP: `\"http://127.0.0.1:4318\"`. `/v1/traces` and \
                      `/v1/metrics` are appended.",
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
            meaning: "`true` counts calls, latencies and results per tool, `false` per server. Series per tool grow \
                      with tenants times tools: 500 tools used by 20 tenants are about 160,000 series. `/v1/tokens` \
                      always has every tool.",
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

/// Export of metrics and spans.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// The OpenTelemetry collector that receives metrics and spans.
    pub collector: Option<Url>,
    /// True if every tool has its own series. Their number grows with tenants times tools: 500
    /// tools used by 20 tenants are about 160,000 series, more than most operators want to store.
    pub per_tool: bool,
}

/// The metrics endpoints follow a change at once. Only a collector that was connected at start
/// keeps the old setting.
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
