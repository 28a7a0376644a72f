//! Judges the end of a task: the state of the servers, the tools that were called, and the last
//! words of the model.

use crate::called::Called;
use crate::judge::brief;
use crate::matching::contains;
use crate::suite::{EndCheck, ExamTask, Expected, TextRule};
use crate::workplace::Workplace;

/// Prepares the servers for a task. The error names the call that failed.
pub(crate) async fn prepare(task: &ExamTask, place: &impl Workplace) -> Result<(), String> {
    for Expected { tool, arguments } in &task.before {
        let called = place.arrange(tool.clone(), arguments.clone()).await;
        if called.failed {
            return Err(format!("{tool} failed: {}", brief(&called.text)));
        }
    }
    Ok(())
}

/// Returns everything that is not as it should be at the end.
pub(crate) async fn faults(task: &ExamTask, place: &impl Workplace, words: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if !task.called.is_empty() {
        let reached = place.reached().await;
        faults.extend(not_called(task, &reached));
    }
    for check in &task.after {
        let Expected { tool, arguments } = &check.call;
        let called = place.arrange(tool.clone(), arguments.clone()).await;
        faults.extend(fault(check, &called).map(|it| format!("{tool}: {it}")));
    }
    faults.extend(broken(&task.answer, words).map(|it| format!("the answer: {it}")));
    faults
}

fn not_called<'a>(task: &'a ExamTask, reached: &'a [String]) -> impl Iterator<Item = String> + 'a {
    let wanted = task.called.iter().map(|it| &it.tool);
    let missing = wanted.filter(|tool| !reached.contains(tool));
    missing.map(|tool| format!("{tool} was not called with success"))
}

fn fault(check: &EndCheck, called: &Called) -> Option<String> {
    match (check.fails, called.failed) {
        (true, false) => return Some(format!("it did not fail: {}", brief(&called.text))),
        (false, true) => return Some(format!("it failed: {}", brief(&called.text))),
        _ => {}
    }
    let unmatched = check
        .matches
        .as_ref()
        .filter(|expected| !contains(Some(&called.structured), expected))
        .map(|expected| format!("{} does not contain {expected}", brief(&called.text)));
    broken(&check.text, &called.text).or(unmatched)
}

/// Returns the first part that a text lacks, or has although it must not.
fn broken(rule: &TextRule, text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let mut wanted = rule.contains.iter();
    let missing = wanted.find(|part| !text.contains(&part.to_lowercase()));
    let mut unwanted = rule.lacks.iter();
    let found = unwanted.find(|part| text.contains(&part.to_lowercase()));
    let missing = missing.map(|part| format!("`{part}` is missing in: {}", brief(&text)));
    missing.or_else(|| found.map(|part| format!("`{part}` is still in: {}", brief(&text))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::CallArguments;

    fn check(rule: &EndCheck, result: &serde_json::Value, told: Option<&str>) {
        assert_eq!(fault(rule, &Called::new(result)).as_deref(), told);
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
    fn a_result_is_held_against_its_text_its_members_and_its_failure() {
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "gone" }] });
        let mut words = rule();
        words.text.contains = vec!["Milk".into()];
        words.text.lacks = vec!["eggs".into()];
        check(&words, &text("milk, bread"), None);
        check(&words, &text("tea"), Some("`Milk` is missing in: tea"));
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
