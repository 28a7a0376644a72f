//! Sends every prompt to every model, several at a time, and records each answer as it arrives.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;

use crate::client::ModelClient;
use crate::environment::{TaskEnvironment, TaskEnvironments};
use crate::journal::EvalJournal;
use crate::progress::{EvalError, EvalProgress, EvalResults, ResultCollector, UnansweredQuestion};
use crate::prompt_attempt::{AttemptResult, PromptAttempt};
use crate::record::Record;
use crate::report::Price;
use crate::suite::{CallArguments, Prompt, Suite, SuiteTask};
use crate::surface::{EvalSurface, ShownSurface, SurfaceResult};
use crate::task_attempt::{NoVerdict, TaskAttempt, TaskResult};
use crate::tools::EvalTools;

#[derive(Debug)]
pub struct EvalRun<'a> {
    pub suite: &'a Suite,
    /// The tools of the suite.
    pub tools: &'a EvalTools,
    /// The surfaces to test. Each model is tested on each surface.
    pub surfaces: &'a [ShownSurface<'a>],
    pub candidates: &'a [EvalCandidate],
    /// Further parameters of every request, such as a temperature.
    pub parameters: &'a CallArguments,
    /// How often each prompt is sent to each model.
    pub runs: u32,
    /// The number of concurrent prompts.
    pub concurrency: usize,
    /// Counts tokens.
    pub count: fn(&str) -> usize,
}

#[derive(Debug)]
pub struct EvalCandidate {
    pub client: ModelClient,
    pub price: Option<Price>,
}

/// A model on one surface.
pub(crate) struct TestedModel<'a> {
    candidate: &'a EvalCandidate,
    shown: ShownSurface<'a>,
    pub(crate) name: String,
    definitions: Vec<Value>,
}

/// A prompt for a model on a surface.
pub(crate) struct EvalQuestion<'a> {
    /// The position among all questions.
    pub(crate) position: usize,
    pub(crate) tested: &'a TestedModel<'a>,
    item: SuiteItem<'a>,
    run: u32,
    /// The fingerprint of everything that the answer depends on.
    fingerprint: String,
}

/// The entry of the suite that is sent to a model.
#[derive(Clone, Copy)]
enum SuiteItem<'a> {
    Prompt(&'a Prompt),
    Task(&'a SuiteTask),
}

impl EvalCandidate {
    /// Returns the name of the model with its URL, for records and reports.
    pub(crate) fn model_name(&self) -> String {
        self.client.endpoint().to_string()
    }
}

impl EvalRun<'_> {
    /// Returns the total number of answers: of each model on each surface to each prompt in each
    /// run.
    pub fn answer_count(&self) -> usize {
        self.candidates.len() * self.answers_per_model()
    }

    pub(crate) fn answers_per_model(&self) -> usize {
        let surfaces = self.surfaces.iter();
        let entries: usize = surfaces
            .map(|it| self.suite_items(it.surface).count())
            .sum();
        entries * self.runs as usize
    }

    /// Returns the entries to test on a surface. If a program is between the model and the tools,
    /// or the list follows the model, a first call says too little to be judged.
    fn suite_items(&self, surface: EvalSurface) -> impl Iterator<Item = SuiteItem<'_>> {
        let prompts = self.suite.prompts.iter().map(SuiteItem::Prompt);
        let prompts = prompts.filter(move |_| surface.judges_first_calls());
        prompts.chain(self.suite.tasks.iter().map(SuiteItem::Task))
    }

    /// Runs the eval. `server` makes the calls for prompts, and each attempt at a task has its own
    /// environment.
    pub async fn run(
        &self,
        server: &impl AsyncFn(EvalSurface, String, CallArguments) -> SurfaceResult,
        environments: &impl TaskEnvironments,
        journal: &mut EvalJournal,
        mut watch: impl FnMut(EvalProgress),
    ) -> Result<EvalResults, EvalError> {
        let models = self.tested_models();
        let mut results = ResultCollector::new(self);
        let unanswered = self.unanswered_questions(&models, journal, &mut results);
        watch(results.progress());
        let asking = stream::iter(unanswered).map(|question| async {
            let answer = self.answer_question(&question, server, environments).await;
            (question, answer)
        });
        let mut answers = Box::pin(asking.buffer_unordered(self.concurrency.max(1)));
        while let Some((question, answer)) = answers.next().await {
            results.record_answer(&question, answer, journal)?;
            watch(results.progress());
        }
        Ok(results.finish())
    }

    fn tested_models(&self) -> Vec<TestedModel<'_>> {
        let mut models = Vec::with_capacity(self.candidates.len() * self.surfaces.len());
        for candidate in self.candidates {
            models.extend(
                self.surfaces
                    .iter()
                    .map(|it| TestedModel::new(candidate, *it)),
            );
        }
        models
    }

    /// Returns the questions without an answer from an earlier run. Earlier answers are taken from
    /// the journal.
    fn unanswered_questions<'a>(
        &'a self,
        models: &'a [TestedModel<'a>],
        journal: &EvalJournal,
        results: &mut ResultCollector<'_>,
    ) -> Vec<EvalQuestion<'a>> {
        let mut unanswered = Vec::new();
        for question in self.all_questions(models) {
            match question.find_answer(journal) {
                Some(record) => results.add_record(&question, record.clone()),
                None => unanswered.push(question),
            }
        }
        unanswered
    }

    fn all_questions<'a>(&'a self, models: &'a [TestedModel<'a>]) -> Vec<EvalQuestion<'a>> {
        let mut questions = Vec::with_capacity(self.answer_count());
        for model in models {
            for item in self.suite_items(model.shown.surface) {
                let fingerprint = fingerprint(
                    &item.to_json_text(),
                    &model.fingerprint_text(item, self.tools),
                    self.parameters,
                );
                for run in 1..=self.runs {
                    questions.push(EvalQuestion {
                        position: questions.len(),
                        tested: model,
                        item,
                        run,
                        fingerprint: fingerprint.clone(),
                    });
                }
            }
        }
        questions
    }

    async fn answer_question(
        &self,
        question: &EvalQuestion<'_>,
        server: &impl AsyncFn(EvalSurface, String, CallArguments) -> SurfaceResult,
        environments: &impl TaskEnvironments,
    ) -> Result<Record, NoVerdict> {
        let model = question.tested;
        let prompt = match question.item {
            SuiteItem::Task(task) => return self.attempt_task(question, task, environments).await,
            SuiteItem::Prompt(prompt) => prompt,
        };
        let attempt = PromptAttempt {
            client: &model.candidate.client,
            shown: model.shown,
            definitions: &model.definitions,
            parameters: self.parameters,
            tools: self.tools,
            prompt,
            server,
            count: self.count,
        };
        Ok(question.prompt_record(attempt.run().await?))
    }

    async fn attempt_task(
        &self,
        question: &EvalQuestion<'_>,
        task: &SuiteTask,
        environments: &impl TaskEnvironments,
    ) -> Result<Record, NoVerdict> {
        let shown = question.tested.shown;
        let opened = environments.open(shown.surface).await;
        let environment = opened.map_err(|why| NoVerdict::Unprepared { why })?;
        let attempt = TaskAttempt {
            client: &question.tested.candidate.client,
            parameters: self.parameters,
            task: &task.in_folder(environment.folder()),
            environment: &environment,
            max_turns: shown.task_turns,
            count: self.count,
        };
        let result = attempt.run().await;
        environment.close().await;
        Ok(question.task_record(result?))
    }
}

