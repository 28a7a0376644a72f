//! The prompts of an eval and the expected calls, read from a file.
//!
//! # Layout
//! - this file: the types of a suite
//! - `task`: a task, which is judged by the state at its end
//! - `read`, `read_task`: parsers of the file; `entry`: one object of it, whose errors name entry
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

/// A user's request, and the call that it should lead to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    pub id: String,
    pub prompt: String,
    /// The category for the breakdown of figures. It changes no answer.
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

/// Several calls that together do a job, at most `max_calls`.
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
    /// The values that the structured result must contain, each with its JSON pointer.
    pub expect: Vec<(String, Value)>,
}

#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("cannot read the suite {path}")]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("the suite {path} is not valid JSON")]
    NotJson {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("invalid suite {path}: {fault}")]
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
    #[error("unknown field; known fields: {known}")]
    Unknown { known: String },
    #[error("{reason}")]
    WrongType { reason: String },
    #[error("it must not be empty")]
    Empty,
    #[error("it does not check anything")]
    Unjudged,
    #[error("duplicate id `{value}`")]
    Twice { value: String },
    #[error("unsupported version {found}; expected 1")]
    Version { found: u64 },
    #[error("`{text}` is not a JSON pointer; it must start with `/`")]
    Pointer { text: String },
    #[error("the server has no tool `{tool}`; it has {offered}")]
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

    /// Returns every call that the suite names, with its path, so that the tool's name can be
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
        let path = format!("the prompt `{}`", self.id);
        let mut calls = vec![NamedCall {
            entry: path.clone(),
            field: "expectedTool",
            call: &mut self.expect,
        }];
        let accepted = self.accept.iter_mut().enumerate();
        calls.extend(accepted.map(|(number, call)| NamedCall {
            entry: format!("{path}, accept[{number}]"),
            field: "tool",
            call,
        }));
        calls
    }
}

impl Scenario {
    fn calls_mut(&mut self) -> impl Iterator<Item = NamedCall<'_>> {
        let path = format!("the scenario `{}`", self.id);
        let steps = self.steps.iter_mut().enumerate();
        steps.map(move |(number, step)| NamedCall {
            entry: format!("{path}, steps[{number}]"),
            field: "tool",
            call: &mut step.call,
        })
    }
}

/// A call of the suite, and the field of the file with its tool.
pub(crate) struct NamedCall<'a> {
    pub(crate) entry: String,
    pub(crate) field: &'static str,
    pub(crate) call: &'a mut Expected,
}
