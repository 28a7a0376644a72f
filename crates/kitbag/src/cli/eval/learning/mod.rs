//! `kitbag eval learning`: replays the requests of sets as a stream of use, and measures how much it
//! improves the ranking for other requests.

mod curve;
pub(super) mod dice;
mod report;
mod stream;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use kitbag_domain::Timestamp;
use kitbag_relevance::{Experience, Index, Options, Query, Votes, retrieve};

use super::sets::{
    QueryLine, capability_index, embed_request, index_tools, read_lines, read_tools,
};
use crate::cli::Invocation;
use crate::cli::output::pluralize;
use crate::cli::progress::ProgressDisplay;
use curve::{CurvePoint, SetCurves};
use dice::Dice;
use kitbag_gateway::index::CapabilityIndex;
use kitbag_gateway::index::embedded_query::EmbeddedQuery;
use report::LearningReport;
use stream::{ClientHabits, StreamLessons, StreamSplit};

/// Replay a set's requests as tool use, and measure what is learned.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Folder with tools.jsonl and queries.jsonl; repeatable.
    #[arg(long, value_name = "DIR", required = true)]
    dataset: Vec<PathBuf>,
    /// Folder whose tools.jsonl adds distractors; repeatable.
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
    /// Numbers of uses per tool after which the ranking is measured.
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,2,3,5,10"
    )]
    uses: Vec<usize>,
    /// Share of uses of a wrong tool, for the second curve.
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = parse_share)]
    wrong: f64,
    /// Learn nothing from calls of tools that the search did not return.
    #[arg(long)]
    found_only: bool,
    /// Number of random splits; the figures are averages.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    splits: u64,
    /// Seed of the random splits.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

const EXAMPLES: &str = "\
Examples:
  kitbag eval learning --dataset evals/small
  kitbag eval learning --dataset one-set --dataset another --json
  kitbag eval learning --dataset evals/small --uses 1,5 --wrong 0.4
  kitbag eval learning --dataset evals/small --found-only

Half of each tool's requests are held out. The other half are replayed, and the
held-out requests are ranked after each number of uses. Nothing is stored.";

pub(super) async fn run(
    arguments: &Arguments,
    invocation: &Invocation,
) -> anyhow::Result<ExitCode> {
    let index = capability_index(invocation).await?;
    let progress = invocation.output.progress("Indexing tools");
    let mut sets = Vec::new();
    for dataset in &arguments.dataset {
        let set = ReplayedSet::load(dataset, arguments, &index, &progress).await?;
        progress.update(&format!("Replaying {}", set.name));
        sets.push(set.compute_curves(arguments));
    }
    drop(progress);
    let report = LearningReport::new(arguments, sets);
    invocation.show(&report.to_json(), |_| report.to_text())?;
    Ok(ExitCode::SUCCESS)
}

/// A set, prepared for ranking its tools repeatedly.
struct ReplayedSet {
    name: String,
    index: Index,
    tools: Vec<String>,
    requests: Vec<ReplayedRequest>,
}

struct ReplayedRequest {
    intent: EmbeddedQuery,
    relevant: Vec<String>,
    /// The static ranking.
    ranked: Vec<String>,
}

impl ReplayedSet {
    async fn load(
        dataset: &Path,
        arguments: &Arguments,
        index: &CapabilityIndex,
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Self> {
        let tools = read_tools(dataset, &arguments.catalog)?;
        let names = tools.iter().map(|tool| tool.exposed.clone()).collect();
        let mut set = Self {
            name: set_name(dataset),
            index: index_tools(tools, index, true, progress).await?,
            tools: names,
            requests: Vec::new(),
        };
        let queries: Vec<QueryLine> = read_lines(&dataset.join("queries.jsonl"))?;
        let all = pluralize(queries.len(), "request");
        for (number, query) in queries.into_iter().enumerate() {
            progress.update(&format!("Searching: {number} of {all}"));
            let intent = embed_request(index, &query.query).await?;
            set.add_request(intent, query.relevant);
        }
        Ok(set)
    }

    /// Skips requests that no tool of the set answers.
    fn add_request(&mut self, intent: EmbeddedQuery, mut relevant: Vec<String>) {
        relevant.retain(|tool| self.index.get(tool).is_some());
        if !relevant.is_empty() {
            let ranked = rank_tools(&self.index, intent.as_query());
            self.requests.push(ReplayedRequest {
                intent,
                relevant,
                ranked,
            });
        }
    }

    fn compute_curves(&self, arguments: &Arguments) -> SetCurves {
        let mut curves = SetCurves::new(self, &arguments.uses);
        for round in 0..arguments.splits {
            let mut dice = Dice::new(arguments.seed, round);
            let split = StreamSplit::split_requests(&self.requests, &mut dice);
            curves.held_out += split.held_out.len();
            let right = ClientHabits {
                wrong: 0.0,
                found_only: arguments.found_only,
            };
            let wrong = ClientHabits {
                wrong: arguments.wrong,
                ..right
            };
            self.replay_split(&split, right, dice, &mut curves.right);
            self.replay_split(&split, wrong, dice, &mut curves.wrong);
        }
        curves
    }

    /// Measures every point of a curve on the held-out requests of a split.
    fn replay_split(
        &self,
        split: &StreamSplit,
        habits: ClientHabits,
        dice: Dice,
        curve: &mut [CurvePoint],
    ) {
        for point in curve {
            let taught = StreamLessons::from_stream(self, split, point.uses, habits, dice);
            let experience = Experience::from_lessons(taught.lessons, NOW);
            for number in &split.held_out {
                let request = &self.requests[*number];
                let ranked = self.ranked_with(request, &experience);
                point.record_ranking(request, &ranked, &taught.used);
            }
        }
    }

    fn ranked_with(&self, request: &ReplayedRequest, experience: &Experience) -> Vec<String> {
        let intent = request.intent.as_query();
        let votes: Votes = experience.votes_for_query(&intent, NOW);
        let with_votes = Query {
            votes: Some(&votes),
            ..intent
        };
        rank_tools(&self.index, with_votes)
    }
}

/// All lessons have the same age, so that time does not affect the figures.
const NOW: Timestamp = Timestamp(0);

fn rank_tools(index: &Index, intent: Query<'_>) -> Vec<String> {
    let found = retrieve(index, intent, &Options::default(), |_| true);
    let candidates = found.candidates.iter();
    candidates.map(|it| it.entry.tool_name.clone()).collect()
}

/// Returns the folder's own name.
fn set_name(dataset: &Path) -> String {
    let name = dataset.file_name().unwrap_or(dataset.as_os_str());
    name.to_string_lossy().into_owned()
}

fn parse_share(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|it| (0.0..=1.0).contains(it))
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.2".to_owned())
}
