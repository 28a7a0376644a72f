//! Drafts a template from the definition of a tool, for a user to edit and add to the folder.

use std::path::Path;

use kitbag_domain::ServerName;
use kitbag_domain::capability::split_name;
use serde_json::{Map, Value, json};

use super::IntentTemplate;
use super::parameters::is_parameter_name;

/// The tool to draft a template from.
#[derive(Debug, Clone, Copy)]
pub struct DraftedTool<'a> {
    pub server: &'a ServerName,
    pub name: &'a str,
    /// The expression with which a program calls it.
    pub call: &'a str,
    pub definition: &'a Value,
    pub reads: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DraftError {
    #[error("it needs `{parameter}`, which is not a text, number, boolean or list of these")]
    Parameter { parameter: String },
    #[error("its name and parameters are not a valid template: {reason}")]
    Refused { reason: String },
}

/// Drafts a template that calls the tool with the values in the request.
pub fn draft(tool: &DraftedTool<'_>) -> Result<IntentTemplate, DraftError> {
    let schema = &tool.definition["inputSchema"];
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let parameters = parameters(schema, &required)?;
    let words = split_name(tool.name);
    let mut written = json!({
        "name": words.join("_"),
        "description": description(tool),
        "intents": intents(&words, tool.server, &required),
        "uses": [format!("{}.{}", tool.server, tool.name)],
        "read_only": tool.reads,
        "code": format!("return await {}(params);\n", tool.call),
    });
    if !parameters.is_empty() {
        written["parameters"] = Value::Object(parameters);
    }
    let refused = |reason: String| DraftError::Refused { reason };
    let text = toml::to_string(&written).map_err(|error| refused(error.to_string()))?;
    let drafted = IntentTemplate::from_toml(Path::new(tool.name), &text);
    drafted.map_err(|error| refused(error.problem.to_string()))
}

fn description(tool: &DraftedTool<'_>) -> String {
    let description = tool.definition["description"].as_str();
    let description = kitbag_domain::text::first_sentence(description.unwrap_or_default());
    match description.is_empty() {
        true => format!("Calls {} of {}.", tool.name, tool.server),
        false => description,
    }
}

/// `list issues`, `list issues in github`, and with the required parameters.
fn intents(words: &[String], server: &ServerName, required: &[&str]) -> Vec<String> {
    let base = words.join(" ");
    let mut intents = vec![base.clone(), format!("{base} in {server}")];
    let placeholders: Vec<String> = required
        .iter()
        .map(|name| format!("with {name} {{{name}}}"))
        .collect();
    if !placeholders.is_empty() {
        intents.push(format!("{base} {}", placeholders.join(" ")));
    }
    if let [only] = required {
        intents.push(format!("{base} {{{only}}}"));
    }
    intents
}

/// The parameters that a template can have. An optional parameter of another form is omitted.
fn parameters(schema: &Value, required: &[&str]) -> Result<Map<String, Value>, DraftError> {
    let mut parameters = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let needed = required.contains(&name.as_str());
        match parameter(property).filter(|_| is_parameter_name(name)) {
            Some(mut parameter) => {
                if !needed {
                    parameter.insert("optional".to_owned(), true.into());
                }
                parameters.insert(name.clone(), Value::Object(parameter));
            }
            None if needed => {
                let parameter = name.clone();
                return Err(DraftError::Parameter { parameter });
            }
            None => {}
        }
    }
    Ok(parameters)
}

fn parameter(property: &Value) -> Option<Map<String, Value>> {
    let property = without_null(property);
    let kind = kind(property)?;
    let mut parameter = Map::new();
    parameter.insert("type".to_owned(), kind.into());
    let description = property["description"]
        .as_str()
        .map(kitbag_domain::text::first_sentence);
    if let Some(description) = description.filter(|it| !it.is_empty()) {
        parameter.insert("description".to_owned(), description.into());
    }
    for key in ["enum", "pattern", "minimum", "maximum"] {
        if let Some(value) = property.get(key).filter(|it| !it.is_null()) {
            parameter.insert(key.to_owned(), value.clone());
        }
    }
    if kind == "array" {
        let item = self::kind(&property["items"]).filter(|it| *it != "array")?;
        parameter.insert("items".to_owned(), json!({ "type": item }));
    }
    Some(parameter)
}

/// Of `string | null`, the string.
fn without_null(schema: &Value) -> &Value {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let mut real = choices.filter(|it| it["type"] != "null");
    match (real.next(), real.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

fn kind(schema: &Value) -> Option<&str> {
    let kinds = schema["type"].as_array().into_iter().flatten();
    let kind = schema["type"].as_str();
    let kind = kind.or_else(|| kinds.filter_map(Value::as_str).find(|it| *it != "null"))?;
    matches!(kind, "string" | "integer" | "number" | "boolean" | "array").then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafted(name: &str, schema: &Value) -> Result<IntentTemplate, DraftError> {
        let server: ServerName = "shop".parse().unwrap();
        draft(&DraftedTool {
            server: &server,
            name,
            call: &format!("tools.shop.{name}"),
            definition: &json!({ "description": "Finds orders. More.", "inputSchema": schema }),
            reads: true,
        })
    }

    #[test]
    fn a_definition_becomes_a_template_that_calls_the_tool() {
        let schema = json!({
            "properties": {
                "customer": { "type": "string", "description": "Who. Long." },
                "limit": { "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "null" }] },
                "tags": { "type": "array", "items": { "type": "string" } },
                "filter": { "type": "object" },
            },
            "required": ["customer"],
        });
        let template = drafted("findOrders", &schema).unwrap();
        assert_eq!(template.name().as_str(), "find_orders");
        assert_eq!(
            template.code(),
            "return await tools.shop.findOrders(params);\n"
        );
        let names: Vec<&str> = template.parameters().names().collect();
        assert_eq!(names, ["customer", "limit", "tags"]);
        let required: Vec<&str> = template.parameters().required_names().collect();
        assert_eq!(required, ["customer"]);
        let intents: Vec<&str> = template
            .intents()
            .iter()
            .map(crate::pattern::IntentPattern::as_str)
            .collect();
        assert_eq!(
            intents,
            [
                "find orders",
                "find orders in shop",
                "find orders with customer {customer}",
                "find orders {customer}",
            ]
        );
        assert!(
            template
                .to_toml()
                .unwrap()
                .contains("uses = [\"shop.findOrders\"]")
        );
    }

    #[test]
    fn a_tool_that_needs_an_object_becomes_no_template() {
        let schema =
            json!({ "properties": { "filter": { "type": "object" } }, "required": ["filter"] });
        let error = drafted("find", &schema).unwrap_err();
        assert_eq!(
            error,
            DraftError::Parameter {
                parameter: "filter".to_owned()
            }
        );
    }
}
