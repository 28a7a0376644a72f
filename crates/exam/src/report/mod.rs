//! The figures of an exam. A figure that was not measured is absent, never zero.
//!
//! # Layout
//! - this file: the figures of each model on each surface; `rate`: a share and its interval
//! - `tokens`: the tokens that tools put into contexts and requests
//! - `group`: the figures of a group of prompts; `compare`: two models, or two surfaces, on the
//!   same prompts

mod compare;
mod group;
mod rate;
mod tokens;

use serde::Serialize;

pub use compare::Comparison;
pub use group::{Group, Instead};
pub use rate::Rate;
pub use tokens::TokenFigures;

use crate::dialect::{Stop, Usage};
use crate::exam::{Exam, ExamCandidate};
use crate::judge::ChoiceOutcome;
use crate::record::Record;
use crate::rehearsal::Played;
use crate::sitting::{Sat, UnansweredQuestion};
use crate::suite::{CallArguments, Prompt};
use crate::surface::{ExamSurface, ShownSurface};

/// The price in US dollars for a million tokens, as the operator states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// The facts that the report states beside the figures, and the baseline for the figures.
#[derive(Debug)]
pub struct Setting {
    /// The time of the exam, in a form that a person can read.
    pub at: String,
    pub counted_with: &'static str,
    /// The number of tokens that the model would read without tools.
    pub baseline_tokens: Option<usize>,
    pub scenarios: Vec<Played>,
}

#[derive(Debug, Serialize)]
pub struct ExamReport {
    pub suite: String,
    pub at: String,
    pub prompts: Vec<PromptReport>,
    pub runs: u32,
    pub tools: usize,
    pub surfaces: Vec<SurfaceRow>,
    pub parameters: CallArguments,
    pub counted_with: &'static str,
    pub baseline_tokens: Option<usize>,
    /// The reports are sorted by model, and for each model by surface.
    pub models: Vec<ModelReport>,
    /// Each model is compared with the first one on the same surface, then each surface with the
    /// first one of the same model.
    pub comparisons: Vec<Comparison>,
    pub scenarios: Vec<Played>,
}

/// A surface that models were shown.
#[derive(Debug, Serialize)]
pub struct SurfaceRow {
    pub surface: ExamSurface,
    /// The number of tools in every request.
    pub tools: usize,
    pub max_turns: u32,
}

#[derive(Debug, Serialize)]
pub struct PromptReport {
    pub id: String,
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub expected: String,
}

#[derive(Debug, Serialize)]
pub struct ModelReport {
    pub model: String,
    pub surface: ExamSurface,
    /// The name without the address, if no other model of the exam has the same name. It includes
    /// the surface, unless every model was shown every tool.
    pub short: String,
    pub asked: usize,
    pub answered: usize,
    pub invocation_accuracy: Option<Rate>,
    pub argument_accuracy: Option<Rate>,
    pub retry_rate: Option<Rate>,
    /// The number of retries that were right.
    pub recovered: usize,
    /// The share of prompts that were answered rightly every time; absent if they were put only
    /// once.
    pub right_every_time: Option<Rate>,
    pub outcomes: Vec<(ChoiceOutcome, usize)>,
    /// The number of answers that ended early.
    pub cut_off: usize,
    pub refused: usize,
    pub by_tool: Vec<Group>,
    pub by_category: Vec<Group>,
    /// The number of the model's answers to a prompt, on average.
    pub turns: Option<f64>,
    pub tokens: TokenFigures,
    /// The tokens as the endpoint counted them; absent if it did not count them for every answer.
    pub usage: Option<Usage>,
    pub cost_usd: Option<f64>,
    pub latency_ms: Option<Latency>,
    pub unanswered: Vec<UnansweredQuestion>,
    pub records: Vec<Record>,
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

impl ExamReport {
    pub fn new(exam: &Exam<'_>, sat: &Sat, setting: Setting) -> Self {
        let Setting {
            at,
            counted_with,
            baseline_tokens,
            scenarios,
        } = setting;
        let of = |candidate| {
            exam.surfaces
                .iter()
                .map(move |shown| ModelReport::new(exam, candidate, shown, sat, baseline_tokens))
        };
        let models: Vec<_> = exam.candidates.iter().flat_map(of).collect();
        Self {
            suite: exam.suite.name.clone(),
            at,
            prompts: exam.suite.prompts.iter().map(PromptReport::new).collect(),
            runs: exam.runs,
            tools: exam.tools.len(),
            surfaces: exam.surfaces.iter().map(SurfaceRow::new).collect(),
            parameters: exam.parameters.clone(),
            counted_with,
            baseline_tokens,
            comparisons: comparisons(exam, &models),
            models,
            scenarios,
        }
    }

    /// Returns the short name of a model on a surface.
    pub fn short<'a>(&'a self, model: &'a str, surface: ExamSurface) -> &'a str {
        let found = self
            .models
            .iter()
            .find(|it| it.model == model && it.surface == surface);
        found.map_or(model, |it| &it.short)
    }

