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
    /// The share of attempts without a fault at the end.
    pub done: Option<Rate>,
    /// The share of tasks that were done in every run; `None` if there was one run.
    pub done_every_time: Option<Rate>,
    /// The average number of the model's answers for a task.
    pub turns: Option<f64>,
    /// The average number of the model's calls for a task, and of failed calls.
    pub calls: Option<f64>,
    pub failed_calls: Option<f64>,
    /// The number of attempts that reached the turn limit.
    pub out_of_turns: usize,
    /// The average tokens of all turns of a task.
    pub tokens: Option<TaskTokens>,
    /// The tokens of all tasks counted by the endpoint; `None` if it did not count them all.
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
    /// The cost of all attempts per completed task.
    pub usd_per_done: Option<f64>,
    pub records: Vec<Record>,
}

/// The tokens that a model read and wrote for a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TaskTokens {
    pub read: f64,
    pub written: f64,
    /// True if the endpoint counted them, false if they were counted locally.
    pub by_endpoint: bool,
}

impl TaskFigures {
    /// Returns `None` for a suite without tasks.
    pub(super) fn new(
        run: &EvalRun<'_>,
        records: Vec<Record>,
        price: Option<Price>,
    ) -> Option<Self> {
        let usage = super::model::total_usage(&records);
        let cost = price.zip(usage).map(|(price, usage)| price.cost_of(usage));
        let done = records.iter().filter(|it| it.is_right()).count();
        let figures = Self {
            asked: run.suite.tasks.len() * run.runs as usize,
            answered: records.len(),
            done: Rate::from_records(&records, Record::is_right),
            done_every_time: (run.runs > 1)
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
