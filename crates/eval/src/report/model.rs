//! The figures of one model on one surface.

use serde::Serialize;

use super::{Group, Rate, TaskFigures, TokenFigures, group, mean, short_model_name};
use crate::dialect::{StopReason, Usage};
use crate::eval_run::{EvalCandidate, EvalRun};
use crate::judge::ChoiceOutcome;
use crate::progress::{EvalResults, UnansweredQuestion};
use crate::record::Record;
use crate::surface::{EvalSurface, ShownSurface};

#[derive(Debug, Serialize)]
pub struct ModelReport {
    pub model: String,
    pub surface: EvalSurface,
    /// The name without the URL, if no other model of the eval has the same name. It includes the
    /// surface, unless every model was shown every tool.
    pub short: String,
    pub asked: usize,
    pub answered: usize,
    pub invocation_accuracy: Option<Rate>,
    pub argument_accuracy: Option<Rate>,
    pub retry_rate: Option<Rate>,
    /// The number of retries that were right.
    pub recovered: usize,
    /// The share of prompts that were answered rightly in every run; `None` if there was one run.
    pub right_every_time: Option<Rate>,
    pub outcomes: Vec<(ChoiceOutcome, usize)>,
    /// The number of answers that ended early.
    pub cut_off: usize,
    pub refused: usize,
    pub by_tool: Vec<Group>,
    pub by_category: Vec<Group>,
    /// The average number of the model's answers to a prompt.
    pub turns: Option<f64>,
    pub tokens: TokenFigures,
    /// The tokens counted by the endpoint; `None` if it did not count every answer.
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
    pub latency_ms: Option<Latency>,
    pub unanswered: Vec<UnansweredQuestion>,
    pub records: Vec<Record>,
    /// The figures of tasks; the ones above are about prompts.
    pub tasks: Option<TaskFigures>,
    /// The endpoint's limit, if the surface listed more tools than one request may contain.
    pub cut: Option<ToolCut>,
}

/// A list of tools that was too long for an endpoint. The first tools of the list were shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ToolCut {
    pub listed: usize,
    pub shown: usize,
}

#[derive(Debug, Serialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
}

impl ModelReport {
    pub(super) fn new(
        run: &EvalRun<'_>,
        candidate: &EvalCandidate,
        shown: &ShownSurface<'_>,
        results: &EvalResults,
        baseline: Option<usize>,
    ) -> Self {
        let (model, surface) = (candidate.model_name(), shown.surface);
        let (tasks, records): (Vec<_>, Vec<_>) = results
            .records_for(&model, surface)
            .into_iter()
            .partition(|it| it.task.is_some());
        let tasks = TaskFigures::new(run, tasks, candidate.price);
        let usage = total_usage(&records);
        let cost = candidate.price.zip(usage);
        Self {
            short: short_model_name(run, candidate, surface),
            asked: match surface.judges_first_calls() {
                true => run.suite.prompts.len() * run.runs as usize,
                false => 0,
            },
            cut: ToolCut::for_surface(candidate, shown, tasks.as_ref()),
            answered: records.len(),
            invocation_accuracy: Rate::from_records(&records, Record::has_right_tool),
            argument_accuracy: Rate::from_records(&records, Record::is_right),
            retry_rate: Rate::from_records(&records, Record::has_retried),
            recovered: records.iter().filter(|it| it.has_recovered()).count(),
            right_every_time: (run.runs > 1).then(|| rate_every_time(&records)).flatten(),
            outcomes: ChoiceOutcome::ALL
                .map(|outcome| (outcome, count_outcome(&records, outcome)))
                .into(),
            cut_off: count_stopped(&records, StopReason::Length),
            refused: count_stopped(&records, StopReason::Refusal),
            by_tool: group::by_tool(run.suite, &records),
            by_category: group::by_category(run.suite, &records),
            turns: mean_turns(&records),
            tokens: TokenFigures::new(run.count, candidate, shown, &records, baseline),
            usage,
            cost_usd: cost.map(|(price, usage)| price.cost_of(usage)),
            latency_ms: Latency::from_records(&records),
            unanswered: results.unanswered_for(&model, surface),
            records,
            tasks,
            model,
            surface,
        }
    }
}

impl ToolCut {
    fn for_surface(
        candidate: &EvalCandidate,
        shown: &ShownSurface<'_>,
        tasks: Option<&TaskFigures>,
    ) -> Option<Self> {
        let in_tasks = tasks.map_or(0, TaskFigures::most_listed);
        let listed = shown.tools.len().max(in_tasks);
        let most = candidate.client.endpoint().most_tools()?;
        (listed > most).then_some(Self {
            listed,
            shown: most,
        })
    }
}

fn count_outcome(records: &[Record], outcome: ChoiceOutcome) -> usize {
    let records = records.iter();
    records.filter(|it| it.outcome() == outcome).count()
}

pub(super) fn count_stopped(records: &[Record], stop: StopReason) -> usize {
    records.iter().filter(|it| it.stop == Some(stop)).count()
}

/// Returns `None` if one of the records does not contain the number of turns.
pub(super) fn mean_turns(records: &[Record]) -> Option<f64> {
    let turns: Option<Vec<f64>> = records.iter().map(|it| it.turns.map(f64::from)).collect();
    mean(turns?.into_iter())
}

pub(super) fn rate_every_time(records: &[Record]) -> Option<Rate> {
    // The runs of a prompt are adjacent.
    let prompts = records.chunk_by(|one, next| one.prompt == next.prompt);
    let right: Vec<bool> = prompts
        .map(|runs| runs.iter().all(Record::is_right))
        .collect();
    let count = right.iter().filter(|right| **right).count();
    (!right.is_empty()).then(|| Rate::new(count, right.len(), right.len()))
}

/// Returns `None` if there are no records, or if the endpoint did not count one of them.
pub(super) fn total_usage(records: &[Record]) -> Option<Usage> {
    let used: Option<Vec<Usage>> = records.iter().map(|it| it.usage).collect();
    used?.into_iter().reduce(Usage::add)
}

impl Latency {
    fn from_records(records: &[Record]) -> Option<Self> {
        let mut sorted: Vec<u64> = records.iter().map(|it| it.ms).collect();
        sorted.sort_unstable();
        Some(Self {
            p50: quantile(&sorted, 0.5)?,
            p99: quantile(&sorted, 0.99)?,
        })
    }
}

fn quantile(sorted: &[u64], quantile: f64) -> Option<u64> {
    let index = (sorted.len() as f64 * quantile).ceil() as usize;
    sorted.get(index.saturating_sub(1)).copied()
}
