//! Puts every prompt to every model, several at a time, and records each answer as it comes.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;

use crate::attempt::{Attempt, AttemptResult};
use crate::client::ModelClient;
use crate::journal::ExamJournal;
use crate::record::Record;
use crate::report::Price;
use crate::sitting::{ExamProgress, Sat, Sitting, Stopped, UnansweredQuestion};
use crate::suite::{CallArguments, ExamTask, Prompt, Suite};
use crate::surface::{Carried, ExamSurface, ShownSurface};
use crate::task_attempt::{NoVerdict, TaskAttempt, TaskResult};
use crate::tools::ExamTools;
use crate::workplace::{Workplace, Workplaces};

#[derive(Debug)]
pub struct Exam<'a> {
    pub suite: &'a Suite,
    /// The tools that the suite is about.
    pub tools: &'a ExamTools,
    /// The surfaces on which models are shown the tools. Each model is asked on each surface.
    pub surfaces: &'a [ShownSurface<'a>],
    pub candidates: &'a [ExamCandidate],
    /// The further parameters of every request, such as a temperature.
    pub parameters: &'a CallArguments,
    /// The number of times that each prompt is put to each model.
    pub runs: u32,
    /// The number of prompts that are under way at once.
    pub concurrency: usize,
    /// The function that counts tokens.
    pub count: fn(&str) -> usize,
}

#[derive(Debug)]
pub struct ExamCandidate {
    pub client: ModelClient,
    pub price: Option<Price>,
}

/// A model together with a surface that it is shown.
pub(crate) struct Seat<'a> {
    candidate: &'a ExamCandidate,
    shown: ShownSurface<'a>,
    pub(crate) model: String,
    definitions: Vec<Value>,
}

/// A prompt that is put to a model on a surface.
pub(crate) struct ExamQuestion<'a> {
    /// The position among all questions.
    pub(crate) place: usize,
    pub(crate) seat: &'a Seat<'a>,
    put: Put<'a>,
    run: u32,
    /// The fingerprint of everything that the answer depends on.
    of: String,
}

/// The entry of the suite that is put to a model.
#[derive(Clone, Copy)]
enum Put<'a> {
    Prompt(&'a Prompt),
    Task(&'a ExamTask),
}

impl ExamCandidate {
    /// Returns the name of the model with its address, as records and reports have it.
    pub(crate) fn model(&self) -> String {
        self.client.endpoint().to_string()
    }
}

impl Exam<'_> {
    /// Returns the number of answers in all: of each model on each surface to each prompt in each
    /// run.
    pub fn answers(&self) -> usize {
        self.candidates.len() * self.answers_of_each()
    }

    pub(crate) fn answers_of_each(&self) -> usize {
        let surfaces = self.surfaces.iter();
        let entries: usize = surfaces.map(|it| self.entries(it.surface).count()).sum();
        entries * self.runs as usize
    }

    /// Returns what models are asked on a surface. Where a program stands between a model and the
    /// tools, or where the list follows the model, a first call says too little to be judged.
    fn entries(&self, surface: ExamSurface) -> impl Iterator<Item = Put<'_>> {
        let prompts = self.suite.prompts.iter().map(Put::Prompt);
        let prompts = prompts.filter(move |_| surface.judges_first_calls());
        prompts.chain(self.suite.tasks.iter().map(Put::Task))
    }

    /// Runs the exam. `server` makes the calls for prompts, and each attempt at a task has a place
    /// of its own.
    pub async fn sit(
        &self,
        server: &impl AsyncFn(ExamSurface, String, CallArguments) -> Carried,
        places: &impl Workplaces,
        journal: &mut ExamJournal,
        mut watch: impl FnMut(ExamProgress),
    ) -> Result<Sat, Stopped> {
        let seats = self.seats();
        let mut sitting = Sitting::new(self);
        let open = self.open_questions(&seats, journal, &mut sitting);
        watch(sitting.progress());
        let asking = stream::iter(open).map(|question| async {
            let answer = self.answer(&question, server, places).await;
            (question, answer)
        });
        let mut answers = Box::pin(asking.buffer_unordered(self.concurrency.max(1)));
        while let Some((question, answer)) = answers.next().await {
            sitting.take(&question, answer, journal)?;
            watch(sitting.progress());
        }
        Ok(sitting.end())
    }

    fn seats(&self) -> Vec<Seat<'_>> {
        let mut seats = Vec::with_capacity(self.candidates.len() * self.surfaces.len());
        for candidate in self.candidates {
            seats.extend(self.surfaces.iter().map(|it| Seat::new(candidate, *it)));
        }
        seats
    }

    /// Returns the questions that no earlier run has answered. Answers of earlier runs are taken
    /// from the journal.
    fn open_questions<'a>(
        &'a self,
        seats: &'a [Seat<'a>],
        journal: &ExamJournal,
        sitting: &mut Sitting<'_>,
    ) -> Vec<ExamQuestion<'a>> {
        let mut open = Vec::new();
        for question in self.questions(seats) {
            match question.answered_in(journal) {
                Some(record) => sitting.keep(&question, record.clone()),
                None => open.push(question),
            }
        }
        open
    }

    fn questions<'a>(&'a self, seats: &'a [Seat<'a>]) -> Vec<ExamQuestion<'a>> {
        let mut questions = Vec::with_capacity(self.answers());
        for seat in seats {
            for put in self.entries(seat.shown.surface) {
                let of = fingerprint(&put.text(), &seat.shown(put, self.tools), self.parameters);
                for run in 1..=self.runs {
                    questions.push(ExamQuestion {
                        place: questions.len(),
                        seat,
                        put,
                        run,
                        of: of.clone(),
                    });
                }
            }
        }
        questions
    }

    async fn answer(
        &self,
        question: &ExamQuestion<'_>,
        server: &impl AsyncFn(ExamSurface, String, CallArguments) -> Carried,
        places: &impl Workplaces,
    ) -> Result<Record, NoVerdict> {
        let seat = question.seat;
        let prompt = match question.put {
            Put::Task(task) => return self.try_task(question, task, places).await,
            Put::Prompt(prompt) => prompt,
        };
        let attempt = Attempt {
            client: &seat.candidate.client,
            shown: seat.shown,
            definitions: &seat.definitions,
            parameters: self.parameters,
            tools: self.tools,
            prompt,
            server,
            count: self.count,
        };
        Ok(question.record(attempt.make().await?))
    }

    async fn try_task(
        &self,
        question: &ExamQuestion<'_>,
        task: &ExamTask,
        places: &impl Workplaces,
    ) -> Result<Record, NoVerdict> {
        let shown = question.seat.shown;
        let opened = places.open(shown.surface).await;
        let place = opened.map_err(|why| NoVerdict::Unprepared { why })?;
        let attempt = TaskAttempt {
            client: &question.seat.candidate.client,
            parameters: self.parameters,
            task: &task.in_folder(place.folder()),
            place: &place,
            max_turns: shown.task_turns,
            count: self.count,
        };
        let made = attempt.make().await;
        place.close().await;
        Ok(question.task_record(made?))
    }
}

