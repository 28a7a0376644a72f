//! Judges the first call of a model, against the call that the suite expects and against the
//! server's result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::GivenArguments;
use crate::suite::{CallArguments, Prompt};
use crate::tools::Called;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOutcome {
    Right,
    /// The tool is right; the arguments are different, or the server understood something
    /// different.
    WrongArguments,
    /// The tool is right; the arguments were not a JSON object.
    Malformed,
    /// The tool is right; the server answered with an error.
    Failed,
    WrongTool,
    /// The model called a tool that it was not offered.
    UnknownTool,
    /// The model ended with words, or with nothing.
    NoCall,
    /// The model looked around until its turns were used up, and called no tool.
    OutOfTurns,
}

/// The outcome of a call, and its fault if that can be described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallVerdict {
    pub(crate) outcome: ChoiceOutcome,
    pub(crate) why: Option<String>,
}

impl ChoiceOutcome {
    pub const ALL: [Self; 8] = [
        Self::Right,
        Self::WrongArguments,
        Self::Malformed,
        Self::Failed,
        Self::WrongTool,
        Self::UnknownTool,
        Self::NoCall,
        Self::OutOfTurns,
    ];

    pub fn is_right_tool(self) -> bool {
        !matches!(
            self,
            Self::WrongTool | Self::UnknownTool | Self::NoCall | Self::OutOfTurns
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::WrongArguments => "wrong arguments",
            Self::Malformed => "malformed arguments",
            Self::Failed => "failed",
            Self::WrongTool => "wrong tool",
            Self::UnknownTool => "no such tool",
            Self::NoCall => "no call",
            Self::OutOfTurns => "out of turns",
        }
    }
}

pub(crate) fn judge(
    prompt: &Prompt,
    tool: &str,
    given: &GivenArguments,
    called: &Called,
) -> CallVerdict {
    let accepted: Vec<_> = prompt.accept.iter().filter(|it| it.tool == tool).collect();
    let expected = prompt.expect.tool == tool;
    let verdict = |outcome, why| CallVerdict { outcome, why };
    if !expected && accepted.is_empty() {
        return verdict(ChoiceOutcome::WrongTool, None);
    }
    let GivenArguments::Arguments(given) = given else {
        return verdict(ChoiceOutcome::Malformed, None);
    };
    if called.failed {
        return verdict(ChoiceOutcome::Failed, Some(brief(&called.text)));
    }
    let fault = match expected {
        true => misfit(prompt, given).or_else(|| unresolved(prompt, &called.structured)),
        false => Some("these are not the accepted arguments".to_owned()),
    };
    match fault {
        Some(why)
            if !accepted
                .iter()
                .any(|it| same_arguments(&it.arguments, given)) =>
        {
            verdict(ChoiceOutcome::WrongArguments, Some(why))
        }
        _ => verdict(ChoiceOutcome::Right, None),
    }
}

