//! The tasks extension: a call whose work continues after its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use kitbag_domain::sync::lock;
use kitbag_wire::{ErrorObject, Raw, RawObject};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::call::{CallEnd, CallOutcome, Dialogue, Reply, TestCall, invalid};
use crate::input::{InputAnswers, InputRequest, InputRequests, missing_capability};

pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
pub(crate) const GET: &str = "tasks/get";
pub(crate) const UPDATE: &str = "tasks/update";
pub(crate) const CANCEL: &str = "tasks/cancel";

/// A tool with an optional task can also run while its caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Optional,
    Required,
}

/// Runs the rest of a tool as a task for clients that support tasks.
pub(crate) async fn run_as_task<F>(
    call: TestCall,
    need: Need,
    body: impl FnOnce(TestCall) -> F,
) -> CallOutcome
where
    F: Future<Output = CallOutcome> + Send + 'static,
{
    if matches!(call.dialogue, Dialogue::Legacy) {
        return body(call).await;
    }
    if !knows_tasks(&call) {
        return match need {
            Need::Optional => body(call).await,
            Need::Required => Err(tasks_required().into()),
        };
    }
    let task = call.server.tasks.create();
    let created = task.describe().with("resultType", "task");
    let inner = TestCall {
        dialogue: Dialogue::Task(task.clone()),
        cancelled: task.cancelled.clone(),
        ..call
    };
    let work = body(inner);
    tokio::spawn(async move { task.finish(work.await) });
    Ok(Reply::Object(created))
}

/// Rejects a client that could not get the result of a task, before the work begins.
pub(crate) fn require(call: &TestCall) -> Result<(), ErrorObject> {
    if matches!(call.dialogue, Dialogue::Legacy) || knows_tasks(call) {
        Ok(())
    } else {
        Err(tasks_required())
    }
}

#[derive(Debug, Default)]
pub(crate) struct TaskTable {
    by_id: Mutex<HashMap<String, Arc<Task>>>,
}

impl TaskTable {
    pub(crate) fn get(&self, call: &TestCall) -> CallOutcome {
        Ok(Reply::Object(self.find(call)?.detail()))
    }

    pub(crate) fn update(&self, call: &TestCall) -> CallOutcome {
        let task = self.find(call)?;
        let answers: Map<String, Value> = call.params.read("inputResponses").unwrap_or_default();
        task.take_answers(answers);
        Reply::empty()
    }

    pub(crate) fn cancel(&self, call: &TestCall) -> CallOutcome {
        self.find(call)?.cancel();
        Reply::empty()
    }

    fn create(&self) -> Arc<Task> {
        let mut by_id = lock(&self.by_id);
        let now = Timestamp::now();
        let task = Arc::new(Task {
            id: format!("task-{}", by_id.len() + 1),
            created: now,
            cancelled: CancellationToken::new(),
            answered: Notify::new(),
            state: Mutex::new(TaskState {
                updated: now,
                status: TaskStatus::Working,
            }),
        });
        by_id.insert(task.id.clone(), task.clone());
        task
    }

    fn find(&self, call: &TestCall) -> Result<Arc<Task>, CallEnd> {
        require(call)?;
        let id: String = call.required_member("taskId")?;
        let by_id = lock(&self.by_id);
        by_id
            .get(&id)
            .cloned()
            .ok_or_else(|| invalid(format!("unknown task `{id}`")))
    }
}

#[derive(Debug)]
pub(crate) struct Task {
    id: String,
    created: Timestamp,
    cancelled: CancellationToken,
    answered: Notify,
    state: Mutex<TaskState>,
}

impl Task {
    /// Waits until the client has answered everything through `tasks/update`.
    pub(crate) async fn park(&self, inputs: InputRequests) -> InputAnswers {
        self.set(TaskStatus::InputRequired {
            pending: inputs.wanted,
            answers: Map::new(),
        });
        loop {
            let answered = self.answered.notified();
            if let Some(answers) = self.resume() {
                return InputAnswers(answers);
            }
            answered.await;
        }
    }

    fn resume(&self) -> Option<Map<String, Value>> {
        let mut state = self.lock();
        let TaskStatus::InputRequired { pending, answers } = &mut state.status else {
            return None;
        };
        if !pending.is_empty() {
            return None;
        }
        let answers = std::mem::take(answers);
        state.status = TaskStatus::Working;
        Some(answers)
    }

    fn take_answers(&self, mut given: Map<String, Value>) {
        if let TaskStatus::InputRequired { pending, answers } = &mut self.lock().status {
            pending.retain(|(key, _)| match given.remove(*key) {
                Some(answer) => {
                    answers.insert((*key).to_owned(), answer);
                    false
                }
                None => true,
            });
        }
        self.answered.notify_waiters();
    }

    fn cancel(&self) {
        let mut state = self.lock();
        if !state.status.is_final() {
            *state = TaskState {
                updated: Timestamp::now(),
                status: TaskStatus::Cancelled,
            };
            self.cancelled.cancel();
        }
    }

    fn finish(&self, outcome: CallOutcome) {
        let status = match outcome {
            Ok(reply) => TaskStatus::Completed(reply.into_raw()),
            Err(CallEnd::Error(error)) => TaskStatus::Failed(error),
            Err(CallEnd::InputRequired(_) | CallEnd::Cancelled) => TaskStatus::Cancelled,
        };
        if !self.lock().status.is_final() {
            self.set(status);
        }
    }

    fn describe(&self) -> RawObject {
        let state = self.lock();
        RawObject::new()
            .with("taskId", &self.id)
            .with("status", state.status.name())
            .with("createdAt", &self.created.to_string())
            .with("lastUpdatedAt", &state.updated.to_string())
            .with("ttlMs", &600_000)
            .with("pollIntervalMs", &100)
    }

    fn detail(&self) -> RawObject {
        let description = self.describe();
        match &self.lock().status {
            TaskStatus::InputRequired { pending, .. } => {
                let pending: Map<String, Value> = pending
                    .iter()
                    .map(|(key, input)| ((*key).to_owned(), input.to_json()))
                    .collect();
                description.with("inputRequests", &pending)
            }
            TaskStatus::Completed(result) => description.with("result", result),
            TaskStatus::Failed(error) => description.with("error", error),
            TaskStatus::Working | TaskStatus::Cancelled => description,
        }
    }

    fn set(&self, status: TaskStatus) {
        *self.lock() = TaskState {
            updated: Timestamp::now(),
            status,
        };
    }

    fn lock(&self) -> MutexGuard<'_, TaskState> {
        lock(&self.state)
    }
}

#[derive(Debug)]
struct TaskState {
    updated: Timestamp,
    status: TaskStatus,
}

#[derive(Debug)]
enum TaskStatus {
    Working,
    InputRequired {
        pending: Vec<(&'static str, InputRequest)>,
        answers: Map<String, Value>,
    },
    Completed(Raw),
    Failed(ErrorObject),
    Cancelled,
}

impl TaskStatus {
    fn name(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired { .. } => "input_required",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn is_final(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Cancelled)
    }
}

fn knows_tasks(call: &TestCall) -> bool {
    call.capabilities()
        .get_object("extensions")
        .is_some_and(|extensions| extensions.contains(EXTENSION))
}

fn tasks_required() -> ErrorObject {
    missing_capability(&json!({ "extensions": { EXTENSION: {} } }))
}
