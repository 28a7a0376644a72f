//! Judges the first call of a model, against the expected call of the suite and the server's
//! result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dialect::GivenArguments;
use crate::matching::{contains, filled_arguments, has_argument, is_same_value, same_arguments};
use crate::suite::{CallArguments, Prompt};
use crate::tool_result::ToolResult;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceOutcome {
    Right,
    /// The tool is right; the arguments are different, or the server resolved them differently.
    WrongArguments,
    /// The tool is right; the arguments were not a JSON object.
    Malformed,
    /// The tool is right; the server answered with an error.
    Failed,
    WrongTool,
    /// The model called a tool that it was not offered.
    UnknownTool,
    /// The model ended with text, or with nothing.
    NoCall,
    /// The model searched until the turn limit, and called no tool.
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

impl CallVerdict {
    pub(crate) fn without_reason(outcome: ChoiceOutcome) -> Self {
        Self { outcome, why: None }
    }

    fn with_reason(outcome: ChoiceOutcome, why: String) -> Self {
        let why = Some(why);
        Self { outcome, why }
    }
}

pub(crate) fn judge(
    prompt: &Prompt,
    tool: &str,
    given: &GivenArguments,
    called: &ToolResult,
) -> CallVerdict {
    let is_expected = prompt.expect.tool == tool;
    if !is_expected && prompt.accept.iter().all(|it| it.tool != tool) {
        return CallVerdict::without_reason(ChoiceOutcome::WrongTool);
    }
    let GivenArguments::Arguments(given) = given else {
        return CallVerdict::without_reason(ChoiceOutcome::Malformed);
    };
    if called.failed {
        return CallVerdict::with_reason(ChoiceOutcome::Failed, truncate_text(&called.text));
    }
    let fault = match is_expected {
        true => {
            check_arguments(prompt, given).or_else(|| check_resolved(prompt, &called.structured))
        }
        false => Some("the arguments are not accepted".to_owned()),
    };
    match fault {
        Some(why) if !is_accepted(prompt, tool, given) => {
            CallVerdict::with_reason(ChoiceOutcome::WrongArguments, why)
        }
        _ => CallVerdict::without_reason(ChoiceOutcome::Right),
    }
}

fn is_accepted(prompt: &Prompt, tool: &str, given: &CallArguments) -> bool {
    let mut accepted = prompt.accept.iter().filter(|it| it.tool == tool);
    accepted.any(|it| same_arguments(&it.arguments, given))
}

/// Returns the beginning of a text that may be long.
pub(crate) fn truncate_text(text: &str) -> String {
    /// Two lines of a terminal.
    const ENOUGH: usize = 160;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the fault of the arguments. Exactly the expected parameters must be present.
fn check_arguments(prompt: &Prompt, given: &CallArguments) -> Option<String> {
    let missing =
        filled_arguments(&prompt.expect.arguments).filter(|(key, _)| !has_argument(given, key));
    let missing = missing.map(|(key, _)| format!("`{key}` is missing"));
    let wrong =
        filled_arguments(given).filter_map(|(key, value)| prompt.check_argument(key, value));
    let faults: Vec<_> = missing.chain(wrong).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

impl Prompt {
    /// Returns the fault of one argument.
    fn check_argument(&self, key: &str, value: &Value) -> Option<String> {
        if !has_argument(&self.expect.arguments, key) {
            return Some(format!("`{key}` is unexpected"));
        }
        let fits = self.accepts_any_value(key) || self.is_expected_value(key, value);
        (!fits).then(|| describe_mismatch(key, &self.expect.arguments[key], value))
    }

    /// True if the model may use its own words, because `resolves` defines the result that they
    /// must lead to.
    fn accepts_any_value(&self, key: &str) -> bool {
        let resolves = self.resolves.as_ref();
        resolves.is_some_and(|it| it.contains_key(key))
    }

    /// True if the value is the expected one, or one of its paraphrases.
    fn is_expected_value(&self, key: &str, value: &Value) -> bool {
        let spellings = std::iter::once(&self.expect.arguments).chain(&self.paraphrases);
        let mut values = spellings.filter_map(|it| it.get(key));
        values.any(|it| is_same_value(it, value))
    }
}

fn describe_mismatch(key: &str, expected: &Value, given: &Value) -> String {
    let hint = match unquoted_text(given) == unquoted_text(expected) {
        true => " (different type)",
        false => "",
    };
    let (given, expected) = (
        truncate_text(&given.to_string()),
        truncate_text(&expected.to_string()),
    );
    format!("`{key}` is {given}, expected {expected}{hint}")
}

/// Returns the text of a value, without quotes.
fn unquoted_text(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.trim().to_owned(),
        None => value.to_string(),
    }
}

/// Returns the expected value that the server did not resolve.
fn check_resolved(prompt: &Prompt, result: &Value) -> Option<String> {
    let mut expected = prompt.resolves.as_ref()?.iter();
    let (key, expected) = expected.find(|(key, value)| !contains(result.get(key), value))?;
    let found = result.get(key).map(ToString::to_string);
    let found = truncate_text(found.as_deref().unwrap_or("nothing"));
    let expected = truncate_text(&expected.to_string());
    Some(format!(
        "`{key}` of the result is {found}, expected {expected}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::suite::Expected;

    fn object(value: Value) -> CallArguments {
        serde_json::from_value(value).unwrap()
    }

    fn expected_call(tool: &str, arguments: Value) -> Expected {
        Expected {
            tool: tool.into(),
            arguments: object(arguments),
        }
    }

    fn prompt() -> Prompt {
        Prompt {
            id: "p".into(),
            prompt: "?".into(),
            category: None,
            expect: expected_call(
                "look",
                json!({ "agent": "copilot-cli", "capability": "mcp" }),
            ),
            accept: vec![expected_call(
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
        let called = ToolResult {
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

    fn call(agent: &str, capability: &str) -> Value {
        json!({ "agent": agent, "capability": capability })
    }

    #[test]
    fn arguments_are_right_if_they_are_expected_and_resolve_as_expected() {
        let mcp = json!({ "capability": { "name": "mcp support", "tier": "pro" } });
        check(
            "look",
            call("copilot-cli", "mcp"),
            mcp.clone(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("Copilot CLI", "model context protocol"),
            mcp.clone(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("copilot in the terminal", "mcp"),
            mcp.clone(),
            ChoiceOutcome::Right,
        );
        check(
            "look",
            call("cursor", "mcp"),
            mcp.clone(),
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
            mcp.clone(),
            ChoiceOutcome::WrongArguments,
        );
        let filtered = json!({ "agent": "copilot-cli", "capability": "mcp", "tier": "free" });
        check("look", filtered, mcp.clone(), ChoiceOutcome::WrongArguments);
        let filled =
            json!({ "agent": "copilot-cli", "capability": "mcp", "tier": null, "tags": [] });
        check("look", filled, mcp.clone(), ChoiceOutcome::Right);
    }

    #[test]
    fn another_call_is_right_only_if_the_suite_accepts_it() {
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
    fn a_failed_call_is_never_right() {
        let failed = ToolResult::from_error("no".into());
        let given = GivenArguments::Arguments(object(
            json!({ "agent": "copilot-cli", "capability": "mcp" }),
        ));
        assert_eq!(
            judge(&prompt(), "look", &given, &failed).why.as_deref(),
            Some("no")
        );
        let malformed = GivenArguments::Malformed("{".into());
        for (tool, given, expected) in [
            ("look", &given, ChoiceOutcome::Failed),
            ("look", &malformed, ChoiceOutcome::Malformed),
            ("list", &malformed, ChoiceOutcome::WrongTool),
        ] {
            assert_eq!(judge(&prompt(), tool, given, &failed).outcome, expected);
        }
    }

    #[track_caller]
    fn check_reason(given: Value, result: Value, error: &str) {
        assert_eq!(verdict("look", given, result).why.as_deref(), Some(error));
    }

    #[test]
    fn faults_are_described() {
        check_reason(
            json!({ "agent": "cursor", "tier": 1 }),
            json!({ "capability": { "name": "MCP Support" } }),
            "`capability` is missing; `agent` is \"cursor\", expected \"copilot-cli\"; `tier` is unexpected",
        );
        check_reason(
            json!({ "agent": "copilot-cli", "capability": "x" }),
            json!({}),
            "`capability` of the result is nothing, expected {\"name\":\"MCP Support\"}",
        );
        let (text, number) = (json!("5"), json!(5));
        assert_eq!(
            describe_mismatch("count", &number, &text),
            "`count` is \"5\", expected 5 (different type)"
        );
        assert_eq!(
            describe_mismatch("count", &text, &number),
            "`count` is 5, expected \"5\" (different type)"
        );
    }
}
