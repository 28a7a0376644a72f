//! Tool definitions in the form that the vendors' APIs accept.
//!
//! An MCP server may use any JSON Schema and a description of any length. The vendors' APIs reject
//! a whole request for one unsupported definition, so every definition is rewritten before it is
//! sent. Arguments are still checked against the server's own schema.
//!
//! # Layout
//! - this file: a definition for a vendor, and each vendor's limits
//! - [`schema`]: converts any schema to one with a plain object at the top level

pub mod schema;

use serde_json::{Value, json};

/// The vendor whose API a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    OpenAi,
}

/// The reason why a definition cannot be rewritten: a call of the tool would be ambiguous or
/// impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedTool {
    #[error("its name is not 1 to 64 letters, digits, `_` and `-`")]
    Name,
    #[error(
        "its parameter `{parameter}` has a name that is not 1 to 64 letters, digits, `_`, `.` and `-`"
    )]
    Parameter { parameter: String },
}

/// The longest name of a function, and of a parameter at Anthropic.
const LONGEST_NAME: usize = 64;

impl Vendor {
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// Returns the definition in request form.
    pub fn tool(
        self,
        name: &str,
        description: &str,
        schema: &Value,
    ) -> Result<Value, UnsupportedTool> {
        if !is_valid_name(name, "_-") {
            return Err(UnsupportedTool::Name);
        }
        let schema::PlainSchema { schema, remark } = schema::to_plain(schema);
        self.check_parameters(&schema)?;
        let description = self.limit_description(description, remark.as_deref());
        Ok(match self {
            Self::Anthropic => {
                json!({ "name": name, "description": description, "input_schema": schema })
            }
            Self::OpenAi => json!({
                "type": "function",
                "function": { "name": name, "description": description, "parameters": schema },
            }),
        })
    }

    /// Returns the tool limit of a request; `None` if the vendor documents none.
    pub fn max_tools(self) -> Option<usize> {
        match self {
            Self::Anthropic => None,
            Self::OpenAi => Some(128),
        }
    }

    /// Returns the length limit of a description, in characters; `None` if the vendor documents
    /// none.
    pub fn max_description(self) -> Option<usize> {
        match self {
            Self::Anthropic => None,
            Self::OpenAi => Some(1024),
        }
    }

    /// Appends the remark to the description, truncated to the vendor's limit.
    fn limit_description(self, description: &str, remark: Option<&str>) -> String {
        let remark = remark
            .map(|remark| format!(" {remark}"))
            .unwrap_or_default();
        match self.max_description() {
            Some(most) => {
                truncate_text(description, most.saturating_sub(remark.chars().count())) + &remark
            }
            None => format!("{description}{remark}"),
        }
        .trim()
        .to_owned()
    }

    /// Only Anthropic has rules for the names of parameters.
    fn check_parameters(self, schema: &Value) -> Result<(), UnsupportedTool> {
        if self != Self::Anthropic {
            return Ok(());
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut names = properties.into_iter().flat_map(|members| members.keys());
        match names.find(|name| !is_valid_name(name, "_.-")) {
            Some(name) => Err(UnsupportedTool::Parameter {
                parameter: name.clone(),
            }),
            None => Ok(()),
        }
    }
}

fn is_valid_name(name: &str, extra: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
}

/// Returns at most this many characters, up to the end of a sentence if one ends in the second
/// half, or else of a word.
fn truncate_text(text: &str, most: usize) -> String {
    const MARK: char = '…';
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let kept: String = text[..end].chars().take(most.saturating_sub(1)).collect();
    // A cut in the first half would lose more than an incomplete sentence does.
    let late = kept.len() / 2 + 1..;
    let end = [last_sentence_end(&kept), kept.rfind(char::is_whitespace)]
        .into_iter()
        .flatten()
        .find(|at| late.contains(at))
        .unwrap_or(kept.len());
    format!("{}{MARK}", kept[..end].trim_end())
}

/// Returns the end of the last sentence.
fn last_sentence_end(text: &str) -> Option<usize> {
    let stop = text.rfind(". ").max(text.rfind(".\n"))?;
    Some(stop + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vendor_gets_its_own_shape() {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        assert_eq!(
            Vendor::Anthropic.tool("t", "Does it.", &schema),
            Ok(json!({ "name": "t", "description": "Does it.", "input_schema": schema }))
        );
        let function = json!({ "name": "t", "description": "Does it.", "parameters": schema });
        assert_eq!(
            Vendor::OpenAi.tool("t", "Does it.", &schema),
            Ok(json!({ "type": "function", "function": function }))
        );
    }

    #[test]
    fn a_description_is_truncated_at_a_sentence_if_there_is_a_limit() {
        let sentence = "A sentence of some thirty letters. ";
        let long = sentence.repeat(60);
        assert_eq!(limited_description(Vendor::Anthropic, &long), long.trim());
        let cut = limited_description(Vendor::OpenAi, &long);
        assert!(
            cut.chars().count() <= 1024 && cut.ends_with("letters.…"),
            "{cut}"
        );
        let words = truncate_text(&"ä".repeat(2000), 1024);
        assert_eq!(words.chars().count(), 1024);
    }

    fn limited_description(vendor: Vendor, description: &str) -> String {
        let tool = vendor.tool("t", description, &json!({})).unwrap();
        let found = tool.pointer("/function/description");
        let found = found.or(tool.get("description")).unwrap();
        found.as_str().unwrap().to_owned()
    }

    #[test]
    fn a_tool_that_could_not_be_called_is_rejected_with_the_reason() {
        let schema = json!({ "properties": { "größe": {} } });
        let refused = UnsupportedTool::Parameter {
            parameter: "größe".to_owned(),
        };
        assert_eq!(Vendor::Anthropic.tool("t", "", &schema), Err(refused));
        assert!(Vendor::OpenAi.tool("t", "", &schema).is_ok());
        for name in ["", "a b", &"x".repeat(65), "ä"] {
            assert_eq!(
                Vendor::OpenAi.tool(name, "", &schema),
                Err(UnsupportedTool::Name),
                "{name}"
            );
        }
    }
}
