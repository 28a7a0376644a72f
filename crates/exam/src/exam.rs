//! Puts every prompt to every model, several at a time, and records each answer as it comes.

use std::collections::HashMap;

use futures::StreamExt as _;
use futures::stream;
use serde::Serialize;
use serde_json::Value;

use crate::attempt::Attempt;
use crate::client::{ModelClient, ModelEndpointError};
use crate::journal::{ExamJournal, JournalError, Record};
use crate::report::Price;
use crate::suite::{CallArguments, Prompt, Suite};
use crate::surface::{Carried, ExamSurface, ShownSurface};
use crate::tools::ExamTools;

/// An endpoint that fails this often without an answer in between gets no more requests.
const GIVE_UP_AFTER: usize = 5;

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

/// The progress of an exam.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExamProgress {
    pub total: usize,
    pub done: usize,
    pub unanswered: usize,
    /// The cost of the finished answers; absent if the cost of one of them is not known.
    pub cost_usd: Option<f64>,
}

/// The results of an exam.
#[derive(Debug, Default)]
pub struct Sat {
    /// The records are sorted by model, surface, prompt and run, in the order of the suite.
    pub records: Vec<Record>,
    pub unanswered: Vec<UnansweredQuestion>,
}

/// A question to which no answer came. A later run asks it again.
#[derive(Debug, Clone, Serialize)]
pub struct UnansweredQuestion {
    pub model: String,
    pub surface: ExamSurface,
    pub prompt: String,
    pub run: u32,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    #[error("the exam of {model} was stopped after {answered} of {total} answers")]
    Endpoint {
        model: String,
        answered: usize,
        total: usize,
        source: ModelEndpointError,
    },
    #[error("an answer could not be kept")]
    Journal(#[from] JournalError),
}

/// A model together with a surface that it is shown.
struct Seat<'a> {
    candidate: &'a ExamCandidate,
    shown: ShownSurface<'a>,
    model: String,
    definitions: Vec<Value>,
}

struct ExamQuestion<'a> {
    place: usize,
    seat: &'a Seat<'a>,
    prompt: &'a Prompt,
    run: u32,
    of: String,
}

impl Exam<'_> {
    /// Returns the number of answers in all: of each model on each surface to each prompt in each
    /// run.
    pub fn answers(&self) -> usize {
        self.candidates.len() * self.answers_of_each()
    }

    fn answers_of_each(&self) -> usize {
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
        let mut open = Vec::new();
        for question in self.questions(&seats) {
            match journal.find(
                &question.seat.model,
                &question.prompt.id,
                question.run,
                &question.of,
            ) {
                Some(record) => sitting.records.push((question.place, record.clone())),
                None => open.push(question),
            }
        }
        watch(sitting.standing());
        let asking = stream::iter(open).map(|question| async {
            let answer = self.answer(&question, server).await;
            (question, answer)
        });
        let mut answers = Box::pin(asking.buffer_unordered(self.concurrency.max(1)));
        while let Some((question, answer)) = answers.next().await {
            sitting.take(&question, answer, journal)?;
            watch(sitting.standing());
        }
        Ok(sitting.end())
    }

    fn seats(&self) -> Vec<Seat<'_>> {
        let of = |candidate| {
            self.surfaces
                .iter()
                .map(move |shown| Seat::new(candidate, *shown))
        };
        self.candidates.iter().flat_map(of).collect()
    }

    fn questions<'a>(&'a self, seats: &'a [Seat<'a>]) -> Vec<ExamQuestion<'a>> {
        let mut questions = Vec::with_capacity(self.answers());
        for seat in seats {
            let shown = seat.shown(self.tools);
            for prompt in &self.suite.prompts {
                let of = fingerprint(prompt, &shown, self.parameters);
                for run in 1..=self.runs {
                    let (place, of) = (questions.len(), of.clone());
                    questions.push(ExamQuestion {
                        place,
                        seat,
                        prompt,
                        run,
                        of,
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
        let done = attempt.make().await?;
        Ok(Record {
            model: seat.model.clone(),
            prompt: question.prompt.id.clone(),
            run: question.run,
            surface: seat.shown.surface,
            of: question.of.clone(),
            turns: Some(done.turns),
            looked: done.looked,
            calls: done.calls,
            also: done.also,
            words: done.words,
            stop: done.stop,
            untold: done.untold,
            usage: done.usage,
            sent_again: done.sent_again,
            ms: u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
        })
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

/// The results so far.
struct Sitting<'a> {
    exam: &'a Exam<'a>,
    /// Each record comes with its position among the questions.
    records: Vec<(usize, Record)>,
    unanswered: Vec<UnansweredQuestion>,
    /// The number of failures of each model since its last answer.
    in_a_row: HashMap<String, usize>,
}

impl<'a> Sitting<'a> {
    fn new(exam: &'a Exam<'a>) -> Self {
        Self {
            exam,
            records: Vec::new(),
            unanswered: Vec::new(),
            in_a_row: HashMap::new(),
        }
    }

    fn take(
        &mut self,
        question: &ExamQuestion<'_>,
        answer: Result<Record, ModelEndpointError>,
        journal: &mut ExamJournal,
    ) -> Result<(), Stopped> {
        let failures = self
            .in_a_row
            .entry(question.seat.model.clone())
            .or_default();
        match answer {
            Ok(record) => {
                *failures = 0;
                journal.add(&record)?;
                self.records.push((question.place, record));
            }
            Err(error) => {
                *failures += 1;
                if error.is_final() || *failures >= GIVE_UP_AFTER {
                    return Err(self.stopped(&question.seat.model, error));
                }
                self.unanswered.push(question.unanswered(&error));
            }
        }
        Ok(())
    }

    fn stopped(&self, model: &str, source: ModelEndpointError) -> Stopped {
        Stopped::Endpoint {
            model: model.to_owned(),
            answered: self
                .records
                .iter()
                .filter(|(_, it)| it.model == model)
                .count(),
            total: self.exam.answers_of_each(),
            source,
        }
    }

    fn standing(&self) -> ExamProgress {
        let price = |record: &Record| {
            let sat = |it: &&ExamCandidate| it.client.endpoint().to_string() == record.model;
            let price = self.exam.candidates.iter().find(sat)?.price?;
            Some(price.of(record.usage?))
        };
        ExamProgress {
            total: self.exam.answers(),
            done: self.records.len(),
            unanswered: self.unanswered.len(),
            cost_usd: self.records.iter().map(|(_, record)| price(record)).sum(),
        }
    }

    fn end(mut self) -> Sat {
        self.records.sort_by_key(|(place, _)| *place);
        let records = self.records.into_iter().map(|(_, record)| record).collect();
        Sat {
            records,
            unanswered: self.unanswered,
        }
    }
}

impl ExamQuestion<'_> {
    fn unanswered(&self, error: &ModelEndpointError) -> UnansweredQuestion {
        UnansweredQuestion {
            model: self.seat.model.clone(),
            surface: self.seat.shown.surface,
            prompt: self.prompt.id.clone(),
            run: self.run,
            why: error.to_string(),
        }
    }
}

fn fingerprint(prompt: &Prompt, definitions: &str, parameters: &CallArguments) -> String {
    let prompt = serde_json::to_string(prompt).expect("a prompt is plain JSON");
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(prompt.as_bytes())
        .update(definitions.as_bytes());
    if !parameters.is_empty() {
        hasher.update(
            serde_json::to_string(parameters)
                .expect("parameters are JSON")
                .as_bytes(),
        );
    }
    hasher.finalize().to_hex()[..16].to_owned()
}
