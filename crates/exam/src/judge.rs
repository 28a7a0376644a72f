//! Was it the right call? The first call a model makes is judged, against what the suite expects
//! and against what the server made of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::Given;
use crate::suite::{Arguments, Prompt};
use crate::tools::Called;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Right,
    /// The right tool; the arguments say something else, or the server understood something else.
    WrongArguments,
    /// The right tool; the arguments were no JSON object.
    Malformed,
    /// The right tool; the server answered with an error.
    Failed,
    WrongTool,
    NoCall,
}

impl Outcome {
    pub const ALL: [Self; 6] =
        [Self::Right, Self::WrongArguments, Self::Malformed, Self::Failed, Self::WrongTool, Self::NoCall];

    pub fn is_right_tool(self) -> bool {
        !matches!(self, Self::WrongTool | Self::NoCall)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::WrongArguments => "wrong arguments",
            Self::Malformed => "malformed arguments",
            Self::Failed => "failed",
            Self::WrongTool => "wrong tool",
            Self::NoCall => "no call",
        }
    }
}

pub(crate) fn judge(prompt: &Prompt, tool: &str, given: &Given, called: &Called) -> Outcome {
    let accepted: Vec<_> = prompt.accept.iter().filter(|it| it.tool == tool).collect();
    let expected = prompt.expect.tool == tool;
    if !expected && accepted.is_empty() {
        return Outcome::WrongTool;
    }
    let Given::Arguments(given) = given else { return Outcome::Malformed };
    if called.failed {
        return Outcome::Failed;
    }
    let right = (expected && resolved(prompt, given, &called.structured))
        || accepted.iter().any(|it| same_arguments(&it.arguments, given));
    if right { Outcome::Right } else { Outcome::WrongArguments }
}

/// Whether the arguments are the expected ones and came to what they should.
pub(crate) fn resolved(prompt: &Prompt, given: &Arguments, result: &Value) -> bool {
    let resolves = prompt.resolves.as_ref();
    let held = resolves.is_none_or(|it| it.iter().all(|(key, value)| contains(result.get(key), value)));
    held && arguments_fit(prompt, given)
}

/// Each expected parameter is there and no other. A value in words of the model's own counts where
/// `resolves` has said what it must come to.
fn arguments_fit(prompt: &Prompt, given: &Arguments) -> bool {
    let spellings = || std::iter::once(&prompt.expect.arguments).chain(&prompt.paraphrases);
    let fits = |key: &str, value: &Value| {
        prompt.resolves.as_ref().is_some_and(|it| it.contains_key(key))
            || spellings().filter_map(|it| it.get(key)).any(|expected| same(expected, value))
    };
    let expected: Vec<_> = said(&prompt.expect.arguments).map(|(key, _)| key).collect();
    said(given).count() == expected.len()
        && said(given).all(|(key, value)| expected.contains(&key) && fits(key, value))
}

fn same_arguments(expected: &Arguments, given: &Arguments) -> bool {
    said(expected).count() == said(given).count()
        && said(expected).all(|(key, value)| given.get(key).is_some_and(|given| same(value, given)))
}

/// Without what says nothing: some models fill in every optional parameter, with null or empty.
fn said(arguments: &Arguments) -> impl Iterator<Item = (&str, &Value)> {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    arguments.iter().filter(move |(_, value)| !empty(value)).map(|(key, value)| (key.as_str(), value))
}

/// Texts but for case, blanks and dashes; numbers by value; lists in any order.
fn same(expected: &Value, given: &Value) -> bool {
    match (expected, given) {
        (Value::String(expected), Value::String(given)) => plain(expected) == plain(given),
        (Value::Number(expected), Value::Number(given)) => expected.as_f64() == given.as_f64(),
        (Value::Array(expected), Value::Array(given)) => {
            let all_in = |some: &[Value], others: &[Value]| {
                some.iter().all(|one| others.iter().any(|other| same(one, other)))
            };
            expected.len() == given.len() && all_in(expected, given) && all_in(given, expected)
        }
        (Value::Object(expected), Value::Object(given)) => same_arguments(expected, given),
        _ => expected == given,
    }
}