impl ExamQuestion<'_> {
    fn answered_in<'a>(&self, journal: &'a ExamJournal) -> Option<&'a Record> {
        journal.find(&self.seat.model, self.put.id(), self.run, &self.of)
    }

    /// Returns a record of which only the question and the number of turns are known.
    fn blank(&self, turns: u32) -> Record {
        Record {
            model: self.seat.model.clone(),
            prompt: self.put.id().to_owned(),
            run: self.run,
            surface: self.seat.shown.surface,
            of: self.of.clone(),
            turns: Some(turns),
            looked: Vec::new(),
            calls: Vec::new(),
            also: 0,
            words: None,
            stop: None,
            untold: None,
            usage: None,
            sent_again: 0,
            ms: 0,
            task: None,
        }
    }

    fn task_record(&self, result: TaskResult) -> Record {
        Record {
            words: result.last_words(),
            stop: result.stop,
            usage: result.usage,
            ms: whole_ms(result.took),
            task: Some(result.outcome),
            ..self.blank(result.turns)
        }
    }

    fn record(&self, result: AttemptResult) -> Record {
        Record {
            looked: result.looked,
            calls: result.calls,
            also: result.also,
            words: result.words,
            stop: result.stop,
            untold: result.untold,
            usage: result.usage,
            sent_again: result.sent_again,
            ms: whole_ms(result.took),
            ..self.blank(result.turns)
        }
    }

    pub(crate) fn unanswered(&self, error: &NoVerdict) -> UnansweredQuestion {
        UnansweredQuestion {
            model: self.seat.model.clone(),
            surface: self.seat.shown.surface,
            prompt: self.put.id().to_owned(),
            run: self.run,
            why: error.to_string(),
        }
    }
}

impl<'a> Seat<'a> {
    fn new(candidate: &'a ExamCandidate, shown: ShownSurface<'a>) -> Self {
        let endpoint = candidate.client.endpoint();
        Self {
            candidate,
            shown,
            model: endpoint.to_string(),
            definitions: endpoint.definitions(shown.tools),
        }
    }

    /// Returns everything that an answer may depend on besides the entry and the parameters. With
    /// several turns, this includes the tools that can be found and the largest number of turns.
    fn shown(&self, put: Put<'_>, tools: &ExamTools) -> String {
        let shown = serde_json::to_string(&self.definitions).expect("definitions are JSON");
        let turns = match put {
            Put::Prompt(_) if self.shown.surface == ExamSurface::All => return shown,
            Put::Prompt(_) => self.shown.max_turns,
            Put::Task(_) => self.shown.task_turns,
        };
        let behind = Value::from(self.candidate.client.endpoint().definitions(tools));
        format!("{} {turns} {shown} {behind}", self.shown.surface)
    }
}

impl<'a> Put<'a> {
    fn id(self) -> &'a str {
        match self {
            Self::Prompt(prompt) => &prompt.id,
            Self::Task(task) => &task.id,
        }
    }

    fn text(self) -> String {
        let text = match self {
            Self::Prompt(prompt) => serde_json::to_string(prompt),
            Self::Task(task) => serde_json::to_string(task),
        };
        text.expect("an entry is plain JSON")
    }
}

fn whole_ms(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a part of the hash of a question that is long enough to tell questions apart.
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
