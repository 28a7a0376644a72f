//! Holds a value against a schema that must itself be right, such as one of a tool file.

use serde_json::Value;

use crate::compile;

/// Returns the reason why the value does not fit, or why the schema is none. Unlike the checks of
/// other people's schemas, this one lets nothing pass that it does not understand.
pub fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let validator =
        compile::build(schema).map_err(|error| format!("the schema is none: {error}"))?;
    validator
        .validate(value)
        .map_err(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            place => format!("{error}, at `{place}`"),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_does_not_fit_and_a_schema_that_is_none_are_told_apart() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        assert_eq!(fits(&schema, &json!({ "a": "x" })), Ok(()));
        let reason = fits(&schema, &json!({ "a": 1 })).unwrap_err();
        assert_eq!(reason, "1 is not of type \"string\", at `/a`");
        let reason = fits(&json!({ "type": "strin" }), &json!({})).unwrap_err();
        assert!(reason.starts_with("the schema is none: "), "{reason}");
    }
}
