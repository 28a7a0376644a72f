//! Reads the tasks of a suite, and refuses a task that could not be judged.

use serde_json::Value;

use super::entry::{SuiteEntry, each};
use super::read::unique;
use super::task::{EndCheck, ExamTask, TaskSolution, TextRule};
use super::{CallArguments, Expected, SuiteFault, SuiteProblem};

pub(super) fn tasks(values: Vec<Value>) -> Result<Vec<ExamTask>, SuiteFault> {
    let tasks = each(values, "tasks", task)?;
    unique("tasks", tasks.iter().map(|it| it.id.as_str()))?;
    Ok(tasks)
}

fn task(mut entry: SuiteEntry) -> Result<ExamTask, SuiteFault> {
    let task = ExamTask {
        id: entry.need_text("id")?,
        request: entry.need_text("input")?,
        category: entry.may("category")?,
        before: entry.list("before", call)?,
        after: entry.list("after", check)?,
        called: called(&mut entry)?,
        answer: entry.inner("answer", rule)?.unwrap_or_default(),
        solution: entry.inner("solution", solution)?,
    };
    if task.after.is_empty() && task.called.is_empty() && task.answer.is_empty() {
        return Err(entry.fault("after", SuiteProblem::Unjudged));
    }
    entry.end(&[
        "id", "input", "category", "before", "after", "called", "answer", "solution",
    ])?;
    Ok(task)
}

fn called(entry: &mut SuiteEntry) -> Result<Vec<Expected>, SuiteFault> {
    let names: Vec<String> = entry.may("called")?;
    let calls = names.into_iter().map(|tool| Expected {
        tool,
        arguments: CallArguments::new(),
    });
    Ok(calls.collect())
}

fn call(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let call = Expected {
        tool: entry.need_text("tool")?,
        arguments: entry.may("args")?,
    };
    entry.end(&["tool", "args"])?;
    Ok(call)
}

fn check(mut entry: SuiteEntry) -> Result<EndCheck, SuiteFault> {
    let check = EndCheck {
        call: Expected {
            tool: entry.need_text("tool")?,
            arguments: entry.may("args")?,
        },
        text: text_rule(&mut entry)?,
        matches: entry.may("matches")?,
        fails: entry.may("fails")?,
    };
    if check.text.is_empty() && check.matches.is_none() && !check.fails {
        return Err(entry.fault("contains", SuiteProblem::Unjudged));
    }
    entry.end(&["tool", "args", "contains", "lacks", "matches", "fails"])?;
    Ok(check)
}

fn rule(mut entry: SuiteEntry) -> Result<TextRule, SuiteFault> {
    let rule = text_rule(&mut entry)?;
    entry.end(&["contains", "lacks"])?;
    Ok(rule)
}

fn text_rule(entry: &mut SuiteEntry) -> Result<TextRule, SuiteFault> {
    Ok(TextRule {
        contains: entry.may("contains")?,
        lacks: entry.may("lacks")?,
    })
}

fn solution(mut entry: SuiteEntry) -> Result<TaskSolution, SuiteFault> {
    let solution = TaskSolution {
        calls: entry.list("calls", step)?,
        answer: entry.may("answer")?,
    };
    entry.end(&["calls", "answer"])?;
    Ok(solution)
}

/// The intent is for people and for scripts that search as a model would.
fn step(mut entry: SuiteEntry) -> Result<Expected, SuiteFault> {
    let _intent: String = entry.may("intent")?;
    let call = Expected {
        tool: entry.need_text("tool")?,
        arguments: entry.may("args")?,
    };
    entry.end(&["intent", "tool", "args"])?;
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
    fn the_folder_of_an_attempt_stands_wherever_the_task_names_it() {
        let task = tasks(vec![good()]).unwrap().remove(0).in_folder("/tmp/x");
        assert_eq!(task.request, "Write hi into /tmp/x/a.txt");
        assert_eq!(task.before[0].arguments["path"], "/tmp/x/b");
        assert_eq!(
            task.after[0].call.arguments["paths"],
            json!(["/tmp/x/a.txt"])
        );
    }

    #[track_caller]
    fn check_fault(field: &str, value: Value, told: &str) {
        let mut broken = good();
        broken[field] = value;
        assert_eq!(tasks(vec![broken]).unwrap_err().to_string(), told);
    }

    #[test]
    fn a_task_that_could_not_be_judged_is_refused() {
        check_fault(
            "after",
            json!([{ "tool": "read" }]),
            "tasks[0] (t1), after[0], field `contains`: nothing says what must be true at the end",
        );
        check_fault(
            "answer",
            json!({ "has": [] }),
            "tasks[0] (t1), answer, field `has`: there is no such field; there are contains, lacks",
        );
        let bare = json!({ "id": "t", "input": "Hi" });
        assert_eq!(
            tasks(vec![bare]).unwrap_err().to_string(),
            "tasks[0] (t), field `after`: nothing says what must be true at the end"
        );
    }
}
