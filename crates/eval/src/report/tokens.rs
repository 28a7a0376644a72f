//! The tokens that tools put into a context, and into all requests for a prompt.

use serde::Serialize;

use super::mean;
use crate::eval_run::EvalCandidate;
use crate::record::Record;
use crate::surface::ShownSurface;

#[derive(Debug, Serialize)]
pub struct TokenFigures {
    pub definitions: usize,
    /// The average tokens in the context at the end: definitions, calls and results.
    pub per_prompt: Option<f64>,
    /// The average tokens about tools in all requests for a prompt together. Each turn repeats the
    /// definitions, and the calls and results so far.
    pub sent_per_prompt: Option<f64>,
    pub share_of_baseline: Option<f64>,
}

impl TokenFigures {
    pub(super) fn new(
        count: fn(&str) -> usize,
        candidate: &EvalCandidate,
        shown: &ShownSurface<'_>,
        records: &[Record],
        baseline: Option<usize>,
    ) -> Self {
        let definitions = candidate.client.endpoint().tool_definitions(shown.tools);
        let definitions = serde_json::to_string(&definitions).expect("definitions are JSON");
        let definitions = count(&definitions);
        let per_prompt = mean(
            records
                .iter()
                .map(|it| (definitions + it.tool_tokens()) as f64),
        );
        let share = per_prompt.zip(baseline.filter(|it| *it > 0));
        Self {
            definitions,
            per_prompt,
            sent_per_prompt: sent_per_prompt(records, definitions),
            share_of_baseline: share.map(|(own, raw)| own / raw as f64),
        }
    }
}

/// Returns `None` if one of the records does not contain the number of turns.
fn sent_per_prompt(records: &[Record], definitions: usize) -> Option<f64> {
    let sent: Option<Vec<f64>> = records
        .iter()
        .map(|it| sent_tokens(it, definitions))
        .collect();
    mean(sent?.into_iter())
}

fn sent_tokens(record: &Record, definitions: usize) -> Option<f64> {
    let turns = record.turns? as usize;
    Some((turns * definitions + record.sent_again) as f64)
}
