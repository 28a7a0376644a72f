//! Intents that simple reading tools answer by themselves: `list issues`, `github list issues`,
//! `get issue WEB-12`, `search notes for apples`.
//!
//! Where the tools of two servers answer the same words, only words that name the server count.

use std::collections::HashMap;

use kitbag_domain::{ExposedName, ServerName, WriteClass};
use serde_json::{Map, Value};

use crate::pattern::{self, IntentPattern};
use crate::template::is_parameter_name;
use crate::words::{Request, singular};

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

/// An immutable snapshot over all tools of a catalog.
#[derive(Debug, Clone, Default)]
pub struct AutomaticIntents {
    tools: Vec<SimpleTool>,
    /// The words before the first parameter of a pattern, with the tools that have such a pattern.
    by_words: HashMap<String, Vec<(usize, IntentPattern)>>,
}

#[derive(Debug, Clone)]
struct SimpleTool {
    exposed: ExposedName,
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// With more required parameters, a request in words is a guess.
const MOST_REQUIRED: usize = 3;

impl AutomaticIntents {
    pub fn of<'a>(offered: impl IntoIterator<Item = OfferedTool<'a>>) -> Self {
        let mut intents = Self::default();
        for tool in offered {
            if let Some(simple) = SimpleTool::of(&tool) {
                intents.add(&tool, simple);
            }
        }
        intents
    }

    fn add(&mut self, offered: &OfferedTool<'_>, simple: SimpleTool) {
        let number = self.tools.len();
        for pattern in patterns(offered, &simple) {
            let same = self.by_words.entry(pattern.leading()).or_default();
            same.push((number, pattern));
        }
        self.tools.push(simple);
    }

    /// Finds the one tool that the words mean, if all parameters that it needs are there. `usable`
    /// says whether the caller may use a tool.
    pub fn find(
        &self,
        words: &str,
        given: &Map<String, Value>,
        usable: impl Fn(&ExposedName) -> bool,
    ) -> Option<DirectCall> {
        let request = Request::read(words);
        let mut fits = self.fits(&request);
        fits.retain(|(tool, _)| usable(&self.tools[*tool].exposed));
        let (only, _) = *fits.first()?;
        if fits.iter().any(|(tool, _)| *tool != only) {
            return None;
        }
        let mut calls = fits.into_iter();
        calls.find_map(|(_, captured)| self.tools[only].call(captured, given))
    }

    fn fits(&self, request: &Request) -> Vec<(usize, Vec<(String, String)>)> {
        let mut leading = String::new();
        let mut fits = Vec::new();
        for word in &request.words {
            let Some(folded) = &word.folded else { break };
            leading = format!("{leading} {folded}").trim_start().to_owned();
            for (tool, pattern) in self.by_words.get(&leading).into_iter().flatten() {
                let fit = pattern.fit(request);
                fits.extend(fit.map(|fit| (*tool, fit.captured)));
            }
        }
        fits
    }
}

impl SimpleTool {
    fn of(offered: &OfferedTool<'_>) -> Option<Self> {
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
            properties: properties.unwrap_or_default(),
            required,
        };
        let simple = offered.class == WriteClass::Read
            && tool.required.len() <= MOST_REQUIRED
            && tool.required.iter().all(|name| tool.is_scalar(name));
        simple.then_some(tool)
    }

    fn is_scalar(&self, name: &str) -> bool {
        let kind = self.properties.get(name).and_then(|it| it["type"].as_str());
        matches!(kind, Some("string" | "integer" | "number" | "boolean"))
    }

    /// Returns the call, unless a value is missing, cannot be read or is of no use to the tool.
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

