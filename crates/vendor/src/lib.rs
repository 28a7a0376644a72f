//! Tool definitions in the form that the APIs of model vendors accept.
//!
//! An MCP server may write any JSON Schema and a description of any length. The vendors' APIs refuse a
//! whole request for one definition they do not like, so every definition is put into a form that they
//! take before it is sent. What a server accepts as arguments stays decided by its own schema.
//!
//! # Layout
//! - this file: a definition for a vendor, and the limits each vendor has
//! - [`schema`]: from any schema to one whose outermost level is a plain object

pub mod schema;

use serde_json::{Value, json};

/// Whose API a definition is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    Anthropic,
    OpenAi,
}

/// A definition that no rewriting makes acceptable: a call could not be told apart, or not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
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

    /// The definition as it stands in a request.
    pub fn tool(self, name: &str, description: &str, schema: &Value) -> Result<Value, Unfit> {
        if !is_name(name, "_-") {
            return Err(Unfit::Name);
        }
        let schema::Plain { schema, remark } = schema::plain(schema);
        self.check_parameters(&schema)?;
        let description = self.description(description, remark.as_deref());
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

    /// How many tools one request may name; nothing, where no number is documented.
    pub fn most_tools(self) -> Option<usize> {
        match self {
            Self::Anthropic => None,
            Self::OpenAi => Some(128),
        }
    }

    /// The longest description, in characters; nothing, where no number is documented.
    pub fn longest_description(self) -> Option<usize> {
        match self {
            Self::Anthropic => None,
            Self::OpenAi => Some(1024),
        }
    }

    /// The description with the remark behind it, cut to what the vendor takes.
    fn description(self, description: &str, remark: Option<&str>) -> String {
        let remark = remark
            .map(|remark| format!(" {remark}"))
            .unwrap_or_default();
        match self.longest_description() {
            Some(most) => cut(description, most.saturating_sub(remark.chars().count())) + &remark,
            None => format!("{description}{remark}"),
        }
        .trim()
        .to_owned()
    }

    /// Only Anthropic looks at the names of parameters.
    fn check_parameters(self, schema: &Value) -> Result<(), Unfit> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut names = properties
            .into_iter()
            .flat_map(|properties| properties.keys());
        match names.find(|name| self == Self::Anthropic && !is_name(name, "_.-")) {
            Some(parameter) => Err(Unfit::Parameter {
                parameter: parameter.clone(),
            }),
            None => Ok(()),
        }
    }
}

fn is_name(name: &str, beside_letters: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || beside_letters.contains(c);
    (1..=LONGEST_NAME).contains(&name.chars().count()) && name.chars().all(letter)
}

/// At most that many characters, up to the end of a sentence if one ends in the second half, or else of
/// a word.
fn cut(text: &str, most: usize) -> String {
    const MARK: char = '…';
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let kept: String = text[..end].chars().take(most.saturating_sub(1)).collect();
    let late = |at: &usize| *at > kept.len() / 2;
    let sentence = [". ", ".\n"]
        .iter()
        .filter_map(|stop| kept.rfind(stop))
        .max()
        .map(|at| at + 1);
    let word = kept.rfind(char::is_whitespace);
    let at = sentence
        .filter(late)
        .or(word.filter(late))
        .unwrap_or(kept.len());
    format!("{}{MARK}", kept[..at].trim_end())
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
    fn a_description_is_cut_at_a_sentence_where_there_is_a_limit() {
        let sentence = "A sentence of some thirty letters. ";
        let long = sentence.repeat(60);
        let described = |vendor: Vendor| {
            let tool = vendor.tool("t", &long, &json!({})).unwrap();
            tool.pointer("/function/description")
                .or(tool.get("description"))
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(described(Vendor::Anthropic), long.trim());
        let cut = described(Vendor::OpenAi);
        assert!(
            cut.chars().count() <= 1024 && cut.ends_with("letters.…"),
            "{cut}"
        );
        let words = super::cut(&"ä".repeat(2000), 1024);
        assert_eq!(words.chars().count(), 1024);
    }

    #[test]
    fn what_could_not_be_called_is_refused_with_the_reason() {
        let schema = json!({ "properties": { "größe": {} } });
        let refused = Unfit::Parameter {
            parameter: "größe".to_owned(),
        };
        assert_eq!(Vendor::Anthropic.tool("t", "", &schema), Err(refused));
        assert!(Vendor::OpenAi.tool("t", "", &schema).is_ok());
        for name in ["", "a b", &"x".repeat(65), "ä"] {
            assert_eq!(
                Vendor::OpenAi.tool(name, "", &schema),
                Err(Unfit::Name),
                "{name}"
            );
        }
    }
}
