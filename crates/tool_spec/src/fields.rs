//! Values as fields of a query or a form, which only has names and texts.

use serde_json::Value;

use crate::placeholder::to_plain_text;

/// Returns the fields of a value: a list is repeated under one name, and the members of an object are
/// called `name[member]`.
pub fn to_fields(name: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(items) => items
            .iter()
            .flat_map(|item| to_fields(name, item))
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(member, value)| to_fields(&format!("{name}[{member}]"), value))
            .collect(),
        _ => to_plain_text(value)
            .map(|text| (name.to_owned(), text))
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_repeat_a_name_and_objects_nest_it() {
        let value = json!({ "b": [1, 2], "c": { "d": true, "e": null } });
        let written: Vec<String> = to_fields("a", &value)
            .into_iter()
            .map(|(name, text)| format!("{name}={text}"))
            .collect();
        assert_eq!(written, ["a[b]=1", "a[b]=2", "a[c][d]=true"]);
    }
}
