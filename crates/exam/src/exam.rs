//! Puts every prompt to every model, several at a time, and records each answer as it comes.

use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;

use crate::attempt::{Attempt, AttemptResult};
use crate::client::ModelClient;
use crate::endpoint_error::ModelEndpointError;
use crate::journal::ExamJournal;
use crate::record::Record;
use crate::report::Price;
use crate::sitting::{ExamProgress, Sat, Sitting, Stopped, UnansweredQuestion};
use crate::suite::{CallArguments, Prompt, Suite};
use crate::surface::{Carried, ExamSurface, ShownSurface};
use crate::tools::ExamTools;

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
    prompt: &'a Prompt,
    run: u32,
    /// The fingerprint of everything that the answer depends on.
    of: String,
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
        self.surfaces.len() * self.suite.prompts.len() * self.runs as usize
    }

    /// Runs the exam. `server` makes the calls of models.
    pub async fn sit(
        &self,
        server: &impl AsyncFn(ExamSurface, String, CallArguments) -> Carried,
        journal: &mut ExamJournal,
        mut watch: impl FnMut(ExamProgress),
    ) -> Result<Sat, Stopped> {
        let seats = self.seats();
        let mut sitting = Sitting::new(self);
        let open = self.open_questions(&seats, journal, &mut sitting);
        watch(sitting.progress());
        let asking = stream::iter(open).map(|question| async {
            let answer = self.answer(&question, server).await;
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
            let shown = seat.shown(self.tools);
            for prompt in &self.suite.prompts {
                let of = fingerprint(prompt, &shown, self.parameters);
                for run in 1..=self.runs {
                    questions.push(ExamQuestion {
                        place: questions.len(),
                        seat,
                        prompt,
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
    ) -> Result<Record, ModelEndpointError> {
        let seat = question.seat;
        let attempt = Attempt {
            client: &seat.candidate.client,
            shown: seat.shown,
            definitions: &seat.definitions,
            parameters: self.parameters,
            tools: self.tools,
            prompt: question.prompt,
            server,
            count: self.count,
        };
        Ok(question.record(attempt.make().await?))
    }
}

impl ExamQuestion<'_> {
    fn answered_in<'a>(&self, journal: &'a ExamJournal) -> Option<&'a Record> {
        journal.find(&self.seat.model, &self.prompt.id, self.run, &self.of)
    }

    fn record(&self, result: AttemptResult) -> Record {
        Record {
            model: self.seat.model.clone(),
            prompt: self.prompt.id.clone(),
            run: self.run,
            surface: self.seat.shown.surface,
            of: self.of.clone(),
            turns: Some(result.turns),
            looked: result.looked,
            calls: result.calls,
            also: result.also,
            words: result.words,
            stop: result.stop,
            untold: result.untold,
            usage: result.usage,
            sent_again: result.sent_again,
            ms: u64::try_from(result.took.as_millis()).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn unanswered(&self, error: &ModelEndpointError) -> UnansweredQuestion {
        UnansweredQuestion {
            model: self.seat.model.clone(),
            surface: self.seat.shown.surface,
            prompt: self.prompt.id.clone(),
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

    /// Returns everything that an answer may depend on besides the prompt and the parameters. With
    /// a search, this includes the tools that can be found and the largest number of turns.
    fn shown(&self, tools: &ExamTools) -> String {
        let shown = serde_json::to_string(&self.definitions).expect("definitions are JSON");
        match self.shown.surface {
            ExamSurface::All => shown,
            surface @ ExamSurface::Search => {
                let behind = Value::from(self.candidate.client.endpoint().definitions(tools));
                format!("{surface} {} {shown} {behind}", self.shown.max_turns)
            }
        }
    }
}

/// Returns a part of the hash of a question that is long enough to tell questions apart.
fn fingerprint(prompt: &Prompt, definitions: &str, parameters: &CallArguments) -> String {
    let prompt = serde_json::to_string(prompt).expect("a prompt is plain JSON");
    let mut hasher = blake3::Hasher::new();
    hasher.update(prompt.as_bytes());
    hasher.update(definitions.as_bytes());
    if !parameters.is_empty() {
        let parameters = serde_json::to_string(parameters).expect("parameters are JSON");
        hasher.update(parameters.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
