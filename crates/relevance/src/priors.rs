//! The part that a tool's record has in its score: how often its calls succeed, how long they take
//! and what they cost.
//!
//! It orders tools that fit an intent nearly equally well. What is not known counts for nothing.

use crate::indexed_tool::IndexedTool;

/// A tool that succeeds as often as this is an ordinary one. Better ones gain a little, worse ones
/// lose more.
const ORDINARY_SUCCESS: f64 = 0.9;
/// Calls that take this long, and longer ones, lose all that slowness can cost.
const SLOW_MS: f64 = 30_000.0;
/// Calls that cost this much, and dearer ones, lose all that a price can cost.
const DEAR_USD: f64 = 0.10;
/// Slowness and price each weigh a tenth of success: a slow tool that works is better than a fast
/// one that fails.
const LESSER: f64 = 0.1;

/// Returns the record of a tool between -1.1 and 0.1; 0 if nothing is known of it.
pub(crate) fn record(tool: &IndexedTool) -> f32 {
    let success = tool
        .success_rate
        .map(|rate| rate.clamp(0.0, 1.0) - ORDINARY_SUCCESS);
    let slowness = tool.p95_latency_ms.map(|it| share(it, SLOW_MS));
    let price = tool.estimated_cost_usd.map(|it| share(it, DEAR_USD));
    let lesser = slowness.unwrap_or(0.0) + price.unwrap_or(0.0);
    (success.unwrap_or(0.0) - LESSER * lesser) as f32
}

fn share(value: f64, most: f64) -> f64 {
    (value / most).clamp(0.0, 1.0)
}