/// Returns the beginning of a text that may be long.
pub(crate) fn brief(text: &str) -> String {
    const ENOUGH: usize = 160;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the fault of the arguments. Each expected parameter must be there and no other. A value
/// in the model's own words is accepted if `resolves` names the result that it must lead to.
fn misfit(prompt: &Prompt, given: &CallArguments) -> Option<String> {
    let free = |key: &str| {
        prompt
            .resolves
            .as_ref()
            .is_some_and(|it| it.contains_key(key))
    };
    let spellings = || std::iter::once(&prompt.expect.arguments).chain(&prompt.paraphrases);
    let spelt = |key: &str, value: &Value| {
        spellings()
            .filter_map(|it| it.get(key))
            .any(|it| same(it, value))
    };
    let wanted = |key: &str| said(&prompt.expect.arguments).find(|(name, _)| *name == key);
    let missing =
        said(&prompt.expect.arguments).filter(|(key, _)| said(given).all(|(name, _)| name != *key));
    let faults = missing.map(|(key, _)| format!("`{key}` is missing"));
    let faults = faults.chain(said(given).filter_map(|(key, value)| match wanted(key) {
        None => Some(format!("`{key}` was not asked for")),
        Some((_, expected)) if !free(key) && !spelt(key, value) => {
            Some(other(key, expected, value))
        }
        Some(_) => None,
    }));
    let faults: Vec<_> = faults.collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn other(key: &str, expected: &Value, given: &Value) -> String {
    let spelt = |it: &Value| {
        it.as_str()
            .map_or_else(|| it.to_string(), |text| text.trim().to_owned())
    };
    let mistyped = spelt(given) == spelt(expected);
    let hint = if mistyped {
        ", which is another type"
    } else {
        ""
    };
    format!(
        "`{key}` is {}, not {}{hint}",
        brief(&given.to_string()),
        brief(&expected.to_string())
    )
}

/// Returns the value that the server should have understood and did not.
fn unresolved(prompt: &Prompt, result: &Value) -> Option<String> {
    let missed = |(key, value): &(&String, &Value)| !contains(result.get(key.as_str()), value);
    let (key, expected) = prompt.resolves.as_ref()?.iter().find(missed)?;
    let found = result
        .get(key)
        .map_or_else(|| "nothing".to_owned(), ToString::to_string);
    Some(format!(
        "the result has {} as `{key}`, not {}",
        brief(&found),
        brief(&expected.to_string())
    ))
}

fn same_arguments(expected: &CallArguments, given: &CallArguments) -> bool {
    said(expected).count() == said(given).count()
        && said(expected).all(|(key, value)| given.get(key).is_some_and(|given| same(value, given)))
}

/// Leaves out empty values, because some models fill in every optional parameter with null or
/// empty.
fn said(arguments: &CallArguments) -> impl Iterator<Item = (&str, &Value)> {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    arguments
        .iter()
        .filter(move |(_, value)| !empty(value))
        .map(|(key, value)| (key.as_str(), value))
}

/// Compares texts without regard to case, blanks and dashes, numbers by value, and lists in any
/// order.
fn same(expected: &Value, given: &Value) -> bool {
    match (expected, given) {
        (Value::String(expected), Value::String(given)) => plain(expected) == plain(given),
        (Value::Number(expected), Value::Number(given)) => expected.as_f64() == given.as_f64(),
        (Value::Array(expected), Value::Array(given)) => {
            let all_in = |some: &[Value], others: &[Value]| {
                some.iter()
                    .all(|one| others.iter().any(|other| same(one, other)))
            };
            expected.len() == given.len() && all_in(expected, given) && all_in(given, expected)
        }
        (Value::Object(expected), Value::Object(given)) => same_arguments(expected, given),
        _ => expected == given,
    }
}

/// True if the result contains at least the expected value: an object may have more members, a list
/// more items.
pub(crate) fn contains(result: Option<&Value>, expected: &Value) -> bool {
    match (result, expected) {
        (Some(Value::Object(result)), Value::Object(expected)) => expected
            .iter()
            .all(|(key, value)| contains(result.get(key), value)),
        (Some(Value::Array(result)), Value::Array(expected)) => expected
            .iter()
            .all(|it| result.iter().any(|item| contains(Some(item), it))),
        (Some(result), expected) => same(expected, result),
        (None, expected) => expected.is_null(),
    }
}

fn plain(text: &str) -> String {
    let letters = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::Expected;

    fn object(value: Value) -> CallArguments {
        serde_json::from_value(value).unwrap()
    }

    fn prompt() -> Prompt {
        let call = |tool: &str, arguments: Value| Expected {
            tool: tool.into(),
            arguments: object(arguments),
        };
        Prompt {
            id: "p".into(),
            prompt: "?".into(),
            category: None,
            expect: call(
                "look",
                json!({ "agent": "copilot-cli", "capability": "mcp" }),
            ),
            accept: vec![call(
                "compare",
                json!({ "capability": "mcp", "agents": ["a", "b"] }),
            )],
            paraphrases: vec![object(json!({ "agent": "Copilot in the terminal" }))],
            resolves: Some(object(json!({ "capability": { "name": "MCP Support" } }))),
        }
    }

    #[track_caller]
    fn check(tool: &str, given: Value, result: Value, expected: ChoiceOutcome) {
        assert_eq!(verdict(tool, given, result).outcome, expected);
    }

    fn verdict(tool: &str, given: Value, result: Value) -> CallVerdict {
        let called = Called {
            failed: false,
            text: String::new(),
            structured: result,
        };
        judge(
            &prompt(),
            tool,
            &GivenArguments::Arguments(object(given)),
            &called,
        )
    }

    #[test]
    fn arguments_are_right_if_they_are_the_expected_ones_and_come_to_what_they_should() {
        let mcp = || json!({ "capability": { "name": "mcp support", "tier": "pro" } });
        let call =
            |agent: &str, capability: &str| json!({ "agent": agent, "capability": capability });
        check(
            "look",
            call("copilot-cli", "mcp"),
            mcp(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("Copilot CLI", "model context protocol"),
            mcp(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("copilot in the terminal", "mcp"),
            mcp(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("cursor", "mcp"),
            mcp(),
            ChoiceOutcome::WrongArguments,
        );
        check(
            "look",
            call("copilot-cli", "mcp"),
            json!({ "capability": null }),
            ChoiceOutcome::WrongArguments,
        );
        check(
            "look",
            json!({ "agent": "copilot-cli" }),
            mcp(),
            ChoiceOutcome::WrongArguments,
        );
        let filtered = json!({ "agent": "copilot-cli", "capability": "mcp", "tier": "free" });
        check("look", filtered, mcp(), ChoiceOutcome::WrongArguments);
        let filled =
            json!({ "agent": "copilot-cli", "capability": "mcp", "tier": null, "tags": [] });
        check("look", filled, mcp(), ChoiceOutcome::Right);
    }

    #[test]
    fn another_call_is_as_good_only_if_the_suite_says_so() {
        check(
            "compare",
            json!({ "agents": ["B", "a"], "capability": "MCP" }),
            json!({}),
            ChoiceOutcome::Right,
        );
        check(
            "compare",
            json!({ "agents": ["a"], "capability": "mcp" }),
            json!({}),
            ChoiceOutcome::WrongArguments,
        );
        check("list", json!({}), json!({}), ChoiceOutcome::WrongTool);
    }

    #[test]
    fn a_call_that_went_wrong_is_not_right_whatever_it_said() {
        let failed = Called::failure("no".into());
        let given = GivenArguments::Arguments(object(
            json!({ "agent": "copilot-cli", "capability": "mcp" }),
        ));
        let outcome =
            |tool: &str, given: &GivenArguments| judge(&prompt(), tool, given, &failed).outcome;
        assert_eq!(
            judge(&prompt(), "look", &given, &failed).why.as_deref(),
            Some("no")
        );
        assert_eq!(outcome("look", &given), ChoiceOutcome::Failed);
        let malformed = GivenArguments::Malformed("{".into());
        assert_eq!(outcome("look", &malformed), ChoiceOutcome::Malformed);
        assert_eq!(outcome("list", &malformed), ChoiceOutcome::WrongTool);
    }

    #[test]
    fn what_was_wrong_is_said_in_words() {
        let why = |given: Value, result: Value, told: &str| {
            assert_eq!(verdict("look", given, result).why.as_deref(), Some(told));
        };
        let mcp = || json!({ "capability": { "name": "MCP Support" } });
        why(
            json!({ "agent": "cursor", "tier": 1 }),
            mcp(),
            "`capability` is missing; `agent` is \"cursor\", not \"copilot-cli\"; `tier` was not asked for",
        );
        why(
            json!({ "agent": "copilot-cli", "capability": "x" }),
            json!({}),
            "the result has nothing as `capability`, not {\"name\":\"MCP Support\"}",
        );
        let (text, number) = (json!("5"), json!(5));
        assert_eq!(
            other("count", &number, &text),
            "`count` is \"5\", not 5, which is another type"
        );
        assert_eq!(
            other("count", &text, &number),
            "`count` is 5, not \"5\", which is another type"
        );
    }

    #[test]
    fn a_result_contains_what_is_expected_among_other_things() {
        let result = json!({ "rows": [{ "id": 1, "name": "a" }, { "id": 2 }], "n": 2.0 });
        let held = |expected: Value| contains(Some(&result), &expected);
        assert!(held(json!({ "rows": [{ "id": 2 }], "n": 2 })));
        assert!(held(json!({ "missing": null })));
        assert!(!held(json!({ "rows": [{ "id": 3 }] })));
    }
}
