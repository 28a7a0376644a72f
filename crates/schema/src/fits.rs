//! Checks a value against a schema that must itself be valid, such as a tool file's.

use serde_json::Value;

use crate::compile;

/// Returns the reason why the value does not match, or why the schema is invalid. Unlike the checks
/// of servers' schemas, this one passes nothing that it does not understand.
pub fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = compile::build(schema).map_err(|error| error.to_string())?;
    validator
        .validate(value)
        .map_err(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("{error}, at `{path}`"),
        })
}

/// Returns the reason why a schema is invalid.
pub fn schema_fault(schema: &Value) -> Option<String> {
    compile::build(schema).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mismatched_value_and_an_invalid_schema_are_rejected() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        assert_eq!(fits(&schema, &json!({ "a": "x" })), Ok(()));
        let reason = fits(&schema, &json!({ "a": 1 })).unwrap_err();
        assert_eq!(reason, "1 is not of type \"string\", at `/a`");
        assert_eq!(schema_fault(&schema), None);
        let broken = json!({ "type": "strin" });
        assert_eq!(fits(&broken, &json!({})).err(), schema_fault(&broken));
    }
}
