//! `[index]` and `[index.embedder]`: the source of the vectors used for search.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use kitbag_domain::{Template, TomlProblem};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use toml::Spanned;
use url::Url;

use crate::error::{Fault, Problem};
use crate::load::BaseDirs;
use crate::raw::RawDuration;
use crate::rows::{
    Alternative, Fallback, KeyRow, KeyTable, Restart, Secrecy, SectionRow, ValueType,
};
use crate::values::Section;

pub(crate) const SECTION: SectionRow =
    SectionRow::one(&TABLE, |config| format!("{:?}", config.embedder));

const TABLE: KeyTable = KeyTable {
    path: "index",
    alternatives: &[],
    rows: &[KeyRow {
        name: "embedder",
        value: ValueType::TextOrTable(&EMBEDDER),
        default: Fallback::Text(|| BUILT_IN.to_owned()),
        restart: Some(Restart::unless_same(|a, b| a.embedder == b.embedder)),
        meaning: "The embedding model: the one in the binary, or the one in the table `[index.embedder]`.",
        ..KeyRow::PLAIN
    }],
};

const EMBEDDER: KeyTable = KeyTable {
    path: "index.embedder",
    alternatives: &[
        Alternative {
            key: "directory",
            description: "an embedder in a `directory`",
        },
        Alternative {
            key: "endpoint",
            description: "an embedder with an `endpoint`",
        },
    ],
    rows: &[
        KeyRow {
            name: "directory",
            only_with: Some("directory"),
            meaning: "A BERT model as published, with `config.json`, `model.safetensors` and `tokenizer.json` or \
                      `vocab.txt`. `1_Pooling/config.json` says whether token vectors are averaged or the first one \
                      is used.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "endpoint",
            secrecy: Secrecy::Address,
            only_with: Some("endpoint"),
            meaning: "The base URL of an OpenAI-compatible embeddings service, without `/embeddings`, such as \
                      `\"https://host/v1\"`.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "model",
            only_with: Some("endpoint"),
            meaning: "The service's name for the model.",
            ..KeyRow::PLAIN
        },
        KeyRow {
            name: "api_key",
            secrecy: Secrecy::Whole,
            fills_variables: true,
            only_with: Some("endpoint"),
            meaning: "Sent as a bearer token. May contain `${VARIABLE}` or `${secret:NAME}`.",
            ..KeyRow::unset("none")
        },
        KeyRow {
            name: "dimensions",
            value: ValueType::WholeNumber,
            only_with: Some("endpoint"),
            meaning: "The vector length to request; the answer is checked.",
            ..KeyRow::unset("the service's default")
        },
        KeyRow {
            name: "timeout",
            only_with: Some("endpoint"),
            meaning: "The timeout of one request to the service. A search waits at most 5 seconds.",
            ..KeyRow::duration(|| DEFAULT_TIMEOUT)
        },
        KeyRow {
            name: "query_prefix",
            meaning: "Prepended to a query, such as `\"query: \"`.",
            ..KeyRow::unset("the model's own")
        },
        KeyRow {
            name: "document_prefix",
            meaning: "Prepended to the text of a tool, such as `\"passage: \"`.",
            ..KeyRow::unset("the model's own")
        },
    ],
};

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawIndex {
    embedder: Option<Spanned<RawEmbedder>>,
}

/// `"built-in"`, or a table that locates a model.
#[derive(Debug)]
enum RawEmbedder {
    Named(String),
    External(Box<RawExternalEmbedder>),
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, expecting = "a table")]
pub(crate) struct RawExternalEmbedder {
    directory: Option<Spanned<String>>,
    endpoint: Option<Spanned<String>>,
    model: Option<String>,
    api_key: Option<String>,
    dimensions: Option<Spanned<i64>>,
    timeout: Option<Spanned<RawDuration>>,
    query_prefix: Option<String>,
    document_prefix: Option<String>,
}

/// The source of the vectors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Embedder {
    #[default]
    BuiltIn,
    Directory(ModelDirectory),
    Endpoint(EmbeddingsEndpoint),
}

/// A model on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDirectory {
    pub path: PathBuf,
    pub prefixes: Prefixes,
}

/// A service with an OpenAI-compatible embeddings API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingsEndpoint {
    /// The URL of the service, without the final `/embeddings`.
    pub url: Url,
    pub model: String,
    pub api_key: Option<Template>,
    pub dimensions: Option<usize>,
    pub timeout: Duration,
    pub prefixes: Prefixes,
}

/// Text that some models expect before a query or a document, to distinguish the two. If a prefix
/// is not configured, the model directory may define it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    pub query: Option<String>,
    pub document: Option<String>,
}

const BUILT_IN: &str = "built-in";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn build(raw: RawIndex, base_dirs: &BaseDirs) -> Result<Embedder, Fault> {
    let Some(raw) = raw.embedder else {
        return Ok(Embedder::BuiltIn);
    };
    let span = raw.span();
    match raw.into_inner() {
        RawEmbedder::Named(name) if name == BUILT_IN => Ok(Embedder::BuiltIn),
        RawEmbedder::Named(found) => Err(Fault::new(
            span,
            "index.embedder",
            TomlProblem::not_one_of(&found, vec![BUILT_IN]),
        )),
        RawEmbedder::External(raw) => build_external(
            *raw,
            &Section {
                key: "index.embedder".to_owned(),
                span,
            },
            base_dirs,
        ),
    }
}