fn patterns(offered: &OfferedTool<'_>, tool: &SimpleTool) -> Vec<IntentPattern> {
    let words = verb_first(tool_words(offered));
    let Some((verb, nouns)) = words.split_first() else {
        return Vec::new();
    };
    let ending = ending(verb, nouns, tool);
    if nouns.is_empty() || ending.is_none() {
        return Vec::new();
    }
    let endings = [Some(String::new()), ending.filter(|it| !it.is_empty())];
    let (nouns, server) = (nouns.join(" "), offered.server.as_str());
    let bases = [
        format!("{verb} {nouns}"),
        format!("{server} {verb} {nouns}"),
        format!("{verb} {server} {nouns}"),
    ];
    let named = ["in", "on", "from"].map(|it| format!("{verb} {nouns} {it} {server}"));
    let with_endings = bases.iter().flat_map(|base| {
        let endings = endings.iter().flatten();
        endings.map(move |ending| format!("{base}{ending}"))
    });
    with_endings
        .chain(named)
        .filter_map(|text| IntentPattern::parse(&text).ok())
        .collect()
}

const LISTING: [&str; 2] = ["list", "count"];
const SEARCHING: [&str; 4] = ["search", "find", "query", "lookup"];
const READING: [&str; 5] = ["get", "read", "show", "describe", "fetch"];

/// Returns the place for the one parameter that the tool needs; an empty text, if the words have no
/// such place; `None`, if the verb is none that reads.
fn ending(verb: &str, nouns: &[String], tool: &SimpleTool) -> Option<String> {
    let only = match tool.required.as_slice() {
        [name] if is_parameter_name(name) => Some(name),
        _ => None,
    };
    let several = nouns.last().is_some_and(|noun| singular(noun) != *noun);
    match only {
        Some(name) if SEARCHING.contains(&verb) => Some(format!(" for {{{name}...}}")),
        Some(name) if READING.contains(&verb) && !several => Some(format!(" {{{name}}}")),
        _ => reads(verb).then(String::new),
    }
}

fn reads(verb: &str) -> bool {
    let verbs = [&LISTING[..], &SEARCHING, &READING];
    verbs.iter().any(|verbs| verbs.contains(&verb))
}

/// Returns the words of a tool's name, without those of its server in front if a verb and a noun are
/// left.
fn tool_words(offered: &OfferedTool<'_>) -> Vec<String> {
    let (server, mut words) = (split(offered.server.as_str()), split(offered.name));
    if words.starts_with(&server) && words.len() > server.len() + 1 {
        words.drain(..server.len());
    }
    words
}

/// `issues_list` is `list issues`.
fn verb_first(mut words: Vec<String>) -> Vec<String> {
    const LAST: [&str; 4] = ["list", "get", "search", "read"];
    let last = words.last().is_some_and(|it| LAST.contains(&it.as_str()));
    if last && words.len() > 1 {
        words.rotate_right(1);
    }
    words
}

/// Splits `list_issues`, `list-issues` and `listIssues` alike.
fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && small;
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        small = c.is_lowercase() || c.is_numeric();
        if let Some(word) = words.last_mut() {
            word.extend(
                c.is_alphanumeric()
                    .then(|| c.to_lowercase())
                    .into_iter()
                    .flatten(),
            );
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn intents() -> AutomaticIntents {
        let text = |name: &str| json!({ "type": "object", "properties": { (name): { "type": "string" } }, "required": [name] });
        let deep = json!({ "type": "object", "properties": { "filter": { "type": "object" } }, "required": ["filter"] });
        let page = json!({ "type": "object", "properties": { "page": { "type": "integer" } } });
        let tools: Vec<(&str, &str, WriteClass, Value)> = vec![
            ("github", "list_issues", WriteClass::Read, page.clone()),
            ("sentry", "issues-list", WriteClass::Read, page),
            ("sentry", "getIssue", WriteClass::Read, text("issue_id")),
            ("notes", "notes_search", WriteClass::Read, text("query")),
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
        AutomaticIntents::of(named.iter().map(|(exposed, server, name, class, schema)| {
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
            let told = match intents.find(words, given, |_| true) {
                Some(call) => format!("{} {}", call.tool, Value::Object(call.arguments)),
                None => "nothing".to_owned(),
            };
            assert_eq!(told, expected, "{words}");
        }
        let own = |tool: &ExposedName| tool.as_str().starts_with("github");
        let found = intents.find("list issues", &Map::new(), own).unwrap();
        assert_eq!(found.tool.as_str(), "github__list_issues");
    }
}
