//! Keeps the answers so far in a file, one line each, so that a run that ended early can go on and
//! no answer is paid for twice.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::dialect::{GivenArguments, Stop, Usage};
use crate::judge::ChoiceOutcome;
use crate::surface::ExamSurface;

/// The answer of a model to a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub model: String,
    pub prompt: String,
    pub run: u32,
    /// The surface that the model was shown. Lines of earlier versions are about every tool.
    #[serde(default)]
    pub surface: ExamSurface,
    /// This text changes with the prompt, with the expected call, with the tools and with the way
    /// in which they are shown. So a line never counts for a different question.
    pub of: String,
    /// The number of answers that the model gave. Lines of earlier versions do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The calls by which the model looked around. They are not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looked: Vec<LookingCall>,
    /// The list is empty if the model made no call, and has two if the first one failed and it
    /// tried again.
    pub calls: Vec<JudgedCall>,
    /// The number of further calls in the same answer, which were not made.
    #[serde(default)]
    pub also: usize,
    /// The words of the model instead of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The reason why the model could not be shown the error of its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<String>,
    /// The usage is absent if the endpoint did not report it.
    pub usage: Option<Usage>,
    /// The tokens of calls and results that were sent again in later turns.
    #[serde(default)]
    pub sent_again: usize,
    pub ms: u64,
}

/// A call by which a model looked around.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookingCall {
    pub tool: String,
    #[serde(flatten)]
    pub given: GivenArguments,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The tokens of the call and its result.
    pub tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedCall {
    pub tool: String,
    #[serde(flatten)]
    pub given: GivenArguments,
    pub outcome: ChoiceOutcome,
    /// The fault of the call, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tokens of the call and its result.
    pub tokens: usize,
}

#[derive(Debug)]
pub struct ExamJournal {
    file: Option<(PathBuf, File)>,
    records: Vec<Record>,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("{path} cannot be read and written")]
    Unusable { path: PathBuf, source: io::Error },
    #[error("another run writes to {path} right now")]
    Taken { path: PathBuf },
    #[error("line {line} of {path} is not what an earlier run wrote")]
    Foreign {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
}

impl Record {
    /// Returns the outcome of the first call. Later calls do not count.
    pub fn outcome(&self) -> ChoiceOutcome {
        match (self.calls.first(), self.stop) {
            (Some(first), _) => first.outcome,
            (None, Some(Stop::Turns)) => ChoiceOutcome::OutOfTurns,
            (None, _) => ChoiceOutcome::NoCall,
        }
    }

    /// Returns the tokens that the model's calls and their results put into the context.
    pub fn tokens(&self) -> usize {
        let looked = self.looked.iter().map(|it| it.tokens);
        looked.chain(self.calls.iter().map(|it| it.tokens)).sum()
    }

    pub fn retried(&self) -> bool {
        self.calls.len() > 1
    }

    /// True if the second call was right after the first one had failed.
    pub fn recovered(&self) -> bool {
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
impl fmt::Display for LookingCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool, self.given)
    }
}

impl ExamJournal {
    /// Returns a journal without a file.
    pub fn none() -> Self {
        Self {
            file: None,
            records: Vec::new(),
        }
    }

    /// Reads the lines of the file, if there is one. New lines are added to it.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let unusable = |source| JournalError::Unusable {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(unusable)?;
        file.try_lock().map_err(|_| JournalError::Taken {
            path: path.to_owned(),
        })?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(unusable)?;
        let whole = text.len() - torn(&text).len();
        let records = lines(&text[..whole], path)?;
        file.set_len(whole as u64).map_err(unusable)?;
        file.seek(SeekFrom::End(0)).map_err(unusable)?;
        Ok(Self {
            file: Some((path.to_owned(), file)),
            records,
        })
    }

    pub(crate) fn find(&self, model: &str, prompt: &str, run: u32, of: &str) -> Option<&Record> {
        let found =
            |it: &&Record| it.model == model && it.prompt == prompt && it.run == run && it.of == of;
        self.records.iter().find(found)
    }

    pub(crate) fn add(&mut self, record: &Record) -> Result<(), JournalError> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_string(record).expect("a record is plain JSON");
        line.push('\n');
        let written = file
            .write_all(line.as_bytes())
            .and_then(|()| file.sync_data());
        written.map_err(|source| JournalError::Unusable {
            path: path.clone(),
            source,
        })
    }
}

