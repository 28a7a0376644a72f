//! An OpenAPI document, in JSON or YAML, and its references.

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Number, Value};

use super::ImportError;

pub(super) struct OpenApiDocument {
    root: Value,
}

/// An operation, and the path item around it.
pub(super) struct FoundOperation<'d> {
    pub(super) method: String,
    pub(super) path: &'d str,
    pub(super) item: &'d Map<String, Value>,
    pub(super) operation: &'d Map<String, Value>,
}

/// More steps than a valid reference needs.
const MOST_STEPS: usize = 16;

const METHODS: [&str; 6] = ["get", "head", "post", "put", "patch", "delete"];

impl OpenApiDocument {
    pub(super) fn read(text: &str) -> Result<Self, ImportError> {
        let root = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| ImportError::Unreadable {
                message: error.to_string(),
            })?,
            false => from_yaml(text)?,
        };
        let version = match &root["openapi"] {
            Value::String(version) => version.clone(),
            Value::Number(version) => version.to_string(),
            _ => return Err(version_error(&root)),
        };
        if !version.starts_with("3.0") && !version.starts_with("3.1") {
            return Err(ImportError::Version { version });
        }
        Ok(Self { root })
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    pub(super) fn title(&self) -> String {
        let title = self.root["info"]["title"].as_str().unwrap_or("api");
        title.trim().to_owned()
    }

    /// Returns the operations selected by tag, id or title; all if the selection is empty.
    pub(super) fn operations(&self, only: &[String]) -> Vec<FoundOperation<'_>> {
        let paths = self.root["paths"].as_object().into_iter().flatten();
        let found = paths.flat_map(|(path, item)| {
            let item = self.resolve(item).and_then(Value::as_object);
            let item = item.map(|item| item_operations(path, item));
            item.unwrap_or_default()
        });
        found
            .filter(|it| only.is_empty() || only.iter().any(|word| it.is_called(word)))
            .collect()
    }

    /// Follows references to a value. References to other documents are not followed.
    pub(super) fn resolve<'v>(&'v self, value: &'v Value) -> Option<&'v Value> {
        let mut value = value;
        for _ in 0..MOST_STEPS {
            match reference(value) {
                Some(reference) => value = self.root.pointer(&reference_pointer(reference)?)?,
                None => return Some(value),
            }
        }
        None
    }
}

/// Returns the target of a value that is a reference.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

/// Returns the JSON pointer in a reference such as `#/components/schemas/pet%20shop`.
fn reference_pointer(reference: &str) -> Option<String> {
    let pointer = reference.strip_prefix('#')?;
    let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8();
    decoded.ok().map(std::borrow::Cow::into_owned)
}

fn version_error(root: &Value) -> ImportError {
    match &root["swagger"] {
        Value::String(version) => ImportError::Version {
            version: version.clone(),
        },
        Value::Number(version) => ImportError::Version {
            version: version.to_string(),
        },
        _ => ImportError::NoOpenApi,
    }
}

fn item_operations<'d>(path: &'d str, item: &'d Map<String, Value>) -> Vec<FoundOperation<'d>> {
    let methods = METHODS.iter().filter_map(|method| {
        Some(FoundOperation {
            method: method.to_uppercase(),
            path,
            item,
            operation: item.get(*method)?.as_object()?,
        })
    });
    methods.collect()
}

impl FoundOperation<'_> {
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    fn is_called(&self, word: &str) -> bool {
        self.text("operationId") == Some(word)
            || self.title() == word
            || self.tags().iter().any(|tag| tag == word)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.operation.get(key).and_then(Value::as_str)
    }

    pub(super) fn tags(&self) -> Vec<String> {
        let tags = self.operation.get("tags").and_then(Value::as_array);
        let tags = tags.into_iter().flatten().filter_map(Value::as_str);
        tags.map(str::to_owned).collect()
    }
}

fn from_yaml(text: &str) -> Result<Value, ImportError> {
    let documents = Yaml::load_from_str(text).map_err(|error| ImportError::Unreadable {
        message: error.to_string(),
    })?;
    Ok(documents.first().map(to_json).unwrap_or_default())
}

fn to_json(yaml: &Yaml<'_>) -> Value {
    match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(flag)) => Value::Bool(*flag),
        Yaml::Value(Scalar::Integer(number)) => Value::Number((*number).into()),
        Yaml::Value(Scalar::FloatingPoint(number)) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Yaml::Value(Scalar::String(text)) => Value::String(text.to_string()),
        Yaml::Representation(text, ..) => Value::String(text.to_string()),
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key_text(key), to_json(value)));
            Value::Object(members.collect())
        }
        Yaml::Tagged(_, inner) => to_json(inner),
        Yaml::Alias(_) | Yaml::BadValue => Value::Null,
    }
}

/// Returns a key as text, as in JSON: responses are listed under numbers.
fn key_text(key: &Yaml<'_>) -> String {
    match to_json(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
