//! The figures of an exam. A figure that was not measured is absent, never zero.
//!
//! # Layout
//! - this file: the figures of all models; `model`: those of one model on one surface; `rate`: a
//!   share and its interval
//! - `tokens`: the tokens that tools put into contexts and requests
//! - `task`: the figures of tasks
//! - `group`: the figures of a group of prompts; `compare`: two models, or two surfaces, on the
//!   same prompts

mod compare;
mod group;
mod model;
mod rate;
mod task;
mod tokens;

use serde::Serialize;

pub use compare::Comparison;
pub use group::{Group, Instead};
pub use model::{Latency, ModelReport, ToolCut};
pub use rate::Rate;
pub use task::{TaskFigures, TaskTokens};
pub use tokens::TokenFigures;

use crate::dialect::Usage;
use crate::eval_run::{EvalCandidate, EvalRun};
use crate::progress::EvalResults;
use crate::rehearsal::ScenarioResult;
use crate::suite::{CallArguments, Prompt, Suite, SuiteTask};
use crate::surface::{EvalSurface, ShownSurface};

/// The price in US dollars for a million tokens, as the operator states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// The facts that the report states beside the figures, and the baseline for the figures.
#[derive(Debug)]
pub struct ReportContext {
    /// The time of the exam, in a form that a person can read.
    pub at: String,
    pub counted_with: &'static str,
    /// The number of tokens that the model would read without tools.
    pub baseline_tokens: Option<usize>,
    pub scenarios: Vec<ScenarioResult>,
}

#[derive(Debug, Serialize)]
pub struct EvalReport {
    pub suite: String,
    pub at: String,
    pub prompts: Vec<PromptReport>,
    pub tasks: Vec<TaskReport>,
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
    pub scenarios: Vec<ScenarioResult>,
}

/// A surface that models were shown.
#[derive(Debug, Serialize)]
pub struct SurfaceRow {
    pub surface: EvalSurface,
    /// The number of tools in every request.
    pub tools: usize,
    pub max_turns: u32,
    /// The number of answers that a model may give for a task; absent if the suite has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_turns: Option<u32>,
}

/// A task as the report repeats it.
#[derive(Debug, Serialize)]
pub struct TaskReport {
    pub id: String,
    pub request: String,
    pub category: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct PromptReport {
    pub id: String,
    pub prompt: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub expected: String,
}

impl Price {
    pub fn cost_of(self, usage: Usage) -> f64 {
        (self.input * usage.input as f64 + self.output * usage.output as f64) / 1e6
    }
}

impl EvalReport {
    pub fn new(exam: &EvalRun<'_>, sat: &EvalResults, setting: ReportContext) -> Self {
        let ReportContext {
            at,
            counted_with,
            baseline_tokens,
            scenarios,
        } = setting;
        let models = model_reports(exam, sat, baseline_tokens);
        Self {
            suite: exam.suite.name.clone(),
            at,
            prompts: exam.suite.prompts.iter().map(PromptReport::new).collect(),
            tasks: exam.suite.tasks.iter().map(TaskReport::new).collect(),
            runs: exam.runs,
            tools: exam.tools.len(),
            surfaces: exam
                .surfaces
                .iter()
                .map(|it| SurfaceRow::new(it, exam.suite))
                .collect(),
            parameters: exam.parameters.clone(),
            counted_with,
            baseline_tokens,
            comparisons: compare_all(exam, &models),
            models,
            scenarios,
        }
    }

    /// Returns the short name of a model on a surface.
    pub fn short_name<'a>(&'a self, model: &'a str, surface: EvalSurface) -> &'a str {
        let mut models = self.models.iter();
        let found = models.find(|it| it.model == model && it.surface == surface);
        found.map_or(model, |it| &it.short)
    }

    /// Returns the name of a model on a surface, with the address of the model.
    pub fn long_name(&self, model: &str, surface: EvalSurface) -> String {
        name_with_surface(model, surface, self.surfaces.iter().map(|it| it.surface))
    }
}

fn model_reports(
    exam: &EvalRun<'_>,
    sat: &EvalResults,
    baseline: Option<usize>,
) -> Vec<ModelReport> {
    let mut reports = Vec::with_capacity(exam.candidates.len() * exam.surfaces.len());
    for candidate in exam.candidates {
        for shown in exam.surfaces {
            reports.push(ModelReport::new(exam, candidate, shown, sat, baseline));
        }
    }
    reports
}

/// Models are compared on the same surface, and surfaces are compared for the same model. If both
/// differed, the comparison would say nothing about either.
fn compare_all(exam: &EvalRun<'_>, models: &[ModelReport]) -> Vec<Comparison> {
    let surfaces = exam.surfaces.len();
    let of_models = (surfaces..models.len()).map(|place| (place % surfaces, place));
    let of_surfaces = (0..models.len()).filter(|place| place % surfaces > 0);
    let of_surfaces = of_surfaces.map(|place| (place - place % surfaces, place));
    let pairs = of_models.chain(of_surfaces);
    pairs
        .map(|(first, second)| compare::compare_models(exam.suite, &models[first], &models[second]))
        .collect()
}

impl SurfaceRow {
    fn new(shown: &ShownSurface<'_>, suite: &Suite) -> Self {
        Self {
            surface: shown.surface,
            tools: shown.tools.len(),
            max_turns: shown.max_turns,
            task_turns: (!suite.tasks.is_empty()).then_some(shown.task_turns),
        }
    }
}

impl TaskReport {
    fn new(task: &SuiteTask) -> Self {
        Self {
            id: task.id.clone(),
            request: task.request.clone(),
            category: task.category.clone(),
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

fn short_model_name(exam: &EvalRun<'_>, candidate: &EvalCandidate, surface: EvalSurface) -> String {
    let endpoint = candidate.client.endpoint();
    let names = exam
        .candidates
        .iter()
        .map(|it| it.client.endpoint().model());
    let alike = names.filter(|name| *name == endpoint.model());
    let model = match alike.count() {
        1 => endpoint.model().to_owned(),
        _ => endpoint.to_string(),
    };
    name_with_surface(&model, surface, exam.surfaces.iter().map(|it| it.surface))
}

fn name_with_surface(
    model: &str,
    on: EvalSurface,
    mut surfaces: impl Iterator<Item = EvalSurface>,
) -> String {
    let only_all = surfaces.all(|it| it == EvalSurface::All);
    if only_all {
        model.to_owned()
    } else {
        format!("{model} ({on})")
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}
