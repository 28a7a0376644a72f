//! `kitbag eval retrieval`: measures the index on requests with known answers.

mod certainty;
mod report;
mod request;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use kitbag_gateway::index::CapabilityIndex;
use kitbag_relevance::Weights;

use super::sets::{capability_index, index_tools, read_lines, read_tools};
use crate::cli::Invocation;
use crate::cli::output::pluralize;
use report::RetrievalReport;
use request::{RequestResult, RequestRunner};

/// Rank a set's tools for each of its requests and compare with the answers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Folder with tools.jsonl and queries.jsonl.
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// Requests to use instead of the folder's, such as requests without an answer.
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Folder whose tools.jsonl adds distractors; repeatable.
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    #[arg(long, value_enum, default_value_t = Ranker::Hybrid)]
    ranker: Ranker,
    /// List requests without a right tool in the top three, with the top three.
    #[arg(long)]
    misses: bool,
    /// Also show figures for each kind of request.
    #[arg(long, value_enum)]
    by: Option<Grouping>,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval retrieval --dataset evals/p0
  kitbag eval retrieval --dataset my-set --catalog other-tools --json
  kitbag eval retrieval --dataset evals/small --ranker bm25
  kitbag eval retrieval --dataset evals/small --by kind \\
    --queries evals/small/kinds.jsonl
  kitbag eval retrieval --dataset evals/small \\
    --queries evals/absent/queries.jsonl

tools.jsonl:   {\"id\", \"server\"?, \"group\"?, \"name\", \"description\",
                \"schema\"?, \"tags\"?, \"scopes\"?}
queries.jsonl: {\"id\", \"query\", \"relevant\": [ids], \"kind\"?}; no ids if no
               tool answers

Equivalent tools of different servers share a rank, which is right if any of
them is.";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ranker {
    /// Only words.
    Bm25,
    /// Only meaning.
    Dense,
    /// Words and meaning, with equal weight.
    Equal,
    Hybrid,
}

/// Fields to group requests by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    /// The field `kind` of a request.
    Kind,
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

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let index = capability_index(invocation).await?;
    let report = measure_retrieval(arguments, &index, invocation).await?;
    invocation.show(&report.to_json(), |_| report.to_text())?;
    Ok(ExitCode::SUCCESS)
}

async fn measure_retrieval(
    arguments: &Arguments,
    index: &CapabilityIndex,
    invocation: &Invocation,
) -> anyhow::Result<RetrievalReport> {
    let of_the_folder = arguments.dataset.join("queries.jsonl");
    let queries = read_lines(arguments.queries.as_ref().unwrap_or(&of_the_folder))?;
    let started = Instant::now();
    let tools = read_tools(&arguments.dataset, &arguments.catalog)?;
    let progress = invocation.output.progress("Indexing tools");
    let ranker = arguments.ranker;
    let built = index_tools(tools, index, ranker.has_vectors(), &progress).await?;
    let build = started.elapsed();
    let asker = RequestRunner {
        ranker,
        index,
        built: &built,
    };
    let mut results: Vec<RequestResult> = Vec::with_capacity(queries.len());
    let all = pluralize(queries.len(), "request");
    for (number, query) in queries.into_iter().enumerate() {
        progress.update(&format!("Searching: {number} of {all}"));
        results.push(asker.run_request(query).await?);
    }
    let mut report = RetrievalReport::new(&results, built.len(), build);
    report.misses = arguments.misses.then(|| report::list_misses(&results));
    report.by_kind = arguments
        .by
        .map(|Grouping::Kind| report::figures_by_kind(&results));
    Ok(report)
}
