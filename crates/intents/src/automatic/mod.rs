//! Intents that simple reading tools answer by themselves: `list issues`, `github list issues`,
//! `get issue WEB-12`, `search notes for apples`.
//!
//! Words that fit tools of two servers only count if they name the server.
//!
//! - `tool_words`: the words that mean a tool

mod tool_words;

use std::collections::HashMap;

use kitbag_domain::{ExposedName, ServerName, WriteClass};
use serde_json::{Map, Value};

use crate::pattern::{self, IntentPattern};
use crate::words::FoldedRequest;

/// A tool as its server offers it.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool<'a> {
    pub exposed: &'a ExposedName,
    pub server: &'a ServerName,
    pub name: &'a str,
    pub class: WriteClass,
    pub input_schema: &'a Value,
}

/// A call that needs neither a template nor a search.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectCall {
    pub tool: ExposedName,
    pub arguments: Map<String, Value>,
}

/// An immutable snapshot of all tools of a catalog.
#[derive(Debug, Clone, Default)]
pub struct AutomaticIntents {
    tools: Vec<SimpleTool>,
    /// The words before the first parameter of a pattern, with the tools that have such a pattern.
    by_words: HashMap<String, Vec<ToolIntent>>,
}

#[derive(Debug, Clone)]
struct ToolIntent {
    tool: usize,
    pattern: IntentPattern,
    /// True if the words name the server.
    named: bool,
}

/// A tool that fits a request, with the texts for its parameters.
struct ToolFit {
    tool: usize,
    named: bool,
    captured: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
struct SimpleTool {
    exposed: ExposedName,
    /// The words that mean the tool if no other server has a similar one, folded.
    shortest: String,
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// With more required parameters, a request in words is a guess.
const MAX_REQUIRED: usize = 3;

impl AutomaticIntents {
    pub fn new<'a>(offered: impl IntoIterator<Item = OfferedTool<'a>>) -> Self {
        let mut intents = Self::default();
        for tool in offered {
            if let Some(simple) = SimpleTool::new(&tool) {
                intents.add(&tool, simple);
            }
        }
        intents
    }

    fn add(&mut self, offered: &OfferedTool<'_>, simple: SimpleTool) {
        let number = self.tools.len();
        for (pattern, named) in tool_words::patterns(offered, &simple.required) {
            let same = self
                .by_words
                .entry(pattern.words_before_parameter())
                .or_default();
            same.push(ToolIntent {
                tool: number,
                pattern,
                named,
            });
        }
        self.tools.push(simple);
    }

    /// Finds the one tool that the words mean, if all required parameters are present. `usable`
    /// reports whether the caller may use a tool.
    pub fn find(
        &self,
        words: &str,
        given: &Map<String, Value>,
        usable: impl Fn(&ExposedName) -> bool,
    ) -> Option<DirectCall> {
        if words.len() > FoldedRequest::MAX_BYTES {
            return None;
        }
        let request = FoldedRequest::read(words);
        let mut fits = self.fits(&request);
        fits.retain(|fit| usable(&self.tools[fit.tool].exposed));
        let first = fits.first()?;
        let (only, named) = (first.tool, fits.iter().all(|fit| fit.named));
        let clear = fits.iter().all(|fit| fit.tool == only);
        if !clear || (!named && self.has_rival(only, usable)) {
            return None;
        }
        let mut calls = fits.into_iter();
        calls.find_map(|fit| self.tools[only].call(fit.captured, given))
    }

    /// Returns true if another tool has the same words, whatever parameters it takes.
    fn has_rival(&self, tool: usize, usable: impl Fn(&ExposedName) -> bool) -> bool {
        let same = self.by_words.get(&self.tools[tool].shortest);
        let mut others = same.into_iter().flatten().filter(|it| it.tool != tool);
        others.any(|it| usable(&self.tools[it.tool].exposed))
    }

    fn fits(&self, request: &FoldedRequest) -> Vec<ToolFit> {
        let mut leading = String::new();
        let mut fits = Vec::new();
        for word in &request.words {
            let Some(folded) = &word.folded else { break };
            leading = format!("{leading} {folded}").trim_start().to_owned();
            for intent in self.by_words.get(&leading).into_iter().flatten() {
                fits.extend(intent.fit(request));
            }
        }
        fits
    }
}

impl ToolIntent {
    fn fit(&self, request: &FoldedRequest) -> Option<ToolFit> {
        let fit = self.pattern.fit(request)?;
        Some(ToolFit {
            tool: self.tool,
            named: self.named,
            captured: fit.captured,
        })
    }
}

impl SimpleTool {
    fn new(offered: &OfferedTool<'_>) -> Option<Self> {
        let schema = offered.input_schema;
        let properties = schema["properties"].as_object().cloned();
        let required = schema["required"].as_array().cloned();
        let required: Vec<String> = required
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(ToOwned::to_owned)
            .collect();
        let tool = Self {
            exposed: offered.exposed.clone(),
            shortest: tool_words::shortest_words(offered),
            properties: properties.unwrap_or_default(),
            required,
        };
        let simple = offered.class == WriteClass::Read
            && tool.required.len() <= MAX_REQUIRED
            && tool.required.iter().all(|name| tool.is_scalar(name));
        simple.then_some(tool)
    }