/// Returns the beginning of a line that a killed run did not finish.
fn torn(text: &str) -> &str {
    let tail = text.rsplit('\n').next().unwrap_or_default();
    // Any other text is not a line of the journal, so it is not cut off.
    if tail.starts_with(BEGIN) || BEGIN.starts_with(tail) {
        tail
    } else {
        ""
    }
}

const BEGIN: &str = "{\"model\":";

fn lines(text: &str, path: &Path) -> Result<Vec<Record>, JournalError> {
    let numbered = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(number, line)| {
            let foreign = |source| JournalError::Foreign {
                path: path.to_owned(),
                line: number + 1,
                source,
            };
            serde_json::from_str(line).map_err(foreign)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(run: u32, given: GivenArguments) -> Record {
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
            surface: ExamSurface::Search,
            of: "f".into(),
            turns: Some(2),
            looked: Vec::new(),
            calls: vec![made],
            also: 0,
            words: None,
            stop: None,
            untold: None,
            usage: Some(Usage {
                input: 5,
                output: 6,
            }),
            sent_again: 3,
            ms: 12,
        }
    }

    #[test]
    fn what_was_written_is_found_again_also_after_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        let first = record(1, GivenArguments::Arguments(serde_json::Map::new()));
        let second = record(2, GivenArguments::Malformed("{".into()));
        ExamJournal::open(&path).unwrap().add(&first).unwrap();
        let line = serde_json::to_string(&second).unwrap();
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend(&line.as_bytes()[..line.len() / 2]);
        std::fs::write(&path, torn).unwrap();

        ExamJournal::open(&path).unwrap().add(&second).unwrap();
        let journal = ExamJournal::open(&path).unwrap();
        assert_eq!(journal.records, [first, second.clone()]);
        assert_eq!(journal.find("m", "p", 2, "f"), Some(&second));
        assert_eq!(journal.find("m", "p", 2, "another question"), None);
    }

    #[test]
    fn a_line_from_before_there_were_surfaces_is_about_every_tool() {
        let line = r#"{"model":"m","prompt":"p","run":1,"of":"f","calls":[],"usage":null,"ms":1}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!(
            (record.surface, record.turns, record.outcome()),
            (ExamSurface::All, None, ChoiceOutcome::NoCall)
        );
    }

    #[test]
    fn without_a_call_a_model_has_given_up_or_run_out_of_turns() {
        let silent = Record {
            calls: Vec::new(),
            ..record(1, GivenArguments::Malformed(String::new()))
        };
        assert_eq!(silent.outcome(), ChoiceOutcome::NoCall);
        assert_eq!(
            Record {
                stop: Some(Stop::Turns),
                ..silent
            }
            .outcome(),
            ChoiceOutcome::OutOfTurns
        );
    }

    #[test]
    fn a_file_that_is_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("suite.json");
        for text in ["{\"version\":1}", "{\n  \"version\": 1\n}\n"] {
            std::fs::write(&path, text).unwrap();
            let told = ExamJournal::open(&path).unwrap_err().to_string();
            assert!(
                told.starts_with("line 1 of ")
                    && told.ends_with("is not what an earlier run wrote"),
                "{told}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn two_runs_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.jsonl");
        let _held = ExamJournal::open(&path).unwrap();
        assert!(matches!(
            ExamJournal::open(&path),
            Err(JournalError::Taken { .. })
        ));
    }
}
