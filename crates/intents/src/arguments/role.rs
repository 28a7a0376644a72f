//! The role of a parameter, derived from its schema, name and description.

use kitbag_domain::capability::split_name;
use serde_json::Value;

use super::DescribedTool;
use super::zones::wants_zone;

#[derive(Debug, Clone)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) words: Vec<String>,
    pub(super) description: &'a str,
    pub(super) required: bool,
    pub(super) role: Role,
    /// A list of such values.
    pub(super) many: bool,
    /// The part of the schema that a value, or each value of a list, must match.
    pub(super) schema: &'a Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Choice,
    /// A number of things: `limit`, `max_count`, `head`.
    Count,
    Number,
    Zone,
    Path,
    Glob,
    Url,
    Email,
    Date,
    Time,
    /// A statement of SQL.
    Statement,
    /// A calculation.
    Expression,
    /// Free text to search for or to write.
    Text,
    /// A name or an id of something.
    Name,
    /// A boolean that is true if its name is said.
    Flag,
    /// An object, which is never read from words.
    Other,
}

const PATHS: &[&str] = &[
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "directory",
    "dir",
    "folder",
    "cwd",
    "source",
    "destination",
    "src",
    "dest",
    "root",
    "document",
];
const COUNTS: &[&str] = &[
    "limit", "count", "head", "tail", "top", "n", "num", "max", "first", "last", "size", "lines",
    "length", "amount", "results", "depth",
];
const TEXTS: &[&str] = &[
    "query",
    "q",
    "search",
    "text",
    "term",
    "terms",
    "keyword",
    "keywords",
    "message",
    "content",
    "contents",
    "body",
    "topic",
    "thought",
    "prompt",
    "pattern",
    "input",
    "question",
    "phrase",
    "string",
    "data",
    "description",
    "comment",
    "note",
];

impl<'a> Parameter<'a> {
    /// The parameters of a tool, the required ones first.
    pub(super) fn from_tool(tool: &DescribedTool<'a>) -> Vec<Self> {
        let required: Vec<&str> = tool.schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = tool.schema["properties"].as_object();
        let mut all: Vec<Self> = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Self::new(tool, name, schema, required.contains(&name.as_str())))
            .collect();
        // A name may be almost any word, so other roles choose first.
        all.sort_by_key(|it| (!it.required, it.role == Role::Text, it.role == Role::Name));
        all
    }

    fn new(tool: &DescribedTool<'a>, name: &'a str, schema: &'a Value, required: bool) -> Self {
        let schema = without_null(schema);
        let many = kind(schema) == Some("array");
        let item = if many {
            without_null(&schema["items"])
        } else {
            schema
        };
        let words = split_name(name);
        let description = schema["description"].as_str().unwrap_or_default();
        Self {
            role: role(tool, &words, name, description, item),
            name,
            words,
            description,
            required,
            many,
            schema: item,
        }
    }

    pub(super) fn has_word(&self, words: &[&str]) -> bool {
        self.words.iter().any(|word| words.contains(&word.as_str()))
    }
}

/// Of `string | null`, the string.
fn without_null(schema: &Value) -> &Value {
    let choices = schema["anyOf"]
        .as_array()
        .or_else(|| schema["oneOf"].as_array());
    let real = choices
        .into_iter()
        .flatten()
        .find(|it| kind(it) != Some("null"));
    real.filter(|_| schema.get("type").is_none())
        .unwrap_or(schema)
}

fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|it| *it != "null"),
        _ => None,
    }
}

fn role(
    tool: &DescribedTool<'_>,
    words: &[String],
    name: &str,
    description: &str,
    schema: &Value,
) -> Role {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if schema["enum"].is_array() {
        return Role::Choice;
    }
    match kind(schema) {
        Some("integer" | "number") if has(COUNTS) => return Role::Count,
        Some("integer" | "number") => return Role::Number,
        Some("string") => {}
        Some("boolean") => return Role::Flag,
        _ => return Role::Other,
    }
    match schema["format"].as_str() {
        Some("uri" | "url") => return Role::Url,
        Some("email") => return Role::Email,
        Some("date" | "date-time") => return Role::Date,
        _ => {}
    }
    let sql = |text: &str| {
        let text = text.to_lowercase();
        text.split(|it: char| !it.is_alphanumeric())
            .any(|word| matches!(word, "sql" | "select" | "insert" | "statement"))
    };
    match () {
        () if wants_zone(name, description) => Role::Zone,
        () if has(&["url", "uri", "link", "href"]) => Role::Url,
        () if has(&["email"]) => Role::Email,
        () if has(&["sql", "statement"]) => Role::Statement,
        () if has(&["query"]) && (sql(description) || sql(tool.description)) => Role::Statement,
        () if has(&["expression", "formula", "expr"]) => Role::Expression,
        () if has(&["pattern", "glob"]) => Role::Glob,
        () if has(PATHS) => Role::Path,
        () if has(&["date", "since", "until", "day"]) => Role::Date,
        () if words.last().is_some_and(|it| it == "time") => Role::Time,
        () if has(TEXTS) => Role::Text,
        () => Role::Name,
    }
}
