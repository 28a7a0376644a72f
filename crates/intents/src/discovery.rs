//! The intents `custom_query` and `new_capability`: they skip templates and cached results and go
//! straight to a tool search.

use serde_json::{Map, Value};

/// The search query, and the arguments for the tool that is found.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    pub words: String,
    pub arguments: Map<String, Value>,
}

const NAMES: &[&str] = &["custom_query", "new_capability"];
/// The parameters that hold the query if the words do not.
const SOUGHT: &[&str] = &["query", "capability", "description", "intent"];

impl Discovery {
    /// Parses a request such as `custom_query: orders of last week`, or `new_capability` with the
    /// parameter `capability`. Returns `None` for any other request.
    pub fn parse(words: &str, given: &Map<String, Value>) -> Option<Self> {
        let words = words.trim();
        let rest = NAMES.iter().find_map(|name| {
            let spoken = name.replace('_', " ");
            let start = words.get(..name.len())?;
            let same = start.eq_ignore_ascii_case(name) || start.eq_ignore_ascii_case(&spoken);
            let rest = same.then(|| &words[name.len()..])?;
            let apart = rest.is_empty() || rest.starts_with([':', ' ']);
            apart.then(|| rest.trim_start_matches(':').trim())
        })?;
        let mut arguments = given.clone();
        if !rest.is_empty() {
            return Some(Self {
                words: rest.to_owned(),
                arguments,
            });
        }
        let named = SOUGHT
            .iter()
            .find(|name| given.get(**name).is_some_and(Value::is_string))?;
        let Some(Value::String(words)) = arguments.remove(*named) else {
            return None;
        };
        Some(Self { words, arguments })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_for_discovery_has_its_query_in_words_or_in_a_parameter() {
        for (words, given, expected) in [
            (
                "custom_query: orders of May",
                json!({}),
                Some(("orders of May", json!({}))),
            ),
            (
                "Custom query orders",
                json!({ "limit": 1 }),
                Some(("orders", json!({ "limit": 1 }))),
            ),
            (
                "new_capability",
                json!({ "capability": "send a fax", "to": "Ann" }),
                Some(("send a fax", json!({ "to": "Ann" }))),
            ),
            ("custom_query", json!({}), None),
            ("custom_queryish orders", json!({}), None),
            ("list errors", json!({}), None),
        ] {
            let found = Discovery::parse(words, given.as_object().unwrap());
            let found = found.map(|it| (it.words, Value::Object(it.arguments)));
            let expected = expected.map(|(words, given)| (words.to_owned(), given));
            assert_eq!(found, expected, "{words}");
        }
    }
}