    fn is_scalar(&self, name: &str) -> bool {
        let kind = self.properties.get(name).and_then(|it| it["type"].as_str());
        matches!(kind, Some("string" | "integer" | "number" | "boolean"))
    }

    /// Returns the call, unless a value is missing, unreadable or of no use to the tool.
    fn call(
        &self,
        captured: Vec<(String, String)>,
        given: &Map<String, Value>,
    ) -> Option<DirectCall> {
        let mut arguments = given.clone();
        for (name, text) in captured {
            let value = pattern::value(&text, self.properties.get(&name)?)?;
            arguments.entry(name).or_insert(value);
        }
        let known = arguments
            .keys()
            .all(|name| self.properties.contains_key(name));
        let complete = self
            .required
            .iter()
            .all(|name| arguments.contains_key(name));
        (known && complete).then(|| DirectCall {
            tool: self.exposed.clone(),
            arguments,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The schema of a tool that needs a single text.
    fn text(name: &str) -> Value {
        let properties = json!({ (name): { "type": "string" } });
        json!({ "type": "object", "properties": properties, "required": [name] })
    }

    fn is_of_github(tool: &ExposedName) -> bool {
        tool.as_str().starts_with("github")
    }

    fn intents() -> AutomaticIntents {
        let deep = json!({ "type": "object", "properties": { "filter": { "type": "object" } }, "required": ["filter"] });
        let page = json!({ "type": "object", "properties": { "page": { "type": "integer" } } });
        let tools: Vec<(&str, &str, WriteClass, Value)> = vec![
            ("github", "list_issues", WriteClass::Read, page.clone()),
            ("sentry", "issues-list", WriteClass::Read, page),
            ("sentry", "getIssue", WriteClass::Read, text("issue_id")),
            ("notes", "notes_search", WriteClass::Read, text("query")),
            ("github", "search_users", WriteClass::Read, text("q")),
            ("sentry", "search_users", WriteClass::Read, json!({})),
            ("notes", "list_deep", WriteClass::Read, deep),
            ("notes", "list_things", WriteClass::Unknown, json!({})),
            ("notes", "list_tags", WriteClass::Read, json!({})),
            ("weather", "get_weather", WriteClass::Read, text("city")),
            ("weather", "frobnicate_tags", WriteClass::Read, json!({})),
        ];
        let named: Vec<_> = tools
            .iter()
            .map(|(server, name, class, schema)| {
                let server: ServerName = server.parse().unwrap();
                (ExposedName::new(&server, name), server, name, class, schema)
            })
            .collect();
        AutomaticIntents::new(named.iter().map(|(exposed, server, name, class, schema)| {
            OfferedTool {
                exposed,
                server,
                name,
                class: **class,
                input_schema: schema,
            }
        }))
    }

    #[test]
    fn words_find_a_simple_reading_tool_unless_two_servers_have_one() {
        let intents = intents();
        for (words, given, expected) in [
            ("list issues", json!({}), "nothing"),
            (
                "show me the github issues",
                json!({}),
                "github__list_issues {}",
            ),
            (
                "list issues in sentry",
                json!({ "page": 2 }),
                r#"sentry__issues-list {"page":2}"#,
            ),
            ("list issues in sentry", json!({ "pages": 2 }), "nothing"),
            ("github list issues", json!({}), "github__list_issues {}"),
            (
                "get issue WEB-12",
                json!({}),
                r#"sentry__getIssue {"issue_id":"WEB-12"}"#,
            ),
            ("get issue", json!({}), "nothing"),
            (
                "get issue",
                json!({ "issue_id": "7" }),
                r#"sentry__getIssue {"issue_id":"7"}"#,
            ),
            (
                "search notes for the red apples",
                json!({}),
                r#"notes__notes_search {"query":"red apples"}"#,
            ),
            ("notes search", json!({ "query": "x" }), "nothing"),
            ("search users for ann", json!({}), "nothing"),
            (
                "github search users for ann",
                json!({}),
                r#"github__search_users {"q":"ann"}"#,
            ),
            ("list tags", json!({}), "notes__list_tags {}"),
            ("list deep", json!({ "filter": {} }), "nothing"),
            ("list things", json!({}), "nothing"),
            ("frobnicate tags", json!({}), "nothing"),
            (
                "get weather Berlin",
                json!({}),
                r#"weather__get_weather {"city":"Berlin"}"#,
            ),
            ("get weather today", json!({}), "nothing"),
            ("list tags now", json!({}), "nothing"),
        ] {
            let given = given.as_object().unwrap();
            let outcome = match intents.find(words, given, |_| true) {
                Some(call) => format!("{} {}", call.tool, Value::Object(call.arguments)),
                None => "nothing".to_owned(),
            };
            assert_eq!(outcome, expected, "{words}");
        }
        let found = intents
            .find("list issues", &Map::new(), is_of_github)
            .unwrap();
        assert_eq!(found.tool.as_str(), "github__list_issues");
    }
}
