//! The score of a tool's record: success rate, latency and cost.
//!
//! It orders tools that fit a query about equally well. Unknown figures count as 0.

use crate::indexed_tool::IndexedTool;

/// An average success rate. Higher rates gain a little; lower ones lose more.
const ORDINARY_SUCCESS: f64 = 0.9;
/// The full penalty for latency applies from here on.
const SLOW_MS: f64 = 30_000.0;
/// The full penalty for cost applies from here on.
const EXPENSIVE_USD: f64 = 0.10;
/// Latency and cost each weigh a tenth of success: a slow tool that works beats a fast one that
/// fails.
const COST_WEIGHT: f64 = 0.1;

/// Returns a score between -1.1 and 0.1; 0 if nothing is known.
pub(crate) fn score_record(tool: &IndexedTool) -> f32 {
    let success = tool
        .success_rate
        .map(|rate| rate.clamp(0.0, 1.0) - ORDINARY_SUCCESS);
    let slowness = tool.p95_latency_ms.map(|it| capped_ratio(it, SLOW_MS));
    let price = tool
        .estimated_cost_usd
        .map(|it| capped_ratio(it, EXPENSIVE_USD));
    let lesser = slowness.unwrap_or(0.0) + price.unwrap_or(0.0);
    (success.unwrap_or(0.0) - COST_WEIGHT * lesser) as f32
}

fn capped_ratio(value: f64, most: f64) -> f64 {
    (value / most).clamp(0.0, 1.0)
}
