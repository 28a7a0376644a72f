//! Parses the tasks of a suite, and rejects a task that could not be judged.

use serde_json::Value;

use super::entry::{SuiteEntry, read_entries};
use super::read::check_unique_ids;
use super::task::{EndCheck, SuiteTask, TaskSolution, TextRule};
use super::{CallArguments, Expected, SuiteFault, SuiteProblem};

pub(super) fn read_tasks(values: Vec<Value>) -> Result<Vec<SuiteTask>, SuiteFault> {
    let tasks = read_entries(values, "tasks", read_task)?;
    check_unique_ids("tasks", tasks.iter().map(|it| it.id.as_str()))?;
    Ok(tasks)
}

fn read_task(mut entry: SuiteEntry) -> Result<SuiteTask, SuiteFault> {
    let task = SuiteTask {
        id: entry.take_required_text("id")?,
        request: entry.take_required_text("input")?,
        category: entry.take_optional("category")?,
        before: entry.take_list("before", read_call)?,
        after: entry.take_list("after", read_check)?,
        called: read_called_tools(&mut entry)?,
        answer: entry.take_object("answer", read_rule)?.unwrap_or_default(),
        solution: entry.take_object("solution", read_solution)?,
    };
    if task.after.is_empty() && task.called.is_empty() && task.answer.is_empty() {
        return Err(entry.field_fault("after", SuiteProblem::Unjudged));
    }
    entry.reject_unknown_fields(&[
        "id", "input", "category", "before", "after", "called", "answer", "solution",
    ])?;
    Ok(task)
}

fn read_called_tools(entry: &mut SuiteEntry) -> Result<Vec<Expected>, SuiteFault> {
    let names: Vec<String> = entry.take_optional("called")?;
    let calls = names.into_iter().map(|tool| Expected {
        tool,
        arguments: CallArguments::new(),
    });
    Ok(calls.collect())
}

fn read_call(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let call = Expected {
        tool: entry.take_required_text("tool")?,
        arguments: entry.take_optional("args")?,
    };
    entry.reject_unknown_fields(&["tool", "args"])?;
    Ok(call)
}

fn read_check(mut entry: SuiteEntry) -> Result<EndCheck, SuiteFault> {
    let check = EndCheck {
        call: Expected {
            tool: entry.take_required_text("tool")?,
            arguments: entry.take_optional("args")?,
        },
        text: read_text_rule(&mut entry)?,
        matches: entry.take_optional("matches")?,
        fails: entry.take_optional("fails")?,
    };
    if check.text.is_empty() && check.matches.is_none() && !check.fails {
        return Err(entry.field_fault("contains", SuiteProblem::Unjudged));
    }
    entry.reject_unknown_fields(&["tool", "args", "contains", "lacks", "matches", "fails"])?;
    Ok(check)
}

fn read_rule(mut entry: SuiteEntry) -> Result<TextRule, SuiteFault> {
    let rule = read_text_rule(&mut entry)?;
    entry.reject_unknown_fields(&["contains", "lacks"])?;
    Ok(rule)
}

fn read_text_rule(entry: &mut SuiteEntry) -> Result<TextRule, SuiteFault> {
    Ok(TextRule {
        contains: entry.take_optional("contains")?,
        lacks: entry.take_optional("lacks")?,
    })
}

fn read_solution(mut entry: SuiteEntry) -> Result<TaskSolution, SuiteFault> {
    let solution = TaskSolution {
        calls: entry.take_list("calls", read_solution_step)?,
        answer: entry.take_optional("answer")?,
    };
    entry.reject_unknown_fields(&["calls", "answer"])?;
    Ok(solution)
}

/// The intent is for people and for scripts that search as a model would.
fn read_solution_step(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let _intent: String = entry.take_optional("intent")?;
    let call = Expected {
        tool: entry.take_required_text("tool")?,
        arguments: entry.take_optional("args")?,
    };
    entry.reject_unknown_fields(&["intent", "tool", "args"])?;
    Ok(call)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good() -> Value {
        json!({
            "id": "t1",
            "input": "Write hi into {workspace}/a.txt",
            "before": [{ "tool": "mkdir", "args": { "path": "{workspace}/b" } }],
            "after": [{ "tool": "read", "args": { "paths": ["{workspace}/a.txt"] }, "contains": ["hi"] }],
            "answer": { "lacks": ["sorry"] },
            "solution": { "calls": [{ "tool": "write", "intent": "write a file" }], "answer": "Done." },
        })
    }

    #[test]
    fn the_directory_of_an_attempt_replaces_every_placeholder() {
        let task = read_tasks(vec![good()])
            .unwrap()
            .remove(0)
            .in_folder("/tmp/x");
        assert_eq!(task.request, "Write hi into /tmp/x/a.txt");
        assert_eq!(task.before[0].arguments["path"], "/tmp/x/b");
        assert_eq!(
            task.after[0].call.arguments["paths"],
            json!(["/tmp/x/a.txt"])
        );
    }

    #[track_caller]
    fn check_fault(field: &str, value: Value, error: &str) {
        let mut broken = good();
        broken[field] = value;
        assert_eq!(read_tasks(vec![broken]).unwrap_err().to_string(), error);
    }

    #[test]
    fn a_task_that_could_not_be_judged_is_rejected() {
        check_fault(
            "after",
            json!([{ "tool": "read" }]),
            "tasks[0] (t1), after[0], field `contains`: it does not check anything",
        );
        check_fault(
            "answer",
            json!({ "has": [] }),
            "tasks[0] (t1), answer, field `has`: unknown field; known fields: contains, lacks",
        );
        let bare = json!({ "id": "t", "input": "Hi" });
        assert_eq!(
            read_tasks(vec![bare]).unwrap_err().to_string(),
            "tasks[0] (t), field `after`: it does not check anything"
        );
    }
}
