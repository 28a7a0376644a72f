//! The body of a request: the media type to use, and the targets of the arguments.

use serde_json::{Map, Value, json};

use super::document::OpenApiDocument;
use super::parameters::ParameterParts;
use super::{names, strict};

/// The body of an action, in the format of a tool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BodyParts {
    /// Absent for JSON.
    pub(super) kind: Option<&'static str>,
    pub(super) pattern: String,
    /// A media type that is not the default of the kind.
    pub(super) content_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MediaKind {
    Json,
    Form,
    Multipart,
    Bytes,
    Text,
}

/// Adds the body's arguments to the parameters' arguments.
pub(super) fn read(
    document: &OpenApiDocument,
    operation: &Map<String, Value>,
    parts: &mut ParameterParts,
) -> Result<Option<BodyParts>, String> {
    let Some(written) = operation.get("requestBody") else {
        return Ok(None);
    };
    let body = document.resolve(written).and_then(Value::as_object);
    let body = body.ok_or("the body refers to something that is not in the document")?;
    let types = body.get("content").and_then(Value::as_object);
    let Some(types) = types.filter(|types| !types.is_empty()) else {
        return Ok(None);
    };
    let (kind, media_type, content) = choose_media_type(types)?;
    let is_required = body.get("required") == Some(&Value::Bool(true));
    let loose = content.get("schema").cloned().unwrap_or_default();
    let content_type = (!kind.is_default(media_type)).then(|| media_type.to_owned());
    let pattern = match kind {
        MediaKind::Bytes => add_whole_body(
            parts,
            "content",
            json!({ "type": "string", "description": "base64" }),
            is_required,
        ),
        MediaKind::Text => add_whole_body(parts, "text", json!({ "type": "string" }), is_required),
        MediaKind::Json | MediaKind::Form | MediaKind::Multipart => {
            let schema = match kind {
                MediaKind::Multipart => with_files(document, &loose),
                _ => strict::strict(document, &loose),
            };
            add_body_members(parts, schema, is_required, kind)?
        }
    };
    Ok(Some(BodyParts {
        kind: kind.name(),
        pattern,
        content_type,
    }))
}

impl MediaKind {
    const ALL: [Self; 5] = [
        Self::Json,
        Self::Form,
        Self::Multipart,
        Self::Bytes,
        Self::Text,
    ];

    fn fits(self, media_type: &str) -> bool {
        let plain = without_parameters(media_type);
        match self {
            Self::Json => plain == "application/json" || plain.ends_with("+json"),
            Self::Form => plain == "application/x-www-form-urlencoded",
            Self::Multipart => plain == "multipart/form-data",
            Self::Bytes => {
                matches!(
                    plain,
                    "application/octet-stream" | "application/pdf" | "application/zip" | "*/*"
                ) || plain.starts_with("image/")
            }
            Self::Text => plain.starts_with("text/"),
        }
    }

    /// True for the default media type of this kind of request.
    fn is_default(self, media_type: &str) -> bool {
        match self {
            Self::Json => without_parameters(media_type) == "application/json",
            Self::Form | Self::Multipart => true,
            Self::Bytes => matches!(
                without_parameters(media_type),
                "application/octet-stream" | "*/*"
            ),
            Self::Text => without_parameters(media_type) == "text/plain",
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Json => None,
            Self::Form => Some("form"),
            Self::Multipart => Some("multipart"),
            Self::Bytes => Some("bytes"),
            Self::Text => Some("text"),
        }
    }
}

fn without_parameters(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// Returns the preferred media type that can be sent.
fn choose_media_type(types: &Map<String, Value>) -> Result<(MediaKind, &str, &Value), String> {
    let mut candidates = MediaKind::ALL.into_iter().filter_map(|kind| {
        let (media_type, content) = types.iter().find(|(media_type, _)| kind.fits(media_type))?;
        Some((kind, media_type.as_str(), content))
    });
    candidates.next().ok_or_else(|| {
        let known: Vec<&str> = types.keys().map(String::as_str).collect();
        format!("its body can only be {}", known.join(" or "))
    })
}

/// Adds the whole body as one argument.
fn add_whole_body(
    parts: &mut ParameterParts,
    name: &str,
    schema: Value,
    is_required: bool,
) -> String {
    let argument = names::argument(name, &mut parts.taken);
    if is_required {
        parts.required.push(argument.clone());
    }
    let pattern = format!("{{{argument}}}");
    parts.properties.insert(argument, schema);
    pattern
}

/// Adds the members of the body as separate arguments, unless their names are taken or they would
/// be required in an optional body.
fn add_body_members(
    parts: &mut ParameterParts,
    schema: Value,
    is_required: bool,
    kind: MediaKind,
) -> Result<String, String> {
    let is_open = schema["additionalProperties"] != false;
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let clash = properties.keys().any(|name| parts.taken.contains(name));
    let demands = schema["required"]
        .as_array()
        .is_some_and(|it| !it.is_empty());
    let is_nameless = properties.is_empty() || schema["type"] != "object";
    if clash || is_open || is_nameless || (demands && !is_required) {
        if kind != MediaKind::Json && is_nameless && schema.get("anyOf").is_none() && !is_open {
            return Err("its form has no fields".to_owned());
        }
        return Ok(add_whole_body(parts, "body", schema, is_required));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    parts
        .required
        .extend(required.filter_map(Value::as_str).map(str::to_owned));
    parts.taken.extend(properties.keys().cloned());
    parts.properties.extend(properties);
    Ok("{*}".to_owned())
}

/// Returns the schema of a multipart body, in which files are objects with their bytes and name.
fn with_files(document: &OpenApiDocument, loose: &Value) -> Value {
    let mut schema = strict::strict(document, loose);
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return schema;
    };
    for property in properties.values_mut() {
        if is_file(property) {
            *property = file(property);
        } else if property["type"] == "array" && is_file(&property["items"]) {
            property["items"] = file(&property["items"]);
        }
    }
    schema
}

fn is_file(schema: &Value) -> bool {
    let is_text = schema["type"] == "string";
    is_text && (schema["format"] == "binary" || schema.get("contentMediaType").is_some())
}

fn file(schema: &Value) -> Value {
    let mut made = json!({
        "type": "object",
        "properties": {
            "base64": { "type": "string" },
            "filename": { "type": "string" },
            "type": { "type": "string", "description": "Media type." },
        },
        "required": ["base64", "filename"],
        "additionalProperties": false,
    });
    if let Some(description) = schema.get("description") {
        made["description"] = description.clone();
    }
    made
}
