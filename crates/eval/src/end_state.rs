//! Judges the end of a task: the state of the servers, the called tools, and the model's last text.

use crate::environment::TaskEnvironment;
use crate::judge::truncate_text;
use crate::matching::contains;
use crate::suite::{EndCheck, Expected, SuiteTask, TextRule};
use crate::tool_result::ToolResult;

/// Prepares the servers for a task. The error names the failed call.
pub(crate) async fn prepare_servers(
    task: &SuiteTask,
    environment: &impl TaskEnvironment,
) -> Result<(), String> {
    for Expected { tool, arguments } in &task.before {
        let called = environment
            .call_setup_tool(tool.clone(), arguments.clone())
            .await;
        if called.failed {
            return Err(format!("{tool} failed: {}", truncate_text(&called.text)));
        }
    }
    Ok(())
}

/// Returns everything that is wrong at the end.
pub(crate) async fn find_faults(
    task: &SuiteTask,
    environment: &impl TaskEnvironment,
    words: &str,
) -> Vec<String> {
    let mut faults = Vec::new();
    if !task.called.is_empty() {
        let succeeded = environment.succeeded_tools().await;
        faults.extend(uncalled_tools(task, &succeeded));
    }
    for check in &task.after {
        let Expected { tool, arguments } = &check.call;
        let called = environment
            .call_setup_tool(tool.clone(), arguments.clone())
            .await;
        faults.extend(check_result(check, &called).map(|it| format!("{tool}: {it}")));
    }
    faults.extend(check_text(&task.answer, words).map(|it| format!("the answer: {it}")));
    faults
}

fn uncalled_tools<'a>(
    task: &'a SuiteTask,
    succeeded: &'a [String],
) -> impl Iterator<Item = String> + 'a {
    let wanted = task.called.iter().map(|it| &it.tool);
    let missing = wanted.filter(|tool| !succeeded.contains(tool));
    missing.map(|tool| format!("{tool} was not called successfully"))
}

fn check_result(check: &EndCheck, called: &ToolResult) -> Option<String> {
    match (check.fails, called.failed) {
        (true, false) => return Some(format!("it did not fail: {}", truncate_text(&called.text))),
        (false, true) => return Some(format!("it failed: {}", truncate_text(&called.text))),
        _ => {}
    }
    let unmatched = check
        .matches
        .as_ref()
        .filter(|expected| !contains(Some(&called.structured), expected))
        .map(|expected| {
            format!(
                "{} does not contain {expected}",
                truncate_text(&called.text)
            )
        });
    check_text(&check.text, &called.text).or(unmatched)
}

/// Returns the first part that a text lacks, or contains although it must not.
fn check_text(rule: &TextRule, text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let mut wanted = rule.contains.iter();
    let missing = wanted.find(|part| !text.contains(&part.to_lowercase()));
    let mut unwanted = rule.lacks.iter();
    let found = unwanted.find(|part| text.contains(&part.to_lowercase()));
    let missing = missing.map(|part| format!("`{part}` is missing from: {}", truncate_text(&text)));
    missing.or_else(|| found.map(|part| format!("`{part}` is still in: {}", truncate_text(&text))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::CallArguments;

    fn check(rule: &EndCheck, result: &serde_json::Value, error: Option<&str>) {
        assert_eq!(
            check_result(rule, &ToolResult::new(result)).as_deref(),
            error
        );
    }

    fn rule() -> EndCheck {
        EndCheck {
            call: Expected {
                tool: "read".into(),
                arguments: CallArguments::new(),
            },
            text: TextRule::default(),
            matches: None,
            fails: false,
        }
    }

    #[test]
    fn a_result_is_checked_by_text_members_and_failure() {
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "gone" }] });
        let mut words = rule();
        words.text.contains = vec!["Milk".into()];
        words.text.lacks = vec!["eggs".into()];
        check(&words, &text("milk, bread"), None);
        check(&words, &text("tea"), Some("`Milk` is missing from: tea"));
        check(
            &words,
            &text("milk, EGGS"),
            Some("`eggs` is still in: milk, eggs"),
        );
        check(&words, &failed, Some("it failed: gone"));
        let members = EndCheck {
            matches: Some(json!({ "n": 1 })),
            ..rule()
        };
        check(&members, &text("{\"n\":1,\"m\":2}"), None);
        check(
            &members,
            &text("{\"n\":2}"),
            Some("{\"n\":2} does not contain {\"n\":1}"),
        );
        let gone = EndCheck {
            fails: true,
            ..rule()
        };
        check(&gone, &failed, None);
        check(&gone, &text("here"), Some("it did not fail: here"));
    }
}
