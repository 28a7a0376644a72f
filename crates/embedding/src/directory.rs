//! Loads a model from a sentence-transformers directory: the model, its pooling, and the prefixes
//! that it needs before a text.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use kitbag_config::{ModelDirectory, Prefixes};
use kitbag_encoder::{Encoder, ModelError, ModelFiles, Pooling, Vocabulary};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    #[error("`{file}` cannot be read")]
    Unreadable {
        file: &'static str,
        source: io::Error,
    },
    #[error("`{file}` is not valid")]
    Json {
        file: &'static str,
        source: serde_json::Error,
    },
    #[error("neither `tokenizer.json` nor `vocab.txt` exists")]
    NoVocabulary,
    #[error("unsupported pooling mode: {found}")]
    Pooling { found: String },
    #[error("unsupported module: {found}")]
    Module { found: String },
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Loads the model and its prefixes. The configuration overrides the model's own prefixes.
pub(crate) fn load(directory: &ModelDirectory) -> Result<(Encoder, Prefixes), DirectoryError> {
    check_modules(&directory.path)?;
    let encoder = encoder(&directory.path)?;
    let own = prompts(&directory.path)?;
    let configured = directory.prefixes.clone();
    let prefixes = Prefixes {
        query: configured.query.or(own.query),
        document: configured.document.or(own.document),
    };
    Ok((encoder, prefixes))
}

fn encoder(path: &Path) -> Result<Encoder, DirectoryError> {
    let config = read(path, "config.json")?;
    let weights = read(path, "model.safetensors")?;
    let tokenizer = read_text(path, "tokenizer.json")?;
    let lines = read_text(path, "vocab.txt")?;
    let vocabulary = match (&tokenizer, &lines) {
        (Some(json), _) => Vocabulary::Json(json),
        (None, Some(lines)) => Vocabulary::Lines(lines),
        (None, None) => return Err(DirectoryError::NoVocabulary),
    };
    let files = ModelFiles {
        config: &config,
        weights: &weights,
        vocabulary,
        pooling: read_pooling(path)?,
    };
    Ok(Encoder::from_files(files)?)
}

/// Rejects a model with an unknown module, because that module would have changed every vector.
fn check_modules(path: &Path) -> Result<(), DirectoryError> {
    let modules: Vec<ModelModule> = json(path, "modules.json")?.unwrap_or_default();
    match modules.into_iter().find(|module| !module.is_known()) {
        Some(module) => Err(DirectoryError::Module { found: module.kind }),
        None => Ok(()),
    }
}

#[derive(Deserialize)]
struct ModelModule {
    #[serde(rename = "type")]
    kind: String,
}

impl ModelModule {
    fn is_known(&self) -> bool {
        let name = self.kind.rsplit('.').next().unwrap_or_default();
        ["Transformer", "Pooling", "Normalize"].contains(&name)
    }
}

fn read_pooling(path: &Path) -> Result<Pooling, DirectoryError> {
    let Some(config) = json::<Map<String, Value>>(path, "1_Pooling/config.json")? else {
        return Ok(Pooling::Mean);
    };
    let mut modes = pooling_modes(&config);
    modes.sort_unstable();
    match modes.as_slice() {
        ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["cls_token" | "cls"] => Ok(Pooling::First),
        _ => Err(DirectoryError::Pooling {
            found: modes.join(" and "),
        }),
    }
}

/// Older versions have a switch for each mode, newer ones the name of the mode.
fn pooling_modes(config: &Map<String, Value>) -> Vec<&str> {
    let on = config.iter().filter(|(_, value)| **value == true);
    let switched = on.filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
    let named = config.get("pooling_mode").and_then(Value::as_str);
    switched.chain(named).collect()
}

fn prompts(path: &Path) -> Result<Prefixes, DirectoryError> {
    let file: PromptsFile = json(path, "config_sentence_transformers.json")?.unwrap_or_default();
    Ok(Prefixes {
        query: file.prompt(["query", "Query"]),
        document: file.prompt(["document", "passage"]),
    })
}

#[derive(Deserialize, Default)]
struct PromptsFile {
    #[serde(default)]
    prompts: HashMap<String, String>,
}

