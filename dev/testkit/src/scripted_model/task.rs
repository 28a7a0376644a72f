//! The tasks of a suite: the steps of each solution, with the directory of the attempt filled in.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

const WORKSPACE: &str = "{workspace}";

pub(super) struct ScriptedTasks(Vec<Value>);

pub(super) struct ScriptedTask {
    pub(super) steps: Vec<TaskStep>,
    pub(super) answer: String,
}

pub(super) struct TaskStep {
    /// The query with which a model would search for the tool.
    pub(super) intent: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
}

impl ScriptedTasks {
    pub(super) fn read(suite: &Path) -> Self {
        let text = fs::read_to_string(suite).expect("the suite can be read");
        let suite: Value = serde_json::from_str(&text).expect("the suite is JSON");
        Self(suite["tasks"].as_array().expect("it has tasks").clone())
    }

    /// Finds the task by its request, in which a directory has replaced `{workspace}`.
    pub(super) fn find(&self, prompt: &str) -> ScriptedTask {
        let mut tasks = self.0.iter();
        let found = tasks.find_map(|task| Some((task, folder(task, prompt)?)));
        let (task, folder) = found.expect("the suite has the task");
        let solution = fill_workspace(&task["solution"], &folder);
        let steps = solution["calls"].as_array().into_iter().flatten();
        ScriptedTask {
            steps: steps.map(TaskStep::read).collect(),
            answer: text(&solution["answer"]),
        }
    }
}

impl TaskStep {
    fn read(step: &Value) -> Self {
        let arguments = &step["args"];
        Self {
            intent: text(&step["intent"]),
            tool: text(&step["tool"]),
            arguments: match arguments.is_null() {
                true => json!({}),
                false => arguments.clone(),
            },
        }
    }
}

/// Returns the directory if the prompt is the request of this task.
fn folder(task: &Value, prompt: &str) -> Option<String> {
    let request = text(&task["input"]);
    let Some((before, after)) = request.split_once(WORKSPACE) else {
        return (request == prompt).then(String::new);
    };
    let next = after.chars().next()?;
    let rest = prompt.strip_prefix(before)?;
    // The directory has Kitbag's name for it, and the request continues after that name.
    let end = rest.find(&format!("workspace{next}"))? + "workspace".len();
    let folder = rest[..end].to_owned();
    (request.replace(WORKSPACE, &folder) == prompt).then_some(folder)
}

fn fill_workspace(value: &Value, folder: &str) -> Value {
    let text = value.to_string().replace(WORKSPACE, folder);
    serde_json::from_str(&text).expect("a folder breaks no JSON")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
