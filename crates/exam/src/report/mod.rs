//! The figures of an exam. What was not measured is absent, never nought.
//!
//! # Layout
//! - this file: the figures of each model; `rate`: a share and how sure it is
//! - `group`: the same for some of the prompts; `compare`: two models on the same prompts

mod compare;
mod group;
mod rate;

use serde::Serialize;

pub use compare::Comparison;
pub use group::{Group, Instead};
pub use rate::Rate;

use crate::dialect::{Stop, Usage};
use crate::exam::{Candidate, Exam, Sat, Unanswered};
use crate::journal::Record;
use crate::judge::Outcome;
use crate::rehearsal::Played;
use crate::suite::{Arguments, Prompt};

/// In US dollars for a million tokens, as the person who pays says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// What figures are seen against, and what is told along with them.
#[derive(Debug)]
pub struct Setting {
    /// When, as a person reads it.
    pub at: String,
    pub counted_with: &'static str,
    /// What the model would read instead of using tools.
    pub baseline_tokens: Option<usize>,
    pub scenarios: Vec<Played>,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub suite: String,
    pub at: String,
    pub prompts: Vec<PromptRow>,
    pub runs: u32,
    pub tools: usize,
    pub parameters: Arguments,
    pub counted_with: &'static str,
    pub baseline_tokens: Option<usize>,
    pub models: Vec<ModelReport>,
    /// Each model with the first.
    pub comparisons: Vec<Comparison>,
    pub scenarios: Vec<Played>,
}

#[derive(Debug, Serialize)]
pub struct PromptRow {
    pub id: String,
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub expected: String,
}

#[derive(Debug, Serialize)]
pub struct ModelReport {
    pub model: String,
    /// Without where it is, if no other model of the exam has the same name.
    pub short: String,
    pub asked: usize,
    pub answered: usize,
    pub invocation_accuracy: Option<Rate>,
    pub argument_accuracy: Option<Rate>,
    pub retry_rate: Option<Rate>,
    /// How many of the retries came out right.
    pub recovered: usize,
    /// Of the prompts, those answered rightly every time; absent if they were put only once.
    pub right_every_time: Option<Rate>,
    pub outcomes: Vec<(Outcome, usize)>,
    /// Answers that ended early.
    pub cut_off: usize,
    pub refused: usize,
    pub by_tool: Vec<Group>,
    pub by_category: Vec<Group>,
    pub tokens: Tokens,
    /// As the endpoint counted; absent if it did not for every answer.
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
    pub latency_ms: Option<Latency>,
    pub unanswered: Vec<Unanswered>,
    pub records: Vec<Record>,
}

/// What tools put into a context.
#[derive(Debug, Serialize)]
pub struct Tokens {
    pub definitions: usize,
    /// Definitions, calls and results, on average.
    pub per_prompt: Option<f64>,
    pub share_of_baseline: Option<f64>,
}

#[derive(Debug, Serialize)]
pub struct Latency {
    pub p50: u64,
    pub p99: u64,
}

impl Price {
    pub fn of(self, usage: Usage) -> f64 {
        (self.input * usage.input as f64 + self.output * usage.output as f64) / 1e6
    }
}

impl Report {
    pub fn new(exam: &Exam<'_>, sat: &Sat, setting: Setting) -> Self {
        let Setting {
            at,
            counted_with,
            baseline_tokens,
            scenarios,
        } = setting;
        let model = |candidate| ModelReport::new(exam, candidate, sat, baseline_tokens);
        let models: Vec<_> = exam.candidates.iter().map(model).collect();
        let comparisons = match models.split_first() {
            Some((first, others)) => others.iter().map(|it| first.compared(it, exam)).collect(),
            None => Vec::new(),
        };
        Self {
            suite: exam.suite.name.clone(),
            at,
            prompts: exam.suite.prompts.iter().map(PromptRow::new).collect(),
            runs: exam.runs,
            tools: exam.tools.len(),
            parameters: exam.parameters.clone(),
            counted_with,
            baseline_tokens,
            models,
            comparisons,
            scenarios,
        }
    }
}

impl Report {
    /// What a model is called in a few letters.
    pub fn short<'a>(&'a self, model: &'a str) -> &'a str {
        self.models
            .iter()
            .find(|it| it.model == model)
            .map_or(model, |it| &it.short)
    }
}

impl PromptRow {
    fn new(prompt: &Prompt) -> Self {
        let arguments =
            serde_json::to_string(&prompt.expect.arguments).expect("arguments are JSON");
        Self {
            id: prompt.id.clone(),
            prompt: prompt.prompt.clone(),
            category: prompt.category.clone(),
            expected: format!("{} {arguments}", prompt.expect.tool),
        }
    }
}

