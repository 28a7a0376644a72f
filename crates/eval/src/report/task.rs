//! The figures of one model on one surface for the tasks of a suite.

use serde::Serialize;

use super::{Price, Rate, mean};
use crate::dialect::{StopReason, Usage};
use crate::eval_run::EvalRun;
use crate::record::{Record, TaskOutcome};

#[derive(Debug, Serialize)]
pub struct TaskFigures {
    pub asked: usize,
    pub answered: usize,
    /// The share of attempts at whose end everything was as it should be.
    pub done: Option<Rate>,
    /// The share of tasks that were done every time; absent if they were put only once.
    pub done_every_time: Option<Rate>,
    /// The number of the model's answers for a task, on average.
    pub turns: Option<f64>,
    /// The number of the model's calls for a task, on average, and of those that failed.
    pub calls: Option<f64>,
    pub failed_calls: Option<f64>,
    /// The number of attempts that ended at the limit of turns.
    pub out_of_turns: usize,
    /// The tokens of all turns of a task, on average.
    pub tokens: Option<TaskTokens>,
    /// The tokens of all tasks as the endpoint counted them; absent if it did not count them all.
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
    /// The cost of all attempts for each one that was done.
    pub usd_per_done: Option<f64>,
    pub records: Vec<Record>,
}

/// The tokens that a model read and wrote for a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskTokens {
    pub read: f64,
    pub written: f64,
    /// True if the endpoint counted them, and false if they are counted here.
    pub by_endpoint: bool,
}

impl TaskFigures {
    /// Returns `None` for a suite without tasks.
    pub(super) fn new(
        exam: &EvalRun<'_>,
        records: Vec<Record>,
        price: Option<Price>,
    ) -> Option<Self> {
        let usage = super::model::total_usage(&records);
        let cost = price.zip(usage).map(|(price, usage)| price.cost_of(usage));
        let done = records.iter().filter(|it| it.is_right()).count();
        let figures = Self {
            asked: exam.suite.tasks.len() * exam.runs as usize,
            answered: records.len(),
            done: Rate::from_records(&records, Record::is_right),
            done_every_time: (exam.runs > 1)
                .then(|| super::model::rate_every_time(&records))
                .flatten(),
            turns: super::model::mean_turns(&records),
            calls: mean(task_outcomes(&records).map(|it| it.steps.len() as f64)),
            failed_calls: mean(task_outcomes(&records).map(|it| count_failed(it) as f64)),
            out_of_turns: super::model::count_stopped(&records, StopReason::Turns),
            tokens: mean_tokens(&records, usage),
            usage,
            cost_usd: cost,
            usd_per_done: cost.filter(|_| done > 0).map(|cost| cost / done as f64),
            records,
        };
        (figures.asked > 0).then_some(figures)
    }

    /// Returns the most tools that the surface listed in a turn.
    pub(super) fn most_listed(&self) -> usize {
        let listed = task_outcomes(&self.records).map(|it| it.most_listed);
        listed.max().unwrap_or(0)
    }
}

fn task_outcomes(records: &[Record]) -> impl ExactSizeIterator<Item = &TaskOutcome> {
    let outcomes: Vec<_> = records.iter().filter_map(|it| it.task.as_ref()).collect();
    outcomes.into_iter()
}

fn count_failed(outcome: &TaskOutcome) -> usize {
    outcome.steps.iter().filter(|it| it.failed).count()
}

fn mean_tokens(records: &[Record], usage: Option<Usage>) -> Option<TaskTokens> {
    let counted = task_outcomes(records)
        .map(|it| it.counted)
        .reduce(Usage::add);
    let total = usage.or(counted)?;
    let attempts = records.len() as f64;
    Some(TaskTokens {
        read: total.input as f64 / attempts,
        written: total.output as f64 / attempts,
        by_endpoint: usage.is_some(),
    })
}
