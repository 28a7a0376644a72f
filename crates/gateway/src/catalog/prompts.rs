//! Reads the arguments that a server declares for a prompt, and checks that a caller gives the
//! required ones.

use kitbag_domain::text::strip_to_one_line;
use kitbag_wire::{Raw, RawObject};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub required: bool,
}

/// Returns the arguments of a prompt; malformed ones are skipped.
pub(crate) fn prompt_arguments(definition: &Raw) -> Vec<PromptArgument> {
    let declared: Vec<Value> = RawObject::open(definition)
        .ok()
        .and_then(|it| it.read("arguments"))
        .unwrap_or_default();
    declared
        .into_iter()
        .filter_map(|it| serde_json::from_value(it).ok())
        .collect()
}

/// Rejects a request without the prompt's required arguments.
pub(crate) fn check_arguments(definition: &Raw, params: &RawObject) -> Result<(), Failure> {
    let given = params.get_object("arguments").unwrap_or_default();
    let needed = prompt_arguments(definition)
        .into_iter()
        .filter(|it| it.required && !given.contains(&it.name));
    let missing: Vec<String> = needed.map(|it| strip_to_one_line(&it.name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let prompt = RawObject::open(definition)
        .ok()
        .and_then(|it| it.read("name"))
        .unwrap_or_default();
    Err(Failure::MissingArguments { prompt, missing })
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(declared: &Value, params: &Value, expected: Option<&str>) {
        let definition = raw(&json!({ "name": "git__review", "arguments": declared }));
        let params = RawObject::open(&raw(params)).unwrap();
        let found = check_arguments(&definition, &params).map_err(|failure| failure.to_string());
        assert_eq!(found.err().as_deref(), expected, "{declared} {params:?}");
    }

    #[test]
    fn missing_required_arguments_are_named() {
        let declared = json!([{ "name": "a", "required": true }, { "name": "b", "required": true }, { "name": "c" }]);
        check(
            &declared,
            &json!({ "arguments": { "a": "", "b": "1" } }),
            None,
        );
        check(
            &declared,
            &json!({ "arguments": { "a": "1", "c": "2" } }),
            Some("the prompt `git__review` needs the argument `b`"),
        );
        check(
            &declared,
            &json!({}),
            Some("the prompt `git__review` needs the arguments `a`, `b`"),
        );
    }

    #[test]
    fn malformed_declarations_require_nothing() {
        check(
            &json!([{ "name": 1, "required": true }, "x", { "required": true }]),
            &json!({}),
            None,
        );
        check(&json!("all of them"), &json!({}), None);
    }
}
