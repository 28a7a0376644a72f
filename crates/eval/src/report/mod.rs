//! The figures of an eval. A figure that was not measured is absent, never zero.
//!
//! # Layout
//! - this file: figures of all models; `model`: figures of one model on one surface; `rate`: a
//!   share and its interval
//! - `tokens`: tokens that tools put into contexts and requests
//! - `task`: figures of tasks
//! - `group`: figures of a group of prompts; `compare`: two models, or two surfaces, on the same
//!   prompts

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

/// The price in US dollars of a million tokens, as stated by the operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// The facts that the report states in addition to the figures, and the baseline.
#[derive(Debug)]
pub struct ReportContext {
    /// The time of the eval, in readable form.
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
    /// Sorted by model, and for each model by surface.
    pub models: Vec<ModelReport>,
    /// Each model is compared with the first one on the same surface, then each surface with the
    /// first one of the same model.
    pub comparisons: Vec<Comparison>,
    pub scenarios: Vec<ScenarioResult>,
}

/// A tested surface.
#[derive(Debug, Serialize)]
pub struct SurfaceRow {
    pub surface: EvalSurface,
    /// The number of tools in every request.
    pub tools: usize,
    pub max_turns: u32,
    /// The turn limit of a task; `None` if the suite has no tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_turns: Option<u32>,
}

/// A task in the report.
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
    pub fn new(run: &EvalRun<'_>, results: &EvalResults, context: ReportContext) -> Self {
        let ReportContext {
            at,
            counted_with,
            baseline_tokens,
            scenarios,
        } = context;
        let models = model_reports(run, results, baseline_tokens);
        Self {
            suite: run.suite.name.clone(),
            at,
            prompts: run.suite.prompts.iter().map(PromptReport::new).collect(),
            tasks: run.suite.tasks.iter().map(TaskReport::new).collect(),
            runs: run.runs,
            tools: run.tools.len(),
            surfaces: run
                .surfaces
                .iter()
                .map(|it| SurfaceRow::new(it, run.suite))
                .collect(),
            parameters: run.parameters.clone(),
            counted_with,
            baseline_tokens,
            comparisons: compare_all(run, &models),
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

    /// Returns the name of a model on a surface, with the URL of the model.
    pub fn long_name(&self, model: &str, surface: EvalSurface) -> String {
        name_with_surface(model, surface, self.surfaces.iter().map(|it| it.surface))
    }
}

fn model_reports(
    run: &EvalRun<'_>,
    results: &EvalResults,
    baseline: Option<usize>,
) -> Vec<ModelReport> {
    let mut reports = Vec::with_capacity(run.candidates.len() * run.surfaces.len());
    for candidate in run.candidates {
        for shown in run.surfaces {
            reports.push(ModelReport::new(run, candidate, shown, results, baseline));
        }
    }
    reports
}

/// Models are compared on the same surface, and surfaces for the same model. If both differed, the
/// comparison would say nothing about either.
fn compare_all(run: &EvalRun<'_>, models: &[ModelReport]) -> Vec<Comparison> {
    let surfaces = run.surfaces.len();
    let of_models = (surfaces..models.len()).map(|index| (index % surfaces, index));
    let of_surfaces = (0..models.len()).filter(|index| index % surfaces > 0);
    let of_surfaces = of_surfaces.map(|index| (index - index % surfaces, index));
    let pairs = of_models.chain(of_surfaces);
    pairs
        .map(|(first, second)| compare::compare_models(run.suite, &models[first], &models[second]))
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

fn short_model_name(run: &EvalRun<'_>, candidate: &EvalCandidate, surface: EvalSurface) -> String {
    let endpoint = candidate.client.endpoint();
    let names = run.candidates.iter().map(|it| it.client.endpoint().model());
    let alike = names.filter(|name| *name == endpoint.model());
    let model = match alike.count() {
        1 => endpoint.model().to_owned(),
        _ => endpoint.to_string(),
    };
    name_with_surface(&model, surface, run.surfaces.iter().map(|it| it.surface))
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
