//! Every prompt to every model, several at a time, with what is answered kept as it comes.

use std::collections::HashMap;

use futures::StreamExt as _;
use futures::stream;
use serde::Serialize;
use serde_json::Value;

use crate::attempt::Attempt;
use crate::client::{Client, EndpointError};
use crate::journal::{Journal, JournalError, Record};
use crate::report::Price;
use crate::suite::{Arguments, Prompt, Suite};
use crate::tools::{Called, Tools};

/// An endpoint that fails this often without an answer in between is asked no more.
const GIVE_UP_AFTER: usize = 5;

#[derive(Debug)]
pub struct Exam<'a> {
    pub suite: &'a Suite,
    pub tools: &'a Tools,
    pub candidates: &'a [Candidate],
    /// What every request says besides, such as a temperature.
    pub parameters: &'a Arguments,
    /// How often each prompt is put to each model.
    pub runs: u32,
    /// How many prompts are under way at once.
    pub concurrency: usize,
    /// How tokens are counted.
    pub count: fn(&str) -> usize,
}

#[derive(Debug)]
pub struct Candidate {
    pub client: Client,
    pub price: Option<Price>,
}

/// How far an exam is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standing {
    pub total: usize,
    pub done: usize,
    pub unanswered: usize,
    /// Of what is done; absent if it is not known of all of it.
    pub cost_usd: Option<f64>,
}

/// What came of an exam.
#[derive(Debug, Default)]
pub struct Sat {
    /// By model, prompt and run, in the order of the suite.
    pub records: Vec<Record>,
    pub unanswered: Vec<Unanswered>,
}

/// A question to which no answer came; a later run asks it again.
#[derive(Debug, Clone, Serialize)]
pub struct Unanswered {
    pub model: String,
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
        source: EndpointError,
    },
    #[error("an answer could not be kept")]
    Journal(#[from] JournalError),
}

struct Question<'a> {
    place: usize,
    candidate: &'a Candidate,
    definitions: &'a [Value],
    model: &'a str,
    prompt: &'a Prompt,
    run: u32,
    of: String,
}

impl Exam<'_> {
    /// Requests to models, if no call fails and nothing is answered yet.
    pub fn requests(&self) -> usize {
        self.candidates.len() * self.suite.prompts.len() * self.runs as usize
    }

    pub async fn sit(
        &self,
        server: &impl AsyncFn(String, Arguments) -> Called,
        journal: &mut Journal,
        mut watch: impl FnMut(Standing),
    ) -> Result<Sat, Stopped> {
        let models: Vec<_> = self
            .candidates
            .iter()
            .map(|it| it.client.endpoint().to_string())
            .collect();
        let definitions: Vec<_> = self
            .candidates
            .iter()
            .map(|it| it.client.endpoint().definitions(self.tools))
            .collect();
        let mut sitting = Sitting::new(self);
        let mut open = Vec::new();
        for question in self.questions(&models, &definitions) {
            match journal.find(
                question.model,
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

    fn questions<'a>(
        &'a self,
        models: &'a [String],
        definitions: &'a [Vec<Value>],
    ) -> Vec<Question<'a>> {
        let mut questions = Vec::with_capacity(self.requests());
        for ((candidate, model), definitions) in self.candidates.iter().zip(models).zip(definitions)
        {
            let shown = serde_json::to_string(definitions).expect("definitions are JSON");
            for prompt in &self.suite.prompts {
                let of = fingerprint(prompt, &shown, self.parameters);
                for run in 1..=self.runs {
                    let (place, of) = (questions.len(), of.clone());
                    questions.push(Question {
                        place,
                        candidate,
                        definitions,
                        model,
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
        question: &Question<'_>,
        server: &impl AsyncFn(String, Arguments) -> Called,
    ) -> Result<Record, EndpointError> {
        let attempt = Attempt {
            client: &question.candidate.client,
            definitions: question.definitions,
            parameters: self.parameters,
            tools: self.tools,
            prompt: question.prompt,
            server,
            count: self.count,
        };
        let done = attempt.make().await?;
        Ok(Record {
            model: question.model.to_owned(),
            prompt: question.prompt.id.clone(),
            run: question.run,
            of: question.of.clone(),
            calls: done.calls,
            also: done.also,
            words: done.words,
            stop: done.stop,
            untold: done.untold,
            usage: done.usage,
            ms: u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// What has come so far.
struct Sitting<'a> {
    exam: &'a Exam<'a>,
    /// Each with its place among the questions.
    records: Vec<(usize, Record)>,
    unanswered: Vec<Unanswered>,
    /// How often each model failed since its last answer.
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
        question: &Question<'_>,
        answer: Result<Record, EndpointError>,
        journal: &mut Journal,
    ) -> Result<(), Stopped> {
        let failures = self.in_a_row.entry(question.model.to_owned()).or_default();
        match answer {
            Ok(record) => {
                *failures = 0;
                journal.add(&record)?;
                self.records.push((question.place, record));
            }
            Err(error) => {
                *failures += 1;
                if error.is_final() || *failures >= GIVE_UP_AFTER {
                    return Err(self.stopped(question.model, error));
                }
                self.unanswered.push(question.unanswered(&error));
            }
        }
        Ok(())
    }

    fn stopped(&self, model: &str, source: EndpointError) -> Stopped {
        Stopped::Endpoint {
            model: model.to_owned(),
            answered: self
                .records
                .iter()
                .filter(|(_, it)| it.model == model)
                .count(),
            total: self.exam.suite.prompts.len() * self.exam.runs as usize,
            source,
        }
    }

    fn standing(&self) -> Standing {
        let price = |record: &Record| {
            let sat = |it: &&Candidate| it.client.endpoint().to_string() == record.model;
            let price = self.exam.candidates.iter().find(sat)?.price?;
            Some(price.of(record.usage?))
        };
        Standing {
            total: self.exam.requests(),
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

impl Question<'_> {
    fn unanswered(&self, error: &EndpointError) -> Unanswered {
        Unanswered {
            model: self.model.to_owned(),
            prompt: self.prompt.id.clone(),
            run: self.run,
            why: error.to_string(),
        }
    }
}

fn fingerprint(prompt: &Prompt, definitions: &str, parameters: &Arguments) -> String {
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
