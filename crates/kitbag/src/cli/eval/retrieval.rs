//! `kitbag eval retrieval`: measures how good the index is on requests whose answers are known.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use kitbag_relevance::eval::{Judged, Metrics};
use kitbag_relevance::{Index, Options, Weights, confident, retrieve};
use serde_json::{Value, json};

use super::sets::{QueryLine, capability_index, embedded_request, indexed, read_lines, read_tools};
use crate::cli::Invocation;
use crate::cli::output::{count, duration, table};
use kitbag_gateway::index::CapabilityIndex;
use kitbag_gateway::index::intent::EmbeddedIntent;

/// Rank the tools of a set for each of its requests and compare with the right answers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A folder with tools.jsonl and queries.jsonl.
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// Other requests than those of the folder, such as some that none of its tools answers.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// A folder whose tools.jsonl is added as distractors; may be given several times.
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = Ranker::Hybrid)]
    ranker: Ranker,
    /// Name each request that finds no right tool among the first three, and those that came.
    #[arg(long)]
    misses: bool,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval retrieval --dataset evals/p0
  kitbag eval retrieval --dataset my-set --catalog other-tools --json
  kitbag eval retrieval --dataset evals/small --ranker bm25
  kitbag eval retrieval --dataset evals/small \\
    --queries evals/absent/queries.jsonl

tools.jsonl:   {\"id\", \"server\"?, \"group\"?, \"name\", \"description\",
                \"schema\"?, \"tags\"?, \"scopes\"?}
queries.jsonl: {\"id\", \"query\", \"relevant\": [ids]}, none where no tool answers";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ranker {
    /// Words alone.
    Bm25,
    /// Meaning alone.
    Dense,
    /// Words and meaning, each counting half.
    Equal,
    Hybrid,
}

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let index = capability_index(invocation).await?;
    let report = measure(arguments, &index, invocation).await?;
    invocation
        .output
        .show(&report.json(), |_| report.for_people())?;
    Ok(ExitCode::SUCCESS)
}

struct RetrievalReport {
    tools: usize,
    queries: usize,
    metrics: Metrics,
    /// The share of the rightly answered requests that went with a doubt.
    doubted: DoubtShare,
    /// The share of the requests that nothing answers that went with a doubt.
    seen_through: DoubtShare,
    latencies: Vec<Duration>,
    build: Duration,
    /// Absent unless they were asked for.
    misses: Option<Vec<Value>>,
}

async fn measure(
    arguments: &Arguments,
    index: &CapabilityIndex,
    invocation: &Invocation,
) -> anyhow::Result<RetrievalReport> {
    let of_the_folder = arguments.dataset.join("queries.jsonl");
    let queries = read_lines(arguments.queries.as_ref().unwrap_or(&of_the_folder))?;
    let started = Instant::now();
    let tools = read_tools(&arguments.dataset, &arguments.catalog)?;
    let going_on = invocation.output.progress("Indexing tools");
    let ranker = arguments.ranker;
    let built = indexed(tools, index, ranker.has_vectors(), &going_on).await?;
    let build = started.elapsed();
    let mut searches = Vec::with_capacity(queries.len());
    let all = count(queries.len(), "request");
    for (number, query) in queries.into_iter().enumerate() {
        going_on.update(&format!("Searching: {number} of {all}"));
        searches.push(TimedSearch::of(query, ranker, index, &built).await?);
    }
    let missed = searches.iter().filter_map(TimedSearch::missed);
    Ok(RetrievalReport {
        misses: arguments.misses.then(|| missed.collect()),
        ..RetrievalReport::of(&searches, built.len(), build)
    })
}

/// A request of the set, and the tools that were found for it.
struct TimedSearch {
    query: String,
    relevant: Vec<String>,
    ranked: Vec<String>,
    /// True if the ranking went with a doubt.
    doubt: bool,
    took: Duration,
}

impl TimedSearch {
    async fn of(
        query: QueryLine,
        ranker: Ranker,
        index: &CapabilityIndex,
        built: &Index,
    ) -> anyhow::Result<Self> {
        let asked = Instant::now();
        let intent = if ranker.has_vectors() {
            embedded_request(index, &query.query).await?
        } else {
            EmbeddedIntent::of_words(query.query.clone())
        };
        let options = Options {
            weights: ranker.weights(),
            ..Options::default()
        };
        let found = retrieve(built, intent.as_intent(), &options, |_| true);
        Ok(Self {
            took: asked.elapsed(),
            doubt: confident(&found) == Some(false),
            ranked: found.iter().map(|it| it.entry.tool_name.clone()).collect(),
            relevant: query.relevant,
            query: query.query,
        })
    }

    /// True if a model would have been shown a right tool.
    fn is_answered(&self) -> bool {
        let mut shown = self.ranked.iter().take(SHOWN);
        shown.any(|name| self.relevant.contains(name))
    }

    /// Returns the request with the first three tools, if none of them is right and one would be.
    fn missed(&self) -> Option<Value> {
        let first: Vec<&String> = self.ranked.iter().take(3).collect();
        let is_found = first.iter().any(|name| self.relevant.contains(name));
        (!is_found && !self.relevant.is_empty())
            .then(|| json!({ "query": self.query, "relevant": self.relevant, "found": first }))
    }

    fn judged(&self) -> Judged<'_> {
        Judged {
            ranked: self.ranked.iter().map(String::as_str).collect(),
            relevant: self.relevant.iter().map(String::as_str).collect(),
        }
    }
}