/// Whether the result has at least what is expected: an object may have more members, a list more
/// items.
pub(crate) fn contains(result: Option<&Value>, expected: &Value) -> bool {
    match (result, expected) {
        (Some(Value::Object(result)), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| contains(result.get(key), value))
        }
        (Some(Value::Array(result)), Value::Array(expected)) => {
            expected.iter().all(|it| result.iter().any(|item| contains(Some(item), it)))
        }
        (Some(result), expected) => same(expected, result),
        (None, expected) => expected.is_null(),
    }
}

fn plain(text: &str) -> String {
    let letters = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::Expected;

    fn object(value: Value) -> Arguments {
        serde_json::from_value(value).unwrap()
    }

    fn prompt() -> Prompt {
        let call =
            |tool: &str, arguments: Value| Expected { tool: tool.into(), arguments: object(arguments) };
        Prompt {
            id: "p".into(),
            prompt: "?".into(),
            expect: call("look", json!({ "agent": "copilot-cli", "capability": "mcp" })),
            accept: vec![call("compare", json!({ "capability": "mcp", "agents": ["a", "b"] }))],
            paraphrases: vec![object(json!({ "agent": "Copilot in the terminal" }))],
            resolves: Some(object(json!({ "capability": { "name": "MCP Support" } }))),
        }
    }

    #[track_caller]
    fn check(tool: &str, given: Value, result: Value, expected: Outcome) {
        let called = Called { failed: false, text: String::new(), structured: result };
        assert_eq!(judge(&prompt(), tool, &Given::Arguments(object(given)), &called), expected);
    }

    #[test]
    fn arguments_are_right_if_they_are_the_expected_ones_and_come_to_what_they_should() {
        let mcp = || json!({ "capability": { "name": "mcp support", "tier": "pro" } });
        let call = |agent: &str, capability: &str| json!({ "agent": agent, "capability": capability });
        check("look", call("copilot-cli", "mcp"), mcp(), Outcome::Right);
        check("look", call("Copilot CLI", "model context protocol"), mcp(), Outcome::Right);
        check("look", call("copilot in the terminal", "mcp"), mcp(), Outcome::Right);
        check("look", call("cursor", "mcp"), mcp(), Outcome::WrongArguments);
        check("look", call("copilot-cli", "mcp"), json!({ "capability": null }), Outcome::WrongArguments);
        check("look", json!({ "agent": "copilot-cli" }), mcp(), Outcome::WrongArguments);
        let filtered = json!({ "agent": "copilot-cli", "capability": "mcp", "tier": "free" });
        check("look", filtered, mcp(), Outcome::WrongArguments);
        let filled = json!({ "agent": "copilot-cli", "capability": "mcp", "tier": null, "tags": [] });
        check("look", filled, mcp(), Outcome::Right);
    }

    #[test]
    fn another_call_is_as_good_only_if_the_suite_says_so() {
        check("compare", json!({ "agents": ["B", "a"], "capability": "MCP" }), json!({}), Outcome::Right);
        check("compare", json!({ "agents": ["a"], "capability": "mcp" }), json!({}), Outcome::WrongArguments);
        check("list", json!({}), json!({}), Outcome::WrongTool);
    }

    #[test]
    fn a_call_that_went_wrong_is_not_right_whatever_it_said() {
        let failed = Called::failure("no".into());
        let given = Given::Arguments(object(json!({ "agent": "copilot-cli", "capability": "mcp" })));
        assert_eq!(judge(&prompt(), "look", &given, &failed), Outcome::Failed);
        let malformed = Given::Malformed("{".into());
        assert_eq!(judge(&prompt(), "look", &malformed, &failed), Outcome::Malformed);
        assert_eq!(judge(&prompt(), "list", &malformed, &failed), Outcome::WrongTool);
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
