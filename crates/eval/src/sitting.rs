//! The results of an exam so far, and the decision to give up on an endpoint that keeps failing.

use std::collections::HashMap;

use serde::Serialize;

use crate::endpoint_error::ModelEndpointError;
use crate::exam::{Exam, ExamQuestion};
use crate::journal::{ExamJournal, JournalError};
use crate::record::Record;
use crate::surface::ExamSurface;
use crate::task_attempt::NoVerdict;

/// An endpoint that fails this often without an answer in between gets no more requests.
const GIVE_UP_AFTER: usize = 5;

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

impl Sat {
    pub(crate) fn records_of(&self, model: &str, surface: ExamSurface) -> Vec<Record> {
        let records = self.records.iter();
        records
            .filter(|it| it.model == model && it.surface == surface)
            .cloned()
            .collect()
    }

    pub(crate) fn unanswered_of(
        &self,
        model: &str,
        surface: ExamSurface,
    ) -> Vec<UnansweredQuestion> {
        let unanswered = self.unanswered.iter();
        unanswered
            .filter(|it| it.model == model && it.surface == surface)
            .cloned()
            .collect()
    }
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

/// The results so far.
pub(crate) struct Sitting<'a> {
    exam: &'a Exam<'a>,
    /// Each record comes with its position among the questions.
    records: Vec<(usize, Record)>,
    unanswered: Vec<UnansweredQuestion>,
    /// The number of failures of each model since its last answer.
    in_a_row: HashMap<String, usize>,
}

impl<'a> Sitting<'a> {
    pub(crate) fn new(exam: &'a Exam<'a>) -> Self {
        Self {
            exam,
            records: Vec::new(),
            unanswered: Vec::new(),
            in_a_row: HashMap::new(),
        }
    }

    pub(crate) fn take(
        &mut self,
        question: &ExamQuestion<'_>,
        answer: Result<Record, NoVerdict>,
        journal: &mut ExamJournal,
    ) -> Result<(), Stopped> {
        match answer {
            Ok(record) => {
                self.in_a_row.remove(&question.seat.model);
                journal.add(&record)?;
                self.keep(question, record);
                Ok(())
            }
            Err(error) => self.miss(question, error),
        }
    }

    fn miss(&mut self, question: &ExamQuestion<'_>, error: NoVerdict) -> Result<(), Stopped> {
        let missed = question.unanswered(&error);
        if let NoVerdict::Endpoint(error) = error {
            let model = &question.seat.model;
            let failures = self.in_a_row.entry(model.clone()).or_default();
            *failures += 1;
            if error.is_final() || *failures >= GIVE_UP_AFTER {
                return Err(self.stopped(model, error));
            }
        }
        self.unanswered.push(missed);
        Ok(())
    }

    fn stopped(&self, model: &str, source: ModelEndpointError) -> Stopped {
        Stopped::Endpoint {
            model: model.to_owned(),
            answered: self.answered(model),
            total: self.exam.answers_of_each(),
            source,
        }
    }

    fn answered(&self, model: &str) -> usize {
        let records = self.records.iter();
        records.filter(|(_, it)| it.model == model).count()
    }

    /// Takes a record of an earlier run.
    pub(crate) fn keep(&mut self, question: &ExamQuestion<'_>, record: Record) {
        self.records.push((question.place, record));
    }

    pub(crate) fn progress(&self) -> ExamProgress {
        ExamProgress {
            total: self.exam.answers(),
            done: self.records.len(),
            unanswered: self.unanswered.len(),
            cost_usd: self.records.iter().map(|(_, it)| self.cost(it)).sum(),
        }
    }

    /// Returns the cost of an answer; `None` if the price or the usage is not known.
    fn cost(&self, record: &Record) -> Option<f64> {
        let mut candidates = self.exam.candidates.iter();
        let candidate = candidates.find(|it| it.model() == record.model)?;
        Some(candidate.price?.of(record.usage?))
    }

    pub(crate) fn end(mut self) -> Sat {
        self.records.sort_by_key(|(place, _)| *place);
        let records = self.records.into_iter().map(|(_, record)| record).collect();
        Sat {
            records,
            unanswered: self.unanswered,
        }
    }
}
