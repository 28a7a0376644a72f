//! The figures of a set, for people and for programs.

use std::collections::BTreeMap;
use std::time::Duration;

use kitbag_relevance::metrics::{JudgedQuery, Metrics};
use serde_json::{Map, Value, json};

use super::certainty::Certainty;
use super::request::RequestResult;
use crate::cli::output::{format_duration, format_table};

pub(super) struct RetrievalReport {
    tools: usize,
    requests: usize,
    /// False if no request has an answer, so that rankings cannot be measured.
    has_right_tools: bool,
    metrics: Metrics,
    certainty: Certainty,
    latencies: Vec<Duration>,
    build: Duration,
    /// Absent unless requested.
    pub(super) misses: Option<Vec<Value>>,
    /// Absent unless requested.
    pub(super) by_kind: Option<Vec<KindFigures>>,
}

/// The figures of one kind of request.
pub(super) struct KindFigures {
    kind: String,
    requests: usize,
    metrics: Metrics,
}

/// Returns requests without a right tool in the top three, with the top three.
pub(super) fn list_misses(results: &[RequestResult]) -> Vec<Value> {
    results
        .iter()
        .filter_map(RequestResult::describe_miss)
        .collect()
}

pub(super) fn figures_by_kind(results: &[RequestResult]) -> Vec<KindFigures> {
    let mut kinds: BTreeMap<&str, Vec<JudgedQuery<'_>>> = BTreeMap::new();
    for request in results {
        let kind = request.query.kind.as_deref().unwrap_or("no kind");
        kinds.entry(kind).or_default().push(request.to_judged());
    }
    let figures = kinds.into_iter().map(|(kind, judged)| KindFigures {
        kind: kind.to_owned(),
        requests: judged.len(),
        metrics: Metrics::from_queries(&judged),
    });
    figures.collect()
}

impl RetrievalReport {
    pub(super) fn new(results: &[RequestResult], tools: usize, build: Duration) -> Self {
        let judged: Vec<_> = results.iter().map(RequestResult::to_judged).collect();
        let mut latencies: Vec<_> = results.iter().map(|it| it.took).collect();
        latencies.sort_unstable();
        Self {
            tools,
            requests: results.len(),
            has_right_tools: judged.iter().any(|it| !it.relevant.is_empty()),
            metrics: Metrics::from_queries(&judged),
            certainty: Certainty::new(results),
            latencies,
            build,
            misses: None,
            by_kind: None,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let kinds = self.by_kind.as_ref();
        let mut report = metrics_json(&self.metrics);
        let further = json!({
            "tools": self.tools,
            "queries": self.requests,
            "confidence": self.certainty,
            "latency_ms": { "p50": self.latency_ms(0.5), "p99": self.latency_ms(0.99) },
            "build_s": self.build.as_secs_f64(),
            "misses": self.misses,
            "kinds": kinds.map(|kinds| kinds.iter().map(KindFigures::to_json).collect::<Map<_, _>>()),
        });
        if let Value::Object(further) = further {
            report.extend(further);
        }
        Value::Object(report)
    }

    pub(super) fn to_text(&self) -> String {
        let rows = [
            vec![
                ["tools".to_owned(), self.tools.to_string()],
                ["requests".to_owned(), self.requests.to_string()],
            ],
            self.quality_rows(),
            self.certainty_rows(),
            vec![
                figure_row("latency p50", format!("{:.2} ms", self.latency_ms(0.5))),
                figure_row("latency p99", format!("{:.2} ms", self.latency_ms(0.99))),
                figure_row("built in", format_duration(self.build)),
            ],
        ];
        let kinds = self.by_kind.as_deref().map(kinds_table);
        let misses = self.misses.iter().flatten().map(ToString::to_string);
        let misses: Vec<String> = misses.collect();
        let figures = format_table(["FIGURE", "VALUE"], rows.concat());
        format!(
            "{figures}{}{}",
            kinds.unwrap_or_default(),
            misses.join("\n")
        )
    }

    fn quality_rows(&self) -> Vec<[String; 2]> {
        if !self.has_right_tools {
            return Vec::new();
        }
        let recall = self.metrics.recall.iter();
        let recall =
            recall.map(|(k, value)| figure_row(&format!("recall@{k}"), format_share(*value)));
        let others = [
            figure_row("hit@3", format_share(self.metrics.hit3)),
            figure_row("nDCG@10", format_share(self.metrics.ndcg10)),
        ];
        recall.chain(others).collect()
    }

    fn certainty_rows(&self) -> Vec<[String; 2]> {
        let it = &self.certainty;
        let figures = [
            ("unsure though right", it.doubted_though_right),
            ("unsure where nothing fits", it.doubted_where_nothing_fits),
            ("calibration error, first", it.calibration_error.first),
            ("calibration error, any of five", it.calibration_error.any),
            ("recognized without the tool", it.recognised.without_tool),
            (
                "recognized without the server",
                it.recognised.without_server,
            ),
            ("recognized where nothing fits", it.recognised.absent),
        ];
        let known = figures.into_iter();
        known
            .filter_map(|(name, figure)| Some(figure_row(name, format_share(figure?))))
            .collect()
    }

    fn latency_ms(&self, quantile: f64) -> f64 {
        let at = ((self.latencies.len() as f64 - 1.0) * quantile)
            .round()
            .max(0.0) as usize;
        self.latencies
            .get(at)
            .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    }
}

impl KindFigures {
    fn to_json(&self) -> (String, Value) {
        let mut figures = metrics_json(&self.metrics);
        figures.insert("queries".to_owned(), json!(self.requests));
        (self.kind.clone(), Value::Object(figures))
    }
}

fn metrics_json(metrics: &Metrics) -> Map<String, Value> {
    let recall = metrics.recall.iter();
    let recall: Map<_, _> = recall.map(|(k, it)| (k.to_string(), json!(it))).collect();
    let figures = [
        ("recall", Value::Object(recall)),
        ("hit", json!({ "3": metrics.hit3 })),
        ("ndcg", json!({ "10": metrics.ndcg10 })),
    ];
    let named = figures.into_iter();
    named
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn kinds_table(kinds: &[KindFigures]) -> String {
    let header = ["KIND", "REQUESTS", "R@1", "R@5", "R@20", "NDCG@10"];
    format_table(header, kinds.iter().map(kind_row))
}

fn kind_row(it: &KindFigures) -> [String; 6] {
    let [one, five, twenty] = [1, 5, 20].map(|k| format_share(it.metrics.recall[&k]));
    let (kind, requests) = (it.kind.clone(), it.requests.to_string());
    [
        kind,
        requests,
        one,
        five,
        twenty,
        format_share(it.metrics.ndcg10),
    ]
}

fn figure_row(name: &str, value: String) -> [String; 2] {
    [name.to_owned(), value]
}

fn format_share(value: f64) -> String {
    format!("{value:.3}")
}