impl EvalQuestion<'_> {
    fn find_answer<'a>(&self, journal: &'a EvalJournal) -> Option<&'a Record> {
        journal.find_record(
            &self.tested.name,
            self.item.id(),
            self.run,
            &self.fingerprint,
        )
    }

    /// Returns a record with only the question and the number of turns.
    fn blank_record(&self, turns: u32) -> Record {
        Record {
            model: self.tested.name.clone(),
            prompt: self.item.id().to_owned(),
            run: self.run,
            surface: self.tested.shown.surface,
            fingerprint: self.fingerprint.clone(),
            turns: Some(turns),
            discovery_calls: Vec::new(),
            calls: Vec::new(),
            extra_calls: 0,
            text: None,
            stop: None,
            unsent_error: None,
            usage: None,
            sent_again: 0,
            ms: 0,
            task: None,
        }
    }

    fn task_record(&self, result: TaskResult) -> Record {
        Record {
            text: result.last_text(),
            stop: result.stop,
            usage: result.usage,
            ms: to_ms(result.took),
            task: Some(result.outcome),
            ..self.blank_record(result.turns)
        }
    }

    fn prompt_record(&self, result: AttemptResult) -> Record {
        Record {
            discovery_calls: result.discovery_calls,
            calls: result.calls,
            extra_calls: result.extra_calls,
            text: result.text,
            stop: result.stop,
            unsent_error: result.unsent_error,
            usage: result.usage,
            sent_again: result.sent_again,
            ms: to_ms(result.took),
            ..self.blank_record(result.turns)
        }
    }

    pub(crate) fn to_unanswered(&self, error: &NoVerdict) -> UnansweredQuestion {
        UnansweredQuestion {
            model: self.tested.name.clone(),
            surface: self.tested.shown.surface,
            prompt: self.item.id().to_owned(),
            run: self.run,
            why: error.to_string(),
        }
    }
}

impl<'a> TestedModel<'a> {
    fn new(candidate: &'a EvalCandidate, shown: ShownSurface<'a>) -> Self {
        let endpoint = candidate.client.endpoint();
        Self {
            candidate,
            shown,
            name: endpoint.to_string(),
            definitions: endpoint.tool_definitions(shown.tools),
        }
    }

    /// Returns everything that an answer may depend on, apart from the entry and the parameters.
    /// With several turns, this includes the searchable tools and the turn limit.
    fn fingerprint_text(&self, item: SuiteItem<'_>, tools: &EvalTools) -> String {
        let shown = serde_json::to_string(&self.definitions).expect("definitions are JSON");
        let turns = match item {
            SuiteItem::Prompt(_) if self.shown.surface == EvalSurface::All => return shown,
            SuiteItem::Prompt(_) => self.shown.max_turns,
            SuiteItem::Task(_) => self.shown.task_turns,
        };
        let behind = Value::from(self.candidate.client.endpoint().tool_definitions(tools));
        format!("{} {turns} {shown} {behind}", self.shown.surface)
    }
}

impl<'a> SuiteItem<'a> {
    fn id(self) -> &'a str {
        match self {
            Self::Prompt(prompt) => &prompt.id,
            Self::Task(task) => &task.id,
        }
    }

    fn to_json_text(self) -> String {
        let text = match self {
            Self::Prompt(prompt) => serde_json::to_string(prompt),
            Self::Task(task) => serde_json::to_string(task),
        };
        text.expect("an entry is plain JSON")
    }
}

fn to_ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a prefix of a question's hash that is long enough to distinguish questions.
fn fingerprint(entry: &str, definitions: &str, parameters: &CallArguments) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(entry.as_bytes());
    hasher.update(definitions.as_bytes());
    if !parameters.is_empty() {
        let parameters = serde_json::to_string(parameters).expect("parameters are JSON");
        hasher.update(parameters.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
