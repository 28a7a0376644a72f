//! Calls, latency and tokens of the last day as charts.

use kitbag_gateway::admin::app::{HourOfUse, UseHistory};
use maud::{Markup, html};

use crate::pages::chart::{Bar, bars, nested_bars};
use crate::pages::elements::{empty_state, number, time};

pub(super) fn render(history: &UseHistory) -> Markup {
    let chart = |parts: fn(&HourOfUse) -> Vec<f64>| -> Vec<Bar> {
        let hours = history.hours.iter();
        hours
            .map(|hour| Bar {
                label: label(hour),
                parts: parts(hour),
            })
            .collect()
    };
    let calls = chart(|it| {
        let (failed, rejected) = (it.failed as f64, it.rejected as f64);
        vec![it.calls as f64 - failed - rejected, rejected, failed]
    });
    let latencies = chart(|it| {
        vec![
            it.p50_latency_ms.unwrap_or_default(),
            it.p95_latency_ms.unwrap_or_default(),
        ]
    });
    let tokens = chart(|it| vec![it.tokens_spent as f64, it.tokens_saved as f64]);
    let total = &history.total;
    html! {
        @if !history.complete {
            p.muted role="status" { "Earlier hours are still being counted; reload the page in a moment." }
        }
        @if total.calls == 0 && total.tokens_spent == 0 && history.complete {
            (empty_state("No calls in the last 24 hours.", &html! {
                "Connect a client: " code { "kitbag install --client cursor" } ", or " a href="/ui/tools" { "try a tool" } " here."
            }))
        } @else {
            div.split {
                div { (bars(&titled("Calls per hour", &calls), &["completed", "rejected", "failed"], &calls)) }
                div { (nested_bars(&format!("Latency in ms (UTC), at most {}", number(slowest(&latencies))), &["median", "95 %"], &latencies)) }
                div { (bars(&titled("Tokens per hour", &tokens), &["spent", "saved"], &tokens)) }
            }
            p.muted { "Tokens are estimates. Those of tool lists are counted since the gateway was started, "
                (time(history.lists_since)) "." }
        }
    }
}

/// Adds the height of the highest bar to a title.
fn titled(title: &str, bars: &[Bar]) -> String {
    let highest = bars.iter().map(|bar| bar.parts.iter().sum::<f64>());
    let highest = highest.fold(0.0, f64::max);
    format!("{title} (UTC), at most {}", number(highest as u64))
}

fn slowest(bars: &[Bar]) -> u64 {
    let parts = bars.iter().flat_map(|bar| &bar.parts);
    parts.copied().fold(0.0, f64::max).ceil() as u64
}

fn label(hour: &HourOfUse) -> String {
    let start = jiff::Timestamp::from_millisecond(hour.start.0).unwrap_or_default();
    start.strftime("%H:%M").to_string()
}
