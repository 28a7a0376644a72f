//! `[telemetry]`: export of metrics and spans.

use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::rows::{KeyRow, KeyTable, Restart, Secrecy, SectionRow};
use crate::values::{Section, parse_web_address};

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.telemetry));

const TABLE: KeyTable = KeyTable {
    path: "telemetry",
    alternatives: &[],
    rows: &[
        KeyRow {
            name: "otlp_endpoint",
            secrecy: Secrecy::Address,
            restart: Some(Restart::unless_same(|a, b| {
                a.telemetry.collector == b.telemetry.collector
            })),
            meaning: "The base URL of an OTLP collector over HTTP: `\"http://127.0.0.1:4318\"`. `/v1/traces` and \
                      `/v1/metrics` are appended.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "metrics_per_tool",
            restart: Some(Restart {
                // The metrics endpoints follow a change at once. Only a collector that was connected
                // at start keeps the old setting.
                same: |a, b| {
                    a.telemetry.collector.is_none() || a.telemetry.per_tool == b.telemetry.per_tool
                },
                note: "A change reaches the collector after a restart.",
            }),
            meaning: "`true` counts calls, latencies and results per tool, `false` per server. Series per tool grow \
                      with tenants times tools: 500 tools used by 20 tenants are about 160,000 series. `/v1/tokens` \
                      always has every tool.",
            ..KeyRow::flag(|| Telemetry::default().per_tool)
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

pub(crate) fn build(raw: &RawTelemetry) -> Result<Telemetry, Fault> {
    let section = Section::new("telemetry");
    let collector = raw.otlp_endpoint.as_ref().map(|text| {
        parse_web_address(text.get_ref())
            .ok_or_else(|| section.fault_at("otlp_endpoint", text, Problem::Collector))
    });
    Ok(Telemetry {
        collector: collector.transpose()?,
        per_tool: raw.metrics_per_tool.unwrap_or_default(),
    })
}
