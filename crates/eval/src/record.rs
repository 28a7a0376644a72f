//! The answer of a model to a prompt, as stored in the journal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::dialect::{GivenArguments, StopReason, Usage};
use crate::judge::ChoiceOutcome;
use crate::surface::EvalSurface;

/// The answer of a model to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub model: String,
    pub prompt: String,
    pub run: u32,
    /// The surface that the model was shown. Lines of earlier versions are about every tool.
    #[serde(default)]
    pub surface: EvalSurface,
    /// A fingerprint of the prompt, the expected call, the tools and how they are shown, so that a
    /// line never counts for a different question.
    #[serde(rename = "of")]
    pub fingerprint: String,
    /// The number of the model's answers. Lines of earlier versions do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The model's search calls. They are not judged.
    #[serde(rename = "looked", default, skip_serializing_if = "Vec::is_empty")]
    pub discovery_calls: Vec<UnjudgedCall>,
    /// Empty if the model made no call; two entries if the first one failed and it tried again.
    pub calls: Vec<JudgedCall>,
    /// The number of further calls in the same answer, which were not made.
    #[serde(rename = "also", default)]
    pub extra_calls: usize,
    /// The model's text instead of a call.
    #[serde(rename = "words", default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// The reason why the error of its call could not be sent to the model.
    #[serde(rename = "untold", default, skip_serializing_if = "Option::is_none")]
    pub unsent_error: Option<String>,
    /// `None` if the endpoint did not report it.
    pub usage: Option<Usage>,
    /// The tokens of calls and results that were sent again in later turns.
    #[serde(default)]
    pub sent_again: usize,
    pub ms: u64,
    /// The outcome of a task; `None` for a prompt, whose first call is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskOutcome>,
}

/// A model's actions for a task, and the verdict on its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskOutcome {
    pub done: bool,
    /// Everything that was wrong at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// All calls of the model, in order.
    pub steps: Vec<UnjudgedCall>,
    /// The tokens of all requests and answers, counted locally. They include the tools.
    pub counted: Usage,
    /// The most tools that the surface listed in a turn. The endpoint may accept fewer.
    pub most_listed: usize,
}

/// A search call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnjudgedCall {
    pub tool: String,
    #[serde(flatten)]
    pub given: GivenArguments,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The tokens of the call and its result.
    pub tokens: usize,
}

/// The call of a tool, and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedCall {
    pub tool: String,
    #[serde(flatten)]
    pub given: GivenArguments,
    pub outcome: ChoiceOutcome,
    /// The fault of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tokens of the call and its result.
    pub tokens: usize,
}

impl Record {
    /// Returns the outcome of the first call. Later calls do not count.
    pub fn outcome(&self) -> ChoiceOutcome {
        match (self.calls.first(), self.stop) {
            (Some(first), _) => first.outcome,
            (None, Some(StopReason::Turns)) => ChoiceOutcome::OutOfTurns,
            (None, _) => ChoiceOutcome::NoCall,
        }
    }

    /// True if the first call was right, or if the task was done.
    pub fn is_right(&self) -> bool {
        match &self.task {
            Some(task) => task.done,
            None => self.outcome() == ChoiceOutcome::Right,
        }
    }

    /// True if the first call was of the right tool, with right or wrong arguments.
    pub fn has_right_tool(&self) -> bool {
        self.outcome().is_right_tool()
    }

    /// Returns the tokens that the model's calls and their results put into the context.
    pub fn tool_tokens(&self) -> usize {
        let looked = self.discovery_calls.iter().map(|it| it.tokens);
        looked.chain(self.calls.iter().map(|it| it.tokens)).sum()
    }

    pub fn has_retried(&self) -> bool {
        self.calls.len() > 1
    }

    /// True if the second call was right after the first one had failed.
    pub fn has_recovered(&self) -> bool {
        self.calls
            .get(1)
            .is_some_and(|it| it.outcome == ChoiceOutcome::Right)
    }
}

/// Writes the call as the model wrote it, on one line.
impl fmt::Display for JudgedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, self.given)
    }
}

/// Writes the call as the model wrote it, on one line.
impl fmt::Display for UnjudgedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, self.given)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(run: u32, given: GivenArguments) -> Record {
        let made = JudgedCall {
            tool: "echo".into(),
            given,
            outcome: ChoiceOutcome::Right,
            why: None,
            tokens: 7,
        };
        Record {
            model: "m".into(),
            prompt: "p".into(),
            run,
            surface: EvalSurface::Search,
            fingerprint: "f".into(),
            turns: Some(2),
            discovery_calls: Vec::new(),
            calls: vec![made],
            extra_calls: 0,
            text: None,
            stop: None,
            unsent_error: None,
            usage: Some(Usage {
                input: 5,
                output: 6,
            }),
            sent_again: 3,
            ms: 12,
            task: None,
        }
    }

    #[test]
    fn a_line_without_a_surface_is_about_every_tool() {
        let line = r#"{"model":"m","prompt":"p","run":1,"of":"f","calls":[],"usage":null,"ms":1}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(
            (record.surface, record.turns, record.outcome()),
            (EvalSurface::All, None, ChoiceOutcome::NoCall)
        );
    }

    #[test]
    fn without_a_call_a_model_gave_up_or_ran_out_of_turns() {
        let silent = Record {
            calls: Vec::new(),
            ..record(1, GivenArguments::Malformed(String::new()))
        };
        assert_eq!(silent.outcome(), ChoiceOutcome::NoCall);
        assert_eq!(
            Record {
                stop: Some(StopReason::Turns),
                ..silent
            }
            .outcome(),
            ChoiceOutcome::OutOfTurns
        );
    }
}