    /// Returns the name of a model on a surface, with the address of the model.
    pub fn long(&self, model: &str, surface: ExamSurface) -> String {
        named(model, surface, self.surfaces.iter().map(|it| it.surface))
    }
}

/// Models are compared on the same surface, and surfaces are compared for the same model. If both
/// differed, the comparison would say nothing about either.
fn comparisons(exam: &Exam<'_>, models: &[ModelReport]) -> Vec<Comparison> {
    let surfaces = exam.surfaces.len();
    let compared =
        |first: usize, second: usize| compare::compare(exam.suite, &models[first], &models[second]);
    let of_models = (surfaces..models.len()).map(|place| compared(place % surfaces, place));
    let of_surfaces = (0..models.len()).filter(|place| place % surfaces > 0);
    let of_surfaces = of_surfaces.map(|place| compared(place - place % surfaces, place));
    of_models.chain(of_surfaces).collect()
}

impl SurfaceRow {
    fn new(shown: &ShownSurface<'_>) -> Self {
        Self {
            surface: shown.surface,
            tools: shown.tools.len(),
            max_turns: shown.max_turns,
        }
    }
}

impl PromptReport {
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
    fn new(
        exam: &Exam<'_>,
        candidate: &ExamCandidate,
        shown: &ShownSurface<'_>,
        sat: &Sat,
        baseline: Option<usize>,
    ) -> Self {
        let (model, surface) = (candidate.client.endpoint().to_string(), shown.surface);
        let is_here = |of: &str, on: ExamSurface| of == model && on == surface;
        let records = sat
            .records
            .iter()
            .filter(|it| is_here(&it.model, it.surface));
        let records: Vec<_> = records.cloned().collect();
        let unanswered = sat
            .unanswered
            .iter()
            .filter(|it| is_here(&it.model, it.surface));
        let unanswered = unanswered.cloned().collect();
        let rate = |is: fn(&Record) -> bool| Rate::of(&records, is);
        let number = |is: &dyn Fn(&Record) -> bool| records.iter().filter(|it| is(it)).count();
        let usage = (!records.is_empty()).then(|| sum(&records)).flatten();
        Self {
            short: short(exam, candidate, surface),
            asked: exam.suite.prompts.len() * exam.runs as usize,
            answered: records.len(),
            invocation_accuracy: rate(|it| it.outcome().is_right_tool()),
            argument_accuracy: rate(|it| it.outcome() == ChoiceOutcome::Right),
            retry_rate: rate(Record::retried),
            recovered: number(&Record::recovered),
            right_every_time: (exam.runs > 1).then(|| every_time(&records)).flatten(),
            outcomes: ChoiceOutcome::ALL
                .map(|outcome| (outcome, number(&|it| it.outcome() == outcome)))
                .into(),
            cut_off: number(&|it| it.stop == Some(Stop::Length)),
            refused: number(&|it| it.stop == Some(Stop::Refusal)),
            by_tool: group::by_tool(exam.suite, &records),
            by_category: group::by_category(exam.suite, &records),
            turns: turns(&records),
            tokens: TokenFigures::new(exam.count, candidate, shown, &records, baseline),
            usage,
            cost_usd: candidate
                .price
                .zip(usage)
                .map(|(price, usage)| price.of(usage)),
            latency_ms: Latency::of(&records),
            unanswered,
            records,
            model,
            surface,
        }
    }
}

fn short(exam: &Exam<'_>, candidate: &ExamCandidate, surface: ExamSurface) -> String {
    let endpoint = candidate.client.endpoint();
    let alike = exam
        .candidates
        .iter()
        .filter(|it| it.client.endpoint().model() == endpoint.model());
    let model = if alike.count() == 1 {
        endpoint.model().to_owned()
    } else {
        endpoint.to_string()
    };
    named(&model, surface, exam.surfaces.iter().map(|it| it.surface))
}

fn named(model: &str, on: ExamSurface, mut surfaces: impl Iterator<Item = ExamSurface>) -> String {
    let only_all = surfaces.all(|it| it == ExamSurface::All);
    if only_all {
        model.to_owned()
    } else {
        format!("{model} ({on})")
    }
}

/// Returns `None` if one of the records does not contain the number of turns.
fn turns(records: &[Record]) -> Option<f64> {
    let turns: Option<Vec<f64>> = records.iter().map(|it| it.turns.map(f64::from)).collect();
    mean(turns?.into_iter())
}

fn every_time(records: &[Record]) -> Option<Rate> {
    // The runs of a prompt are adjacent.
    let prompts: Vec<_> = records
        .chunk_by(|one, next| one.prompt == next.prompt)
        .collect();
    let right = |runs: &&&[Record]| runs.iter().all(|it| it.outcome() == ChoiceOutcome::Right);
    (!prompts.is_empty()).then(|| {
        Rate::new(
            prompts.iter().filter(right).count(),
            prompts.len(),
            prompts.len(),
        )
    })
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
