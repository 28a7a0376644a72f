//! Reads the settings of the index: the source of the vectors, and the facts that the operator
//! declares about single tools.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kitbag_domain::Template;
use toml::Spanned;
use url::Url;

use crate::build::Section;
use crate::error::{Fault, Problem};
use crate::load::Ground;
use crate::nearest;
use crate::raw::{Named, RawElsewhere, RawEmbedder, RawIndex, RawTool};

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

/// A service that speaks OpenAI's embeddings format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingsEndpoint {
    /// The address of the service, without the final `/embeddings`.
    pub url: Url,
    pub model: String,
    pub api_key: Option<Template>,
    pub dimensions: Option<usize>,
    pub timeout: Duration,
    pub prefixes: Prefixes,
}

/// The text that some models need before a text, so that they can tell a request from a text that
/// is searched. If a prefix is not configured, the model directory may name it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes {
    pub query: Option<String>,
    pub document: Option<String>,
}

/// The facts about a tool that its definition does not contain.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeclaredTool {
    pub cost_usd: Option<f64>,
    pub p95_latency_ms: Option<f64>,
    pub p99_latency_ms: Option<f64>,
    pub success_rate: Option<f64>,
    pub tags: Vec<String>,
    pub scopes: Vec<String>,
    pub group: Option<String>,
}

pub(crate) const BUILT_IN: &str = "built-in";
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) fn embedder(raw: RawIndex, ground: &Ground) -> Result<Embedder, Fault> {
    let Some(raw) = raw.embedder else {
        return Ok(Embedder::BuiltIn);
    };
    let span = raw.span();
    match raw.into_inner() {
        RawEmbedder::Named(name) if name == BUILT_IN => Ok(Embedder::BuiltIn),
        RawEmbedder::Named(found) => {
            let nearest = nearest(&found, [BUILT_IN]);
            let problem = Problem::NotOneOf {
                found,
                choices: vec![BUILT_IN],
                nearest,
            };
            Err(Fault::new(span, "index.embedder", problem))
        }
        RawEmbedder::Elsewhere(raw) => elsewhere(
            *raw,
            &Section {
                key: "index.embedder".to_owned(),
                span,
            },
            ground,
        ),
    }
}

pub(crate) fn tools(raw: Named<RawTool>) -> Result<BTreeMap<String, DeclaredTool>, Fault> {
    let declared = raw.into_iter().map(|(name, raw)| {
        let section = Section {
            key: format!("tools.{}", name.get_ref()),
            span: name.span(),
        };
        Ok((name.into_inner(), tool(raw, &section)?))
    });
    declared.collect()
}

fn elsewhere(mut raw: RawElsewhere, section: &Section, ground: &Ground) -> Result<Embedder, Fault> {
    let prefixes = Prefixes {
        query: raw.query_prefix.take(),
        document: raw.document_prefix.take(),
    };
    match (raw.directory.take(), raw.endpoint.take()) {
        (Some(_), Some(_)) => Err(section.wrong(Problem::DirectoryAndEndpoint)),
        (None, None) => Err(section.wrong(Problem::NeitherDirectoryNorEndpoint)),
        (Some(path), None) => {
            refuse("model", raw.model.as_ref(), section)?;
            refuse("api_key", raw.api_key.as_ref(), section)?;
            refuse("dimensions", raw.dimensions.as_ref(), section)?;
            refuse("timeout", raw.timeout.as_ref(), section)?;
            Ok(Embedder::Directory(ModelDirectory {
                path: ground.path(path.get_ref()),
                prefixes,
            }))
        }
        (None, Some(url)) => endpoint(&url, raw, prefixes, section).map(Embedder::Endpoint),
    }
}

fn refuse<T>(
    key: &'static str,
    value: Option<&Spanned<T>>,
    section: &Section,
) -> Result<(), Fault> {
    match value {
        Some(value) => Err(section.wrong_at(key, value, Problem::ForeignToDirectory { key })),
        None => Ok(()),
    }
}

fn endpoint(
    url: &Spanned<String>,
    raw: RawElsewhere,
    prefixes: Prefixes,
    section: &Section,
) -> Result<EmbeddingsEndpoint, Fault> {
    let wrong = |reason: String| section.wrong_at("endpoint", url, Problem::EmbedderUrl { reason });
    let parsed = Url::parse(url.get_ref()).map_err(|error| wrong(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong(format!("`{}:` is not spoken here", parsed.scheme())));
    }
    let model = raw.model.ok_or_else(|| section.wrong(Problem::NoModel))?;
    let dimensions = match raw.dimensions {
        Some(value) => Some(section.number("dimensions", Some(value), 1, 1)?),
        None => None,
    };
    Ok(EmbeddingsEndpoint {
        url: parsed,
        model: model.into_inner(),
        api_key: raw.api_key.map(|key| Template::new(key.into_inner())),
        dimensions,
        timeout: section.duration("timeout", raw.timeout, DEFAULT_TIMEOUT)?,
        prefixes,
    })
}

