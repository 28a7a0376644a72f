//! A task of a suite: a request that takes several calls, and the required state at its end.

use serde::Serialize;
use serde_json::Value;

use super::{CallArguments, Expected, NamedCall};

/// The placeholder for an attempt's directory, in requests, in calls and in the launch of servers.
pub const WORKSPACE: &str = "{workspace}";

/// A user's request, sent to a model that may call tools until it is done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteTask {
    pub id: String,
    pub request: String,
    /// The category for the breakdown of figures. It changes no answer.
    #[serde(skip)]
    pub category: Option<String>,
    /// The calls that prepare the servers, each of which must succeed.
    pub before: Vec<Expected>,
    /// The checks of the servers' state when the model has ended.
    pub after: Vec<EndCheck>,
    /// The tools that must have been called successfully, by the model itself or by a program that
    /// it wrote.
    pub called: Vec<Expected>,
    /// The rules for the model's last text.
    pub answer: TextRule,
    /// One way to do the task. It proves that the task can be done, and changes no answer.
    #[serde(skip)]
    pub solution: Option<TaskSolution>,
}

/// A call by the judge, and the rules for its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EndCheck {
    pub call: Expected,
    pub text: TextRule,
    /// The required minimum of the structured result.
    pub matches: Option<Value>,
    /// True if the call must fail, such as reading a deleted file.
    pub fails: bool,
}

/// The parts that a text must and must not contain, regardless of case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TextRule {
    pub contains: Vec<String>,
    pub lacks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskSolution {
    pub calls: Vec<Expected>,
    pub answer: String,
}

impl SuiteTask {
    /// Returns the task with an attempt's directory in place of `{workspace}`.
    #[must_use]
    pub fn in_folder(&self, folder: &str) -> Self {
        let mut task = self.clone();
        task.request = task.request.replace(WORKSPACE, folder);
        for NamedCall { call, .. } in task.calls_mut() {
            fill_arguments(&mut call.arguments, folder);
        }
        for check in &mut task.after {
            check.text.fill_workspace(folder);
            check
                .matches
                .iter_mut()
                .for_each(|it| fill_value(it, folder));
        }
        task.answer.fill_workspace(folder);
        task
    }

    pub(super) fn calls_mut(&mut self) -> Vec<NamedCall<'_>> {
        let path = format!("the task `{}`", self.id);
        let after = self.after.iter_mut().map(|check| &mut check.call);
        let solution = self.solution.iter_mut().flat_map(|it| &mut it.calls);
        let lists: [(&str, Vec<&mut Expected>); 4] = [
            ("before", self.before.iter_mut().collect()),
            ("after", after.collect()),
            ("called", self.called.iter_mut().collect()),
            ("solution", solution.collect()),
        ];
        let lists = lists.into_iter();
        lists
            .flat_map(|(list, calls)| name_calls(&path, list, calls))
            .collect()
    }
}

fn name_calls<'a>(path: &str, list: &str, calls: Vec<&'a mut Expected>) -> Vec<NamedCall<'a>> {
    let numbered = calls.into_iter().enumerate();
    numbered
        .map(|(number, call)| NamedCall {
            entry: format!("{path}, {list}[{number}]"),
            field: "tool",
            call,
        })
        .collect()
}

impl TextRule {
    fn fill_workspace(&mut self, folder: &str) {
        for part in self.contains.iter_mut().chain(&mut self.lacks) {
            *part = part.replace(WORKSPACE, folder);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.contains.is_empty() && self.lacks.is_empty()
    }
}

fn fill_arguments(arguments: &mut CallArguments, folder: &str) {
    arguments
        .values_mut()
        .for_each(|value| fill_value(value, folder));
}

fn fill_value(value: &mut Value, folder: &str) {
    match value {
        Value::String(text) => *text = text.replace(WORKSPACE, folder),
        Value::Array(items) => items.iter_mut().for_each(|it| fill_value(it, folder)),
        Value::Object(members) => fill_arguments(members, folder),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
