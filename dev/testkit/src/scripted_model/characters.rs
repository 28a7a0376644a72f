//! The three characters: the next move of each, given a task and a request.

use serde_json::{Map, Value, json};

use super::request::{ModelRequest, PastCall};
use super::task::{ScriptedTask, TaskStep};
use super::{Character, Move};

impl Character {
    pub(super) fn next(self, task: &ScriptedTask, request: &ModelRequest) -> Move {
        let (done, since) = progress(task, &request.calls);
        match (self, task.steps.get(done)) {
            (Self::Lazy, None) => lazy_end(request),
            (_, None) => Move::Say(task.answer.clone()),
            (Self::Good, Some(_)) if request.lists("run_code") => by_program(task, request),
            (Self::Good, Some(step)) => one_step(step, request),
            (Self::Lazy, Some(step)) => listed_or_nothing(step, request),
            (Self::Confused, Some(_)) if request.lists("run_code") => {
                confused_program(task, request)
            }
            (Self::Confused, Some(step)) => stumble_through(step, request, since),
        }
    }
}

/// Returns the number of completed steps, and the number of calls since the last of them.
fn progress(task: &ScriptedTask, calls: &[PastCall]) -> (usize, usize) {
    let (mut done, mut since) = (0, 0);
    for call in calls {
        let step = task.steps.get(done);
        if step.is_some_and(|it| call.is_of(&it.tool, &it.arguments)) {
            (done, since) = (done + 1, 0);
        } else {
            since += 1;
        }
    }
    // One program does all steps.
    match calls.last() {
        Some(last) if last.arguments == json!({ "code": program(task) }) => (task.steps.len(), 0),
        _ => (done, since),
    }
}

/// Calls the tool of a step if it is listed or found, and otherwise searches for it once or twice.
fn one_step(step: &TaskStep, request: &ModelRequest) -> Move {
    if request.lists(&step.tool) || request.has_found(&step.tool) {
        return call_step(step, request, step.arguments.clone());
    }
    let searches = [step.intent.as_str(), request.prompt.as_str()].map(|it| json!({ "query": it }));
    let mut searches = searches.into_iter();
    let new = searches.find(|it| !request.has_called(SEARCH, it));
    match new.filter(|_| request.lists(SEARCH)) {
        Some(arguments) => call(SEARCH, arguments),
        None => Move::Say("I find no tool for that.".to_owned()),
    }
}

const SEARCH: &str = "search_available_tools";

/// Calls the tool of a step by its name if it is listed, and through `call_api` otherwise.
fn call_step(step: &TaskStep, request: &ModelRequest, arguments: Value) -> Move {
    match request.lists("call_api") && !request.lists(&step.tool) {
        true => call(
            "call_api",
            json!({ "tool": step.tool, "arguments": arguments }),
        ),
        false => call(&step.tool, arguments),
    }
}

/// Searches for everything in one program, and then does everything in another one.
fn by_program(task: &ScriptedTask, request: &ModelRequest) -> Move {
    let mut steps = task.steps.iter();
    if steps.all(|it| request.has_found(&it.tool)) {
        return run(&program(task));
    }
    match request.calls.is_empty() {
        true => run(&search_program(task)),
        false => Move::Say("I find no tool for that.".to_owned()),
    }
}

fn search_program(task: &ScriptedTask) -> String {
    let intents: Vec<_> = task.steps.iter().map(|it| &it.intent).collect();
    format!(
        "return await Promise.all({}.map(text => search(text)));",
        json!(intents)
    )
}

fn program(task: &ScriptedTask) -> String {
    let steps = task.steps.iter();
    let lines: String = steps
        .map(|it| {
            format!(
                "results.push(await call({}, {}));\n",
                json!(it.tool),
                it.arguments
            )
        })
        .collect();
    format!("const results = [];\n{lines}return results;")
}

fn run(code: &str) -> Move {
    call("run_code", json!({ "code": code }))
}

/// Calls a listed tool. If only programs can be run, the lazy character repeats the request.
fn listed_or_nothing(step: &TaskStep, request: &ModelRequest) -> Move {
    if request.lists(&step.tool) {
        return call(&step.tool, step.arguments.clone());
    }
    match request.lists("run_intent") && request.calls.is_empty() {
        true => call("run_intent", json!({ "intent": request.prompt })),
        false => lazy_end(request),
    }
}

/// The lazy character repeats the last result, or claims that all is well.
fn lazy_end(request: &ModelRequest) -> Move {
    let last = request.calls.last();
    Move::Say(last.map_or_else(|| "That is done.".to_owned(), |it| it.result.clone()))
}

/// Makes each step wrongly first: under a wrong name, then with a wrong argument twice, and then
/// correctly.
fn stumble_through(step: &TaskStep, request: &ModelRequest, since: usize) -> Move {
    let is_known = request.lists(&step.tool) || request.has_found(&step.tool);
    match since {
        0 => call(&misname_tool(&step.tool), step.arguments.clone()),
        1 if !is_known => one_step(step, request),
        1 | 2 => call_step(step, request, misspell_arguments(&step.arguments)),
        _ => one_step(step, request),
    }
}

/// Some models omit the server and add a vendor prefix.
fn misname_tool(tool: &str) -> String {
    let (_, own) = tool.split_once("__").unwrap_or(("", tool));
    format!("functions_{own}")
}

fn misspell_arguments(arguments: &Value) -> Value {
    let members = arguments.as_object().cloned().unwrap_or_default();
    let wrong = members
        .into_iter()
        .map(|(name, value)| (format!("the_{name}"), value));
    Value::Object(wrong.collect::<Map<_, _>>())
}

/// Runs a program with an unknown tool, twice, and then does the same as the good character.
fn confused_program(task: &ScriptedTask, request: &ModelRequest) -> Move {
    const NONSENSE: &str = "return await tools.computer.do_it({});";
    match request.calls.len() {
        0 | 1 => run(NONSENSE),
        2 => run(&search_program(task)),
        _ => by_program(task, request),
    }
}

fn call(tool: &str, arguments: Value) -> Move {
    Move::Call {
        tool: tool.to_owned(),
        arguments,
    }
}