fn tool(raw: RawTool, section: &Section) -> Result<DeclaredTool, Fault> {
    let within =
        |key: &str, value: Option<Spanned<f64>>, most: f64, named: &'static str| match value {
            Some(value) if !(0.0..=most).contains(value.get_ref()) => {
                let found = value.get_ref().to_string();
                Err(section.wrong_at(key, &value, Problem::OutOfRange { found, most: named }))
            }
            other => Ok(other.map(Spanned::into_inner)),
        };
    let amount = |key: &str, value| within(key, value, 1e9, "a billion");
    Ok(DeclaredTool {
        cost_usd: amount("cost_usd", raw.cost_usd)?,
        p95_latency_ms: amount("p95_latency_ms", raw.p95_latency_ms)?,
        p99_latency_ms: amount("p99_latency_ms", raw.p99_latency_ms)?,
        success_rate: within("success_rate", raw.success_rate, 1.0, "1")?,
        tags: raw.tags,
        scopes: raw.scopes,
        group: raw.group,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Config, Overrides, Surroundings, parse};

    fn read(text: &str) -> Result<Config, String> {
        let around = Surroundings {
            home: Some("/home/ann".into()),
            ..Surroundings::default()
        };
        let file = Some(Path::new("/etc/kitbag.toml"));
        parse(text, file, &Overrides::default(), &around).map_err(|error| {
            let told = error.to_string().replace("/etc/kitbag.toml, ", "");
            error
                .remedy()
                .map_or_else(|| told.clone(), |remedy| format!("{told} => {remedy}"))
        })
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(read(text).expect_err("it should be refused"), expected);
    }

    #[test]
    fn an_embedder_is_built_in_or_elsewhere() {
        let embedder = |text: &str| read(text).unwrap().embedder;
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
    fn an_embedder_that_cannot_work_is_refused_and_its_key_not_quoted() {
        check(
            "[index]\nembedder = 'builtin'",
            "line 2, in `index.embedder`: `builtin` is none of `built-in` => did you mean `built-in`?",
        );
        check(
            "[index]\nembedder = 3",
            "line 2, in `index.embedder`: expected \"built-in\" or a table, found an integer",
        );
        check(
            "[index]\nembedder = { path = 'x' }",
            "line 2, in `index.embedder`: there is no key `path` => the keys here are `directory`, `endpoint`, \
             `model`, `api_key`, `dimensions`, `timeout`, `query_prefix`, `document_prefix`",
        );
        check(
            "[index.embedder]\nmodel = 'm'",
            "line 1, in `index.embedder`: it has neither a `directory` nor an `endpoint` => name the `directory` of \
             a model, or the `endpoint` of a service and its `model`",
        );
        check(
            "[index.embedder]\nendpoint = 'https://host/v1'",
            "line 1, in `index.embedder`: it has an `endpoint` and no `model` => name the model the service should \
             use, like \"text-embedding-3-small\"",
        );
        check(
            "[index.embedder]\nendpoint = 'host/v1'\nmodel = 'm'",
            "line 2, in `index.embedder.endpoint`: not the address of an embeddings endpoint: relative URL without \
             a base => write the part before `/embeddings`, like \"https://host/v1\"",
        );
        check(
            "[index.embedder]\ndirectory = 'x'\napi_key = 's3cret'",
            "line 3, in `index.embedder.api_key`: `api_key` has no meaning for an embedder in a `directory` => \
             remove `api_key`",
        );
        check(
            "[index.embedder]\nendpoint = 'https://host/v1'\nmodel = 'm'\napi_key = 7",
            "line 4, in `index.embedder.api_key`: expected a string, found an integer",
        );
    }

    #[test]
    fn what_is_declared_of_a_tool_must_be_possible() {
        let text = "[tools.\"crm__search\"]\ncost_usd = 2\np95_latency_ms = 380\nsuccess_rate = 0.97\ntags = ['crm']";
        let expected = DeclaredTool {
            cost_usd: Some(2.0),
            p95_latency_ms: Some(380.0),
            success_rate: Some(0.97),
            tags: vec!["crm".to_owned()],
            ..DeclaredTool::default()
        };
        assert_eq!(
            read(text).unwrap().tools,
            BTreeMap::from([("crm__search".to_owned(), expected)])
        );
        check(
            "[tools.a]\nsuccess_rate = 97",
            "line 2, in `tools.a.success_rate`: expected a number between 0 and 1, found 97",
        );
        check(
            "[tools.a]\ncost_usd = -1",
            "line 2, in `tools.a.cost_usd`: expected a number between 0 and a billion, found -1",
        );
        check(
            "[tools.a]\ncost_usd = 'low'",
            "line 2, in `tools.a.cost_usd`: expected a number, found a string",
        );
        check(
            "[tools.a]\ncost = 1",
            "line 2, in `tools.a`: there is no key `cost` => did you mean `cost_usd`?",
        );
    }

    #[test]
    fn the_record_of_calls_is_kept_for_days() {
        let days = |text: &str| read(text).unwrap().audit.keep.as_secs() / 86_400;
        assert_eq!((days(""), days("[audit]\nkeep_days = 7")), (90, 7));
        check(
            "[audit]\nkeep_days = 0",
            "line 2, in `audit.keep_days`: expected a number of at least 1, found 0",
        );
    }
}
