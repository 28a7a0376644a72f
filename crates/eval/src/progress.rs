//! The results of an eval so far, and the decision to give up on a failing endpoint.

use std::collections::HashMap;

use serde::Serialize;

use crate::endpoint_error::ModelEndpointError;
use crate::eval_run::{EvalQuestion, EvalRun};
use crate::journal::{EvalJournal, JournalError};
use crate::record::Record;
use crate::surface::EvalSurface;
use crate::task_attempt::NoVerdict;

/// An endpoint that fails this often in a row gets no more requests.
const GIVE_UP_AFTER: usize = 5;

/// The progress of an eval.
#[derive(Debug, Clone, Copy, Default)]
pub struct EvalProgress {
    pub total: usize,
    pub done: usize,
    pub unanswered: usize,
    /// The cost of the finished answers; `None` if the cost of any is unknown.
    pub cost_usd: Option<f64>,
}

/// The results of an eval.
#[derive(Debug, Default)]
pub struct EvalResults {
    /// The records are sorted by model, surface, prompt and run, in the order of the suite.
    pub records: Vec<Record>,
    pub unanswered: Vec<UnansweredQuestion>,
}

impl EvalResults {
    pub(crate) fn records_for(&self, model: &str, surface: EvalSurface) -> Vec<Record> {
        let records = self.records.iter();
        records
            .filter(|it| it.model == model && it.surface == surface)
            .cloned()
            .collect()
    }

    pub(crate) fn unanswered_for(
        &self,
        model: &str,
        surface: EvalSurface,
    ) -> Vec<UnansweredQuestion> {
        let unanswered = self.unanswered.iter();
        unanswered
            .filter(|it| it.model == model && it.surface == surface)
            .cloned()
            .collect()
    }
}

/// A question without an answer. A later run asks it again.
#[derive(Debug, Clone, Serialize)]
pub struct UnansweredQuestion {
    pub model: String,
    pub surface: EvalSurface,
    pub prompt: String,
    pub run: u32,
    pub why: String,
}

#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    #[error("the eval of {model} was stopped after {answered} of {total} answers")]
    Endpoint {
        model: String,
        answered: usize,
        total: usize,
        source: ModelEndpointError,
    },
    #[error("an answer could not be saved")]
    Journal(#[from] JournalError),
}

/// The results so far.
pub(crate) struct ResultCollector<'a> {
    run: &'a EvalRun<'a>,
    /// Each record with its position among the questions.
    records: Vec<(usize, Record)>,
    unanswered: Vec<UnansweredQuestion>,
    /// The failures of each model since its last answer.
    failures_in_a_row: HashMap<String, usize>,
}

impl<'a> ResultCollector<'a> {
    pub(crate) fn new(run: &'a EvalRun<'a>) -> Self {
        Self {
            run,
            records: Vec::new(),
            unanswered: Vec::new(),
            failures_in_a_row: HashMap::new(),
        }
    }

    pub(crate) fn record_answer(
        &mut self,
        question: &EvalQuestion<'_>,
        answer: Result<Record, NoVerdict>,
        journal: &mut EvalJournal,
    ) -> Result<(), EvalError> {
        match answer {
            Ok(record) => {
                self.failures_in_a_row.remove(&question.tested.name);
                journal.append_record(&record)?;
                self.add_record(question, record);
                Ok(())
            }
            Err(error) => self.record_failure(question, error),
        }
    }

    fn record_failure(
        &mut self,
        question: &EvalQuestion<'_>,
        error: NoVerdict,
    ) -> Result<(), EvalError> {
        let missed = question.to_unanswered(&error);
        if let NoVerdict::Endpoint(error) = error {
            let model = &question.tested.name;
            let failures = self.failures_in_a_row.entry(model.clone()).or_default();
            *failures += 1;
            if error.is_final() || *failures >= GIVE_UP_AFTER {
                return Err(self.stop_error(model, error));
            }
        }
        self.unanswered.push(missed);
        Ok(())
    }

    fn stop_error(&self, model: &str, source: ModelEndpointError) -> EvalError {
        EvalError::Endpoint {
            model: model.to_owned(),
            answered: self.answered_count(model),
            total: self.run.answers_per_model(),
            source,
        }
    }

    fn answered_count(&self, model: &str) -> usize {
        let records = self.records.iter();
        records.filter(|(_, it)| it.model == model).count()
    }

    /// Adds a record of an earlier run.
    pub(crate) fn add_record(&mut self, question: &EvalQuestion<'_>, record: Record) {
        self.records.push((question.position, record));
    }

    pub(crate) fn progress(&self) -> EvalProgress {
        EvalProgress {
            total: self.run.answer_count(),
            done: self.records.len(),
            unanswered: self.unanswered.len(),
            cost_usd: self
                .records
                .iter()
                .map(|(_, it)| self.answer_cost(it))
                .sum(),
        }
    }

    /// Returns the cost of an answer; `None` if the price or the usage is unknown.
    fn answer_cost(&self, record: &Record) -> Option<f64> {
        let mut candidates = self.run.candidates.iter();
        let candidate = candidates.find(|it| it.model_name() == record.model)?;
        Some(candidate.price?.cost_of(record.usage?))
    }

    pub(crate) fn finish(mut self) -> EvalResults {
        self.records.sort_by_key(|(index, _)| *index);
        let records = self.records.into_iter().map(|(_, record)| record).collect();
        EvalResults {
            records,
            unanswered: self.unanswered,
        }
    }
}