fn build_external(
    mut raw: RawExternalEmbedder,
    section: &Section,
    base_dirs: &BaseDirs,
) -> Result<Embedder, Fault> {
    let prefixes = Prefixes {
        query: raw.query_prefix.take(),
        document: raw.document_prefix.take(),
    };
    match (raw.directory.take(), raw.endpoint.take()) {
        (Some(_), Some(_)) => Err(section.fault(Problem::DirectoryAndEndpoint)),
        (None, None) => Err(section.fault(Problem::NeitherDirectoryNorEndpoint)),
        (Some(path), None) => Ok(Embedder::Directory(ModelDirectory {
            path: base_dirs.resolve_path(path.get_ref()),
            prefixes,
        })),
        (None, Some(url)) => build_endpoint(&url, raw, prefixes, section).map(Embedder::Endpoint),
    }
}

fn build_endpoint(
    url: &Spanned<String>,
    raw: RawExternalEmbedder,
    prefixes: Prefixes,
    section: &Section,
) -> Result<EmbeddingsEndpoint, Fault> {
    let parsed = parse_embedder_url(url.get_ref())
        .map_err(|problem| section.fault_at("endpoint", url, problem))?;
    let model = raw.model.ok_or_else(|| section.fault(Problem::NoModel))?;
    let dimensions = match raw.dimensions {
        Some(value) => Some(section.parse_number("dimensions", Some(value), 1, 1)?),
        None => None,
    };
    Ok(EmbeddingsEndpoint {
        url: parsed,
        model,
        api_key: raw.api_key.map(Template::new),
        dimensions,
        timeout: section.parse_duration("timeout", raw.timeout, DEFAULT_TIMEOUT)?,
        prefixes,
    })
}

fn parse_embedder_url(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text).map_err(|error| Problem::EmbedderUrl {
        reason: error.to_string(),
    })?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(Problem::EmbedderUrl {
            reason: format!("`{other}:` is not supported"),
        }),
    }
}

impl<'de> Deserialize<'de> for RawEmbedder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EmbedderVisitor;

        impl<'de> Visitor<'de> for EmbedderVisitor {
            type Value = RawEmbedder;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"built-in\" or a table")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<RawEmbedder, E> {
                Ok(RawEmbedder::Named(name.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawEmbedder, A::Error> {
                let table = de::value::MapAccessDeserializer::new(map);
                RawExternalEmbedder::deserialize(table)
                    .map(|table| RawEmbedder::External(Box::new(table)))
            }
        }

        deserializer.deserialize_any(EmbedderVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{check, config};

    #[test]
    fn an_embedder_is_built_in_or_external() {
        let embedder = |text: &str| config(text).unwrap().embedder;
        assert_eq!(embedder(""), Embedder::BuiltIn);
        assert_eq!(
            embedder("[index]\nembedder = 'built-in'"),
            Embedder::BuiltIn
        );
        let prefixes = Prefixes {
            query: Some("query: ".to_owned()),
            document: None,
        };
        assert_eq!(
            embedder("[index]\nembedder = { directory = '~/e5', query_prefix = 'query: ' }"),
            Embedder::Directory(ModelDirectory {
                path: "/home/ann/e5".into(),
                prefixes
            }),
        );
        let text = "[index.embedder]\nendpoint = 'https://host/v1'\nmodel = 'm'\napi_key = '${KEY}'\n\
                    dimensions = 256\ntimeout = '5s'";
        let expected = EmbeddingsEndpoint {
            url: Url::parse("https://host/v1").unwrap(),
            model: "m".to_owned(),
            api_key: Some(Template::new("${KEY}")),
            dimensions: Some(256),
            timeout: Duration::from_secs(5),
            prefixes: Prefixes::default(),
        };
        assert_eq!(embedder(text), Embedder::Endpoint(expected));
    }

    #[test]
    fn an_invalid_embedder_is_rejected_and_its_key_not_quoted() {
        check(
            "[index]\nembedder = 'builtin'",
            "line 2, in `index.embedder`: `builtin` is not one of `built-in` => did you mean `built-in`?",
        );
        check(
            "[index]\nembedder = 3",
            "line 2, in `index.embedder`: expected \"built-in\" or a table, found an integer",
        );
        check(
            "[index]\nembedder = { path = 'x' }",
            "line 2, in `index.embedder`: unknown key `path` => known keys: `directory`, `endpoint`, \
             `model`, `api_key`, `dimensions`, `timeout`, `query_prefix`, `document_prefix`",
        );
        check(
            "[index.embedder]\nmodel = 'm'",
            "line 1, in `index.embedder`: neither `directory` nor `endpoint` is set => set the `directory` of \
             a model, or the `endpoint` of a service and its `model`",
        );
        check(
            "[index.embedder]\nendpoint = 'https://host/v1'",
            "line 1, in `index.embedder`: `endpoint` is set but `model` is not => set the model that the service should \
             use, like \"text-embedding-3-small\"",
        );
        check(
            "[index.embedder]\nendpoint = 'host/v1'\nmodel = 'm'",
            "line 2, in `index.embedder.endpoint`: invalid embeddings URL: relative URL without \
             a base => write the part before `/embeddings`, like \"https://host/v1\"",
        );
        check(
            "[index.embedder]\ndirectory = 'x'\napi_key = 's3cret'",
            "line 3, in `index.embedder`: `api_key` does not apply to an embedder in a `directory` => \
             remove `api_key`",
        );
        check(
            "[index.embedder]\nendpoint = 'https://host/v1'\nmodel = 'm'\napi_key = 7",
            "line 4, in `index.embedder.api_key`: expected a string, found an integer",
        );
    }
}