/// The number of tools that a model is shown unless it asks for more.
const SHOWN: usize = 5;

/// The part of some requests that went with a doubt.
#[derive(Debug, Default)]
struct DoubtShare {
    of: usize,
    some: usize,
}

impl DoubtShare {
    fn count(&mut self, one: bool) {
        self.of += 1;
        self.some += usize::from(one);
    }

    /// Returns nothing for a share of nothing.
    fn figure(&self) -> Option<f64> {
        (self.of > 0).then(|| self.some as f64 / self.of as f64)
    }
}

impl Ranker {
    fn has_vectors(self) -> bool {
        self != Self::Bm25
    }

    fn weights(self) -> Weights {
        match self {
            Self::Bm25 => Weights::LEXICAL,
            Self::Dense => Weights::DENSE,
            Self::Equal => Weights::EQUAL,
            Self::Hybrid => Weights::LEARNED,
        }
    }
}

impl RetrievalReport {
    fn of(searches: &[TimedSearch], tools: usize, build: Duration) -> Self {
        let (mut doubted, mut seen_through) = (DoubtShare::default(), DoubtShare::default());
        for search in searches {
            if search.relevant.is_empty() {
                seen_through.count(search.doubt);
            } else if search.is_answered() {
                doubted.count(search.doubt);
            }
        }
        let judged: Vec<_> = searches.iter().map(TimedSearch::judged).collect();
        let mut latencies: Vec<_> = searches.iter().map(|it| it.took).collect();
        latencies.sort_unstable();
        Self {
            tools,
            queries: searches.len(),
            metrics: Metrics::over(&judged),
            doubted,
            seen_through,
            latencies,
            build,
            misses: None,
        }
    }

    fn json(&self) -> Value {
        let recall: serde_json::Map<_, _> = self
            .metrics
            .recall
            .iter()
            .map(|(k, value)| (k.to_string(), json!(value)))
            .collect();
        json!({
            "tools": self.tools,
            "queries": self.queries,
            "recall": recall,
            "hit": { "3": self.metrics.hit3 },
            "ndcg": { "10": self.metrics.ndcg10 },
            "unsure": { "answered": self.doubted.figure(), "absent": self.seen_through.figure() },
            "latency_ms": { "p50": self.latency(0.5), "p99": self.latency(0.99) },
            "build_s": self.build.as_secs_f64(),
            "misses": self.misses,
        })
    }

    fn for_people(&self) -> String {
        let mut rows: Vec<[String; 2]> = vec![
            ["tools".into(), self.tools.to_string()],
            ["requests".into(), self.queries.to_string()],
        ];
        rows.extend(
            self.metrics
                .recall
                .iter()
                .map(|(k, value)| [format!("recall@{k}"), format!("{value:.3}")]),
        );
        rows.push(["hit@3".into(), format!("{:.3}", self.metrics.hit3)]);
        rows.push(["nDCG@10".into(), format!("{:.3}", self.metrics.ndcg10)]);
        let shares = [
            ("unsure though right", &self.doubted),
            ("unsure where nothing fits", &self.seen_through),
        ];
        for (name, share) in shares {
            rows.extend(
                share
                    .figure()
                    .map(|figure| [name.into(), format!("{figure:.3}")]),
            );
        }
        rows.push(["latency p50".into(), format!("{:.2} ms", self.latency(0.5))]);
        rows.push([
            "latency p99".into(),
            format!("{:.2} ms", self.latency(0.99)),
        ]);
        rows.push(["built in".into(), duration(self.build)]);
        let misses = self.misses.iter().flatten().map(ToString::to_string);
        let misses: Vec<String> = misses.collect();
        format!("{}{}", table(["FIGURE", "VALUE"], rows), misses.join("\n"))
    }

    fn latency(&self, quantile: f64) -> f64 {
        let at = ((self.latencies.len() as f64 - 1.0) * quantile)
            .round()
            .max(0.0) as usize;
        self.latencies
            .get(at)
            .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    }
}
