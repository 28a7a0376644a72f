//! One operation of the document as an action.

use kitbag_domain::text::{first_sentence, strip_to_one_line};
use serde_json::{Map, Value, json};

use super::access::{self, AccessParts};
use super::body::{self, BodyParts};
use super::document::{FoundOperation, OpenApiDocument};
use super::{ImportOptions, parameters};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ImportedAction {
    pub(super) title: String,
    pub(super) name: String,
    pub(super) purpose: String,
    pub(super) description: String,
    pub(super) tags: Vec<String>,
    pub(super) access: AccessParts,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<BodyParts>,
    /// The argument that counts the pages.
    pub(super) page: Option<String>,
    pub(super) input: Value,
}

/// In characters: a model reads this about a tool that it does not know yet.
const LONGEST_DESCRIPTION: usize = 300;

pub(super) fn read(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
    options: &ImportOptions,
) -> Result<ImportedAction, String> {
    let access = access::read(document, found, options)?;
    let mut parts = parameters::read(document, found)?;
    let body = body::read(document, found.operation, &mut parts)?;
    if let Some(content_type) = body.as_ref().and_then(|body| body.content_type.clone()) {
        parts
            .headers
            .push(("Content-Type".to_owned(), content_type));
    }
    let purpose = purpose(found);
    Ok(ImportedAction {
        title: found.title(),
        name: found
            .text("operationId")
            .map_or_else(|| found.title(), str::to_owned),
        description: description(&purpose, found.text("description")),
        purpose,
        tags: found.tags(),
        access,
        method: found.method.clone(),
        page: page(document, found, &parts.query),
        path: parts.path,
        query: parts.query,
        headers: parts.headers,
        body,
        input: input(parts.properties, &parts.required),
    })
}

impl ImportedAction {
    pub(super) fn writes(&self) -> &'static str {
        match self.method.as_str() {
            "GET" | "HEAD" => "read",
            "DELETE" => "destructive",
            _ => "write",
        }
    }
}

fn purpose(found: &FoundOperation<'_>) -> String {
    let words = found.text("summary").or_else(|| found.text("description"));
    match words.map(first_sentence) {
        Some(words) if !words.is_empty() => words,
        _ => found.title(),
    }
}

/// Returns the purpose and as much of the description as a model needs to choose.
fn description(purpose: &str, text: Option<&str>) -> String {
    let more = text.map(strip_to_one_line).unwrap_or_default();
    if more.is_empty() || more.trim_end_matches('.') == purpose {
        return format!("{purpose}.");
    }
    let whole = match more.starts_with(purpose) {
        true => more,
        false => format!("{purpose}. {more}"),
    };
    truncate_text(&whole)
}

/// Truncates the text after the last whole sentence that fits.
fn truncate_text(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST_DESCRIPTION) else {
        return text.to_owned();
    };
    let kept = &text[..end];
    match kept.rfind(". ") {
        Some(end) => kept[..=end].to_owned(),
        None => format!("{kept}…"),
    }
}

fn input(properties: Map<String, Value>, required: &[String]) -> Value {
    let mut input = Map::new();
    input.insert("type".to_owned(), "object".into());
    input.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        input.insert("required".to_owned(), json!(required));
    }
    input.insert("additionalProperties".to_owned(), false.into());
    Value::Object(input)
}

/// An operation that returns a list and takes a number called `page` is paginated.
fn page(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
    query: &[(String, String)],
) -> Option<String> {
    let (_, pattern) = query.iter().find(|(name, _)| name == "page")?;
    let answers = found.operation.get("responses")?;
    let answer = document.resolve(answers.get("200")?)?;
    let content = answer.get("content")?.as_object()?;
    let schema = document.resolve(content.values().next()?.get("schema")?)?;
    let is_list = schema["type"] == "array";
    is_list.then(|| pattern.trim_matches(['{', '}']).to_owned())
}