impl PromptsFile {
    fn prompt(&self, names: [&str; 2]) -> Option<String> {
        let mut found = names.iter().filter_map(|name| self.prompts.get(*name));
        found.next().cloned()
    }
}

fn json<T: DeserializeOwned>(path: &Path, file: &'static str) -> Result<Option<T>, DirectoryError> {
    let text = read_text(path, file)?;
    let value = text.map(|text| serde_json::from_str(&text)).transpose();
    value.map_err(|source| DirectoryError::Json { file, source })
}

fn read(path: &Path, file: &'static str) -> Result<Vec<u8>, DirectoryError> {
    fs::read(path.join(file)).map_err(|source| DirectoryError::Unreadable { file, source })
}

/// Reads a file that need not exist.
fn read_text(path: &Path, file: &'static str) -> Result<Option<String>, DirectoryError> {
    match fs::read_to_string(path.join(file)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DirectoryError::Unreadable { file, source }),
    }
}

impl DirectoryError {
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } | Self::NoVocabulary => {
                "`directory` under [index.embedder] must contain config.json, model.safetensors, and \
                 tokenizer.json or vocab.txt"
            }
            Self::Json { .. } => "download the model again",
            Self::Pooling { .. } | Self::Module { .. } | Self::Model(_) => {
                "choose a BERT model with mean or CLS pooling, such as all-MiniLM-L6-v2 or bge-small-en-v1.5, \
                 or serve this model behind an `endpoint`"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../encoder/tests/fixtures/tiny"
    );

    /// Loads a model directory with additional files, and checks its prefixes or its error.
    #[track_caller]
    fn check(extra: &[(&str, &str)], expected: Result<(&str, &str), &str>) {
        let folder = tempfile::tempdir().unwrap();
        for file in ["config.json", "model.safetensors", "vocab.txt"] {
            fs::copy(Path::new(TINY).join(file), folder.path().join(file)).unwrap();
        }
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        for (file, text) in extra {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let directory = ModelDirectory {
            path: folder.path().to_owned(),
            prefixes: Prefixes::default(),
        };
        let loaded = load(&directory).map(|(_, prefixes)| {
            (
                prefixes.query.unwrap_or_default(),
                prefixes.document.unwrap_or_default(),
            )
        });
        let outcome = loaded
            .as_ref()
            .map(|(query, document)| (query.as_str(), document.as_str()));
        assert_eq!(
            outcome.map_err(ToString::to_string),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn the_models_own_settings_are_used() {
        check(&[], Ok(("", "")));
        check(
            &[(
                "config_sentence_transformers.json",
                r#"{"prompts": {"query": "query: ", "passage": "p: "}}"#,
            )],
            Ok(("query: ", "p: ")),
        );
        check(
            &[(
                "1_Pooling/config.json",
                r#"{"pooling_mode_cls_token": true}"#,
            )],
            Ok(("", "")),
        );
        check(
            &[("1_Pooling/config.json", r#"{"pooling_mode": "mean"}"#)],
            Ok(("", "")),
        );
    }

    #[test]
    fn a_model_that_would_give_wrong_vectors_is_rejected() {
        check(
            &[(
                "1_Pooling/config.json",
                r#"{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}"#,
            )],
            Err("unsupported pooling mode: max_tokens and mean_tokens"),
        );
        check(
            &[(
                "modules.json",
                r#"[{"type": "sentence_transformers.models.Dense"}]"#,
            )],
            Err("unsupported module: sentence_transformers.models.Dense"),
        );
        check(
            &[("tokenizer.json", "{")],
            Err("cannot parse the tokenizer: EOF while parsing an object at line 1 column 1"),
        );
        check(
            &[(
                "config.json",
                r#"{"model_type": "roberta", "num_hidden_layers": 2, "hidden_size": 42,
            "num_attention_heads": 3, "intermediate_size": 90, "vocab_size": 23, "max_position_embeddings": 24}"#,
            )],
            Err("model_type \"roberta\" is not supported, expected bert"),
        );
    }

    #[test]
    fn a_directory_without_a_model_has_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let directory = ModelDirectory {
            path: folder.path().to_owned(),
            prefixes: Prefixes::default(),
        };
        let error = load(&directory).unwrap_err();
        assert_eq!(error.to_string(), "`config.json` cannot be read");
    }
}
