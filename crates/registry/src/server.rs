//! The part of `server.json` about how to run a server. Unknown fields are ignored; an unreadable
//! package or address is skipped, because half of one would run something else.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::name::EntryName;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryServer {
    pub name: EntryName,
    #[serde(default)]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub description: String,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub version: String,
    #[serde(default, deserialize_with = "deserialize_lenient")]
    pub repository: Option<SourceRepository>,
    #[serde(default)]
    pub website_url: Option<String>,
    #[serde(default, deserialize_with = "deserialize_lenient_list")]
    pub packages: Vec<Package>,
    #[serde(default, deserialize_with = "deserialize_lenient_list")]
    pub remotes: Vec<RegistryRemote>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct SourceRepository {
    pub url: String,
}

/// A package to download and run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Package {
    pub registry_type: String,
    #[serde(default)]
    pub registry_base_url: Option<String>,
    pub identifier: String,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub runtime_hint: Option<String>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) transport: PackageTransport,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) runtime_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) package_arguments: Vec<Argument>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) environment_variables: Vec<NamedValue>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PackageTransport {
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

/// A remote server.
#[derive(Debug, Clone, Deserialize)]
pub struct RegistryRemote {
    #[serde(rename = "type")]
    pub kind: RemoteKind,
    pub url: String,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) headers: Vec<NamedValue>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) variables: BTreeMap<String, Facts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteKind {
    StreamableHttp,
    Sse,
}

/// A word of a command line, or a flag with its value. Some authors do not say which of the two it
/// is; only a flag has a name.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Argument {
    /// The flag, including dashes.
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) value_hint: Option<String>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) is_repeated: bool,
    #[serde(flatten)]
    pub(crate) value: VariedValue,
}

/// A header or an environment variable.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NamedValue {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) value: VariedValue,
}

/// A value with gaps `{name}`, each with its own description.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct VariedValue {
    #[serde(flatten)]
    pub(crate) facts: Facts,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub(crate) variables: BTreeMap<String, Facts>,
}

/// The description of one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Facts {
    pub(crate) description: Option<String>,
    #[serde(deserialize_with = "deserialize_or_default")]
    pub(crate) is_required: bool,
    #[serde(deserialize_with = "deserialize_or_default")]
    pub(crate) is_secret: bool,
    /// A value fixed by the author, for which the user is not asked.
    #[serde(deserialize_with = "deserialize_text")]
    pub(crate) value: Option<String>,
    #[serde(deserialize_with = "deserialize_text")]
    pub(crate) default: Option<String>,
    #[serde(deserialize_with = "deserialize_text")]
    pub(crate) placeholder: Option<String>,
    #[serde(deserialize_with = "deserialize_text_list")]
    pub(crate) choices: Vec<String>,
    pub(crate) format: Option<String>,
}

impl VariedValue {
    /// Gives each gap without a description the description of the whole value.
    pub(crate) fn explained_variables(&self) -> BTreeMap<String, Facts> {
        let mut variables = self.variables.clone();
        for facts in variables.values_mut() {
            if facts.description.is_none() {
                facts.description = self.facts.description.clone();
            }
        }
        variables
    }
}

impl Default for PackageTransport {
    fn default() -> Self {
        Self {
            kind: "stdio".to_owned(),
        }
    }
}

/// Treats `null` like a missing field.
fn deserialize_or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

fn deserialize_lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Value::deserialize(from).map(|value| serde_json::from_value(value).ok())
}

fn deserialize_lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<Value> = deserialize_or_default(from)?;
    Ok(items
        .into_iter()
        .filter_map(|item| serde_json::from_value(item).ok())
        .collect())
}

/// Some authors write `8080` and `true` instead of a text.
fn deserialize_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Value::deserialize(from).map(as_text)
}

fn deserialize_text_list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let items: Vec<Value> = deserialize_or_default(from)?;
    Ok(items.into_iter().filter_map(as_text).collect())
}

fn as_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
