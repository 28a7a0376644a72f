//! The figures of an exam. What was not measured is absent, never nought.

use serde::Serialize;

use crate::dialect::Usage;
use crate::exam::{Candidate, Exam, Sat, Unanswered};
use crate::journal::Record;
use crate::judge::Outcome;
use crate::rehearsal::Played;
use crate::suite::Prompt;

/// In US dollars for a million tokens, as the person who pays says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub suite: String,
    pub prompts: Vec<PromptRow>,
    pub runs: u32,
    pub tools: usize,
    pub counted_with: &'static str,
    /// What the model would read instead of using tools.
    pub baseline_tokens: Option<usize>,
    pub models: Vec<ModelReport>,
    pub scenarios: Vec<Played>,
}

#[derive(Debug, Serialize)]
pub struct PromptRow {
    pub id: String,
    pub prompt: String,
    pub expected: String,
}

#[derive(Debug, Serialize)]
pub struct ModelReport {
    pub model: String,
    pub asked: usize,
    pub answered: usize,
    /// Shares of what was answered.
    pub invocation_accuracy: Option<f64>,
    pub argument_accuracy: Option<f64>,
    pub retry_rate: Option<f64>,
    /// How many of the retries came out right.
    pub recovered: usize,
    pub outcomes: Vec<(Outcome, usize)>,
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
    pub fn new(
        exam: &Exam<'_>,
        sat: &Sat,
        scenarios: Vec<Played>,
        counted_with: &'static str,
        baseline_tokens: Option<usize>,
    ) -> Self {
        let model = |candidate| ModelReport::new(exam, candidate, sat, baseline_tokens);
        Self {
            suite: exam.suite.name.clone(),
            prompts: exam.suite.prompts.iter().map(PromptRow::new).collect(),
            runs: exam.runs,
            tools: exam.tools.len(),
            counted_with,
            baseline_tokens,
            models: exam.candidates.iter().map(model).collect(),
            scenarios,
        }
    }
}

impl PromptRow {
    fn new(prompt: &Prompt) -> Self {
        let arguments = serde_json::to_string(&prompt.expect.arguments).expect("arguments are JSON");
        Self {
            id: prompt.id.clone(),
            prompt: prompt.prompt.clone(),
            expected: format!("{} {arguments}", prompt.expect.tool),
        }
    }
}

impl ModelReport {
    fn new(exam: &Exam<'_>, candidate: &Candidate, sat: &Sat, baseline: Option<usize>) -> Self {
        let model = candidate.client.endpoint().to_string();
        let records: Vec<_> = sat.records.iter().filter(|it| it.model == model).cloned().collect();
        let unanswered = sat.unanswered.iter().filter(|it| it.model == model).cloned().collect();
        let share = |is: fn(&Record) -> bool| mean(records.iter().map(|it| f64::from(u8::from(is(it)))));
        let outcomes = Outcome::ALL
            .map(|outcome| (outcome, records.iter().filter(|it| it.outcome() == outcome).count()));
        let usage = (!records.is_empty()).then(|| sum(&records)).flatten();
        Self {
            asked: exam.suite.prompts.len() * exam.runs as usize,
            answered: records.len(),
            invocation_accuracy: share(|it| it.outcome().is_right_tool()),
            argument_accuracy: share(|it| it.outcome() == Outcome::Right),
            retry_rate: share(Record::retried),
            recovered: records.iter().filter(|it| it.recovered()).count(),
            outcomes: outcomes.into(),
            tokens: Tokens::new(exam, candidate, &records, baseline),
            usage,
            cost_usd: candidate.price.zip(usage).map(|(price, usage)| price.of(usage)),
            latency_ms: Latency::of(&records),
            unanswered,
            records,
            model,
        }
    }
}

impl Tokens {
    fn new(exam: &Exam<'_>, candidate: &Candidate, records: &[Record], baseline: Option<usize>) -> Self {
        let shown = serde_json::to_string(&candidate.client.endpoint().definitions(exam.tools));
        let definitions = (exam.count)(&shown.expect("definitions are JSON"));
        let calls = |it: &Record| it.calls.iter().map(|call| call.tokens).sum::<usize>();
        let per_prompt = mean(records.iter().map(|it| (definitions + calls(it)) as f64));
        let share = per_prompt.zip(baseline.filter(|it| *it > 0));
        Self { definitions, per_prompt, share_of_baseline: share.map(|(own, raw)| own / raw as f64) }
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
        Some(Self { p50: at(0.5)?, p99: at(0.99)? })
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

fn sum(records: &[Record]) -> Option<Usage> {
    records.iter().try_fold(Usage::default(), |sum, it| Some(sum.and(it.usage?)))
}
