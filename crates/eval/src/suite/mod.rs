//! The prompts of an exam and the expected calls, read from a file.
//!
//! # Layout
//! - this file: the types of a suite
//! - `task`: a task, which is judged by what is true at its end
//! - `read`, `read_task`: read the file; `entry`: one object of it, whose faults are named by entry
//!   and field

mod entry;
mod read;
mod read_task;
mod task;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

pub use task::{EndCheck, SuiteTask, TaskSolution, TextRule, WORKSPACE};

pub type CallArguments = Map<String, Value>;

#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    pub name: String,
    pub prompts: Vec<Prompt>,
    pub tasks: Vec<SuiteTask>,
    pub scenarios: Vec<Scenario>,
}

/// One request that a person may make, and the call that it should lead to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    pub id: String,
    pub prompt: String,
    /// The category by which figures are broken down. It changes no answer.
    #[serde(skip)]
    pub category: Option<String>,
    pub expect: Expected,
    /// Other calls that are equally right.
    pub accept: Vec<Expected>,
    /// The expected arguments in other words.
    pub paraphrases: Vec<CallArguments>,
    /// The members that the structured result of the expected call must contain.
    pub resolves: Option<CallArguments>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expected {
    pub tool: String,
    pub arguments: CallArguments,
}

/// Several calls that together do a job, in at most `max_calls`.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub id: String,
    pub title: String,
    pub max_calls: usize,
    pub steps: Vec<ScenarioStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioStep {
    pub call: Expected,
    /// The values that the structured result must contain, each with its place as a JSON pointer.
    pub expect: Vec<(String, Value)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("the suite {path} cannot be read")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the suite {path} is not JSON")]
    NotJson {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the suite {path} is wrong in {fault}")]
    Wrong { path: PathBuf, fault: SuiteFault },
}

/// The problem of one field of one entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry}, field `{field}`: {problem}")]
pub struct SuiteFault {
    pub entry: String,
    pub field: String,
    pub problem: SuiteProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteProblem {
    #[error("it is missing")]
    Missing,
    #[error("there is no such field; there are {known}")]
    Unknown { known: String },
    #[error("{reason}")]
    WrongType { reason: String },
    #[error("it must not be empty")]
    Empty,
    #[error("nothing says what must be true at the end")]
    Unjudged,
    #[error("`{value}` is the id of an earlier entry, too")]
    Twice { value: String },
    #[error("this program knows version 1 only, not {found}")]
    Version { found: u64 },
    #[error("`{text}` is no JSON pointer; one begins with `/`")]
    Pointer { text: String },
    #[error("the server offers no tool `{tool}`; it offers {offered}")]
    NoSuchTool { tool: String, offered: String },
}

impl Suite {
    pub fn load(path: &Path) -> Result<Self, SuiteError> {
        let text = std::fs::read_to_string(path).map_err(|source| SuiteError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let value = serde_json::from_str(&text).map_err(|source| SuiteError::NotJson {
            path: path.to_owned(),
            source,
        })?;
        let unnamed = path.file_stem().unwrap_or_default().to_string_lossy();
        read::parse_suite(value, &unnamed).map_err(|fault| SuiteError::Wrong {
            path: path.to_owned(),
            fault,
        })
    }

    /// Returns every call that the suite names, with its place, so that the tool's name can be
    /// replaced.
    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = NamedCall<'_>> {
        let prompts = self.prompts.iter_mut().flat_map(Prompt::calls_mut);
        let tasks = self.tasks.iter_mut().flat_map(SuiteTask::calls_mut);
        let scenarios = self.scenarios.iter_mut().flat_map(Scenario::calls_mut);
        prompts.chain(tasks).chain(scenarios)
    }
}

impl Prompt {
    fn calls_mut(&mut self) -> Vec<NamedCall<'_>> {
        let place = format!("the prompt `{}`", self.id);
        let mut calls = vec![NamedCall {
            entry: place.clone(),
            field: "expectedTool",
            call: &mut self.expect,
        }];
        let accepted = self.accept.iter_mut().enumerate();
        calls.extend(accepted.map(|(number, call)| NamedCall {
            entry: format!("{place}, accept[{number}]"),
            field: "tool",
            call,
        }));
        calls
    }
}

impl Scenario {
    fn calls_mut(&mut self) -> impl Iterator<Item = NamedCall<'_>> {
        let place = format!("the scenario `{}`", self.id);
        let steps = self.steps.iter_mut().enumerate();
        steps.map(move |(number, step)| NamedCall {
            entry: format!("{place}, steps[{number}]"),
            field: "tool",
            call: &mut step.call,
        })
    }
}

/// A call of the suite, and the field of the file that names its tool.
pub(crate) struct NamedCall<'a> {
    pub(crate) entry: String,
    pub(crate) field: &'static str,
    pub(crate) call: &'a mut Expected,
}