impl ModelReport {
    fn new(exam: &Exam<'_>, candidate: &Candidate, sat: &Sat, baseline: Option<usize>) -> Self {
        let model = candidate.client.endpoint().to_string();
        let records: Vec<_> = sat
            .records
            .iter()
            .filter(|it| it.model == model)
            .cloned()
            .collect();
        let unanswered = sat
            .unanswered
            .iter()
            .filter(|it| it.model == model)
            .cloned()
            .collect();
        let rate = |is: fn(&Record) -> bool| Rate::of(&records, is);
        let number = |is: &dyn Fn(&Record) -> bool| records.iter().filter(|it| is(it)).count();
        let usage = (!records.is_empty()).then(|| sum(&records)).flatten();
        Self {
            short: short(exam, candidate),
            asked: exam.suite.prompts.len() * exam.runs as usize,
            answered: records.len(),
            invocation_accuracy: rate(|it| it.outcome().is_right_tool()),
            argument_accuracy: rate(|it| it.outcome() == Outcome::Right),
            retry_rate: rate(Record::retried),
            recovered: number(&Record::recovered),
            right_every_time: (exam.runs > 1).then(|| every_time(&records)).flatten(),
            outcomes: Outcome::ALL
                .map(|outcome| (outcome, number(&|it| it.outcome() == outcome)))
                .into(),
            cut_off: number(&|it| it.stop == Some(Stop::Length)),
            refused: number(&|it| it.stop == Some(Stop::Refusal)),
            by_tool: group::by_tool(exam.suite, &records),
            by_category: group::by_category(exam.suite, &records),
            tokens: Tokens::new(exam, candidate, &records, baseline),
            usage,
            cost_usd: candidate
                .price
                .zip(usage)
                .map(|(price, usage)| price.of(usage)),
            latency_ms: Latency::of(&records),
            unanswered,
            records,
            model,
        }
    }

    fn compared(&self, other: &Self, exam: &Exam<'_>) -> Comparison {
        compare::compare(
            exam.suite,
            (&self.model, &self.records),
            (&other.model, &other.records),
        )
    }
}

fn short(exam: &Exam<'_>, candidate: &Candidate) -> String {
    let endpoint = candidate.client.endpoint();
    let alike = exam
        .candidates
        .iter()
        .filter(|it| it.client.endpoint().model() == endpoint.model());
    if alike.count() == 1 {
        endpoint.model().to_owned()
    } else {
        endpoint.to_string()
    }
}

fn every_time(records: &[Record]) -> Option<Rate> {
    // The runs of a prompt lie side by side.
    let prompts: Vec<_> = records
        .chunk_by(|one, next| one.prompt == next.prompt)
        .collect();
    let right = |runs: &&&[Record]| runs.iter().all(|it| it.outcome() == Outcome::Right);
    (!prompts.is_empty()).then(|| {
        Rate::new(
            prompts.iter().filter(right).count(),
            prompts.len(),
            prompts.len(),
        )
    })
}

impl Tokens {
    fn new(
        exam: &Exam<'_>,
        candidate: &Candidate,
        records: &[Record],
        baseline: Option<usize>,
    ) -> Self {
        let shown = serde_json::to_string(&candidate.client.endpoint().definitions(exam.tools));
        let definitions = (exam.count)(&shown.expect("definitions are JSON"));
        let calls = |it: &Record| it.calls.iter().map(|call| call.tokens).sum::<usize>();
        let per_prompt = mean(records.iter().map(|it| (definitions + calls(it)) as f64));
        let share = per_prompt.zip(baseline.filter(|it| *it > 0));
        Self {
            definitions,
            per_prompt,
            share_of_baseline: share.map(|(own, raw)| own / raw as f64),
        }
    }
}

impl Latency {
    fn of(records: &[Record]) -> Option<Self> {
        let mut sorted: Vec<u64> = records.iter().map(|it| it.ms).collect();
        sorted.sort_unstable();
        let at = |quantile: f64| {
            let place = (sorted.len() as f64 * quantile).ceil() as usize;
            sorted.get(place.saturating_sub(1)).copied()
        };
        Some(Self {
            p50: at(0.5)?,
            p99: at(0.99)?,
        })
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

fn sum(records: &[Record]) -> Option<Usage> {
    records
        .iter()
        .try_fold(Usage::default(), |sum, it| Some(sum.and(it.usage?)))
}
