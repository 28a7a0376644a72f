//! Generates tool files from an OpenAPI document, version 3.0 or 3.1.
//!
//! - `document`: the document, in JSON or YAML, and its references
//! - `operation`: one operation as an action; `parameters` and `body`: the parts of its request
//! - `strict`: strict schemas, made from loose ones
//! - `access`: the address and the login
//! - `names`: names for tools, actions and arguments; `write`: the text of a file

mod access;
mod body;
mod document;
mod names;
mod operation;
mod parameters;
mod strict;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeSet;
use std::path::Path;

use kitbag_domain::Remedy;
use serde_json::Value;

use crate::file::ToolFile;
use document::OpenApiDocument;
use names::NameGiver;
use operation::ImportedAction;
use write::FileParts;

pub use access::ImportAuth;

/// Options for the generated files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// The prefix of all names; derived from the document's title unless given.
    pub provider: Option<String>,
    /// The responsible team.
    pub owner: Option<String>,
    /// The name of the credential; the provider's name unless given.
    pub credential: Option<String>,
    /// The login, if the document declares none.
    pub auth: Option<ImportAuth>,
    /// The address of the API, if the document declares none, or another one.
    pub server: Option<String>,
    /// True if the API may be reached over plain http, which the operator's configuration then
    /// permits.
    pub private: bool,
    /// True for one file per tag, with an action for each operation.
    pub grouped: bool,
    /// Only operations with one of these as a tag, id, or method and path, unless it is empty.
    pub only: Vec<String>,
}

/// The files, and the operations without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    pub files: Vec<ImportedFile>,
    pub skipped: Vec<SkippedOperation>,
    /// The endpoint that the configuration must name to use the files.
    pub endpoint: Option<NeededEndpoint>,
}

/// A configuration entry for all files of one API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeededEndpoint {
    /// A pattern for the ids of the tools.
    pub ids: String,
    /// The address, if the files cannot name it.
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// The stem of the file's name.
    pub slug: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedOperation {
    /// Such as `GET /pets/{id}`.
    pub operation: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("this is neither JSON nor YAML: {message}")]
    Unreadable { message: String },
    #[error("this is not an OpenAPI document")]
    NoOpenApi,
    #[error("this is OpenAPI {version}")]
    Version { version: String },
    #[error("the document has no usable address of the API")]
    NoServer,
    #[error("the document has no operations, or none of the requested ones")]
    NoOperations,
    #[error("`{server}` is not reached by https")]
    InsecureServer { server: String },
    #[error("`{server}` is not the address of an API")]
    BadServer { server: String },
    #[error("none of {skipped} operations can be imported; {first}")]
    NothingImported { skipped: usize, first: String },
}

impl Remedy for ImportError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { .. } => return None,
            Self::NoOpenApi => {
                "look for a document with `openapi: 3.…` at its beginning".to_owned()
            }
            Self::Version { .. } => "convert it to 3.0 or 3.1".to_owned(),
            Self::NoServer => "name the address: --server https://api.example/v1; for an API of your own network add \
                               --allow-private"
                .to_owned(),
            Self::NoOperations => "omit --only to see all".to_owned(),
            Self::InsecureServer { .. } => {
                "if the API is in your own network, add --allow-private".to_owned()
            }
            Self::BadServer { .. } => "write it like --server https://api.example/v1".to_owned(),
            Self::NothingImported { .. } => return None,
        })
    }
}

/// A model sees all actions of a tool, so their number is limited.
const MOST_ACTIONS: usize = 30;

/// Reports why a schema is invalid.
pub type SchemaFault<'a> = &'a dyn Fn(&Value) -> Option<String>;

/// Generates the files. Each is parsed again as a tool, so that only valid files are returned.
pub fn import(
    text: &str,
    options: &ImportOptions,
    schema_fault: SchemaFault<'_>,
) -> Result<Imported, ImportError> {
    access::check_server(options)?;
    let document = OpenApiDocument::read(text)?;
    let mut import = ImportRun::new(&document, options);
    let operations = document.operations(&options.only);
    if operations.is_empty() {
        return Err(ImportError::NoOperations);
    }
    for found in &operations {
        match operation::read(&document, found, options) {
            Ok(action) => import.take(action, schema_fault),
            Err(reason) => import.skip(&found.title(), reason),
        }
    }
    if import.actions.is_empty() && import.has_no_server() {
        return Err(ImportError::NoServer);
    }
    let imported = import.finish();
    match imported.skipped.first() {
        Some(first) if imported.files.is_empty() => Err(ImportError::NothingImported {
            skipped: imported.skipped.len(),
            first: format!("{}: {}", first.operation, first.reason),
        }),
        _ => Ok(imported),
    }
}

struct ImportRun<'a> {
    options: &'a ImportOptions,
    provider: String,
    title: String,
    actions: Vec<ImportedAction>,
    imported: Imported,
}

impl<'a> ImportRun<'a> {
    fn new(document: &OpenApiDocument, options: &'a ImportOptions) -> Self {
        let title = document.title();
        let provider = match &options.provider {
            Some(provider) => names::snake(provider),
            None => names::provider(&title, access::host(document, options).as_deref()),
        };
        Self {
            options,
            provider,
            title,
            actions: Vec::new(),
            imported: Imported::default(),
        }
    }

    /// Patterns are written in many dialects, so unsupported ones are dropped.
    fn take(&mut self, mut action: ImportedAction, schema_fault: SchemaFault<'_>) {
        if schema_fault(&action.input).is_some() {
            strict::remove_patterns(&mut action.input);
        }
        match schema_fault(&action.input) {
            None => self.actions.push(action),
            Some(reason) => self.skip(&action.title, format!("invalid schema: {reason}")),
        }
    }

    fn skip(&mut self, operation: &str, reason: String) {
        self.imported.skipped.push(SkippedOperation {
            operation: operation.to_owned(),
            reason,
        });
    }

    fn has_no_server(&self) -> bool {
        let mut skipped = self.imported.skipped.iter();
        skipped.all(|it| it.reason == access::NO_SERVER)
    }

    fn finish(mut self) -> Imported {
        let mut names = NameGiver::default();
        let actions = std::mem::take(&mut self.actions);
        let plain = actions.iter().find_map(|it| it.access.plain.clone());
        let groups = match self.options.grouped {
            true => group_by_tag(actions),
            false => actions
                .into_iter()
                .map(|it| (it.name.clone(), vec![it]))
                .collect(),
        };
        for (name, actions) in groups {
            self.write(&mut names, &name, actions);
        }
        if self.options.private {
            self.imported.endpoint = Some(self.needed_endpoint(plain));
        }
        self.imported
    }

    fn needed_endpoint(&self, url: Option<String>) -> NeededEndpoint {
        let provider = self.provider.replace('_', "-");
        let mut files = self.imported.files.iter();
        let ids = match files.any(|file| file.slug == provider) {
            true => format!("{provider}*"),
            false => format!("{provider}-*"),
        };
        NeededEndpoint { ids, url }
    }

    fn write(&mut self, names: &mut NameGiver, name: &str, mut actions: Vec<ImportedAction>) {
        let name = names.tool(&self.provider, name);
        give_action_names(&mut actions);
        let parts = FileParts {
            name: &name,
            provider: &self.provider,
            title: &self.title,
            options: self.options,
            actions: &actions,
        };
        let (slug, text) = (name.replace('_', "-"), parts.text());
        match ToolFile::read(Path::new(&format!("{slug}.toml")), &text) {
            Ok(_) => self.imported.files.push(ImportedFile { slug, text }),
            Err(mistakes) => {
                let reason = mistakes
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                for action in actions {
                    self.skip(&action.title, reason.clone());
                }
            }
        }
    }
}

/// Groups the actions with the same tag, address and login.
fn group_by_tag(actions: Vec<ImportedAction>) -> Vec<(String, Vec<ImportedAction>)> {
    let mut groups: Vec<(String, Vec<ImportedAction>)> = Vec::new();
    for action in actions {
        let tag = action
            .tags
            .first()
            .cloned()
            .unwrap_or_else(|| "api".to_owned());
        let group = groups.iter_mut().find(|(name, group)| {
            *name == tag && group.len() < MOST_ACTIONS && group[0].access == action.access
        });
        match group {
            Some((_, group)) => group.push(action),
            None => groups.push((tag, vec![action])),
        }
    }
    groups
}

/// Gives the actions of one tool distinct names.
fn give_action_names(actions: &mut [ImportedAction]) {
    let mut taken = BTreeSet::new();
    for action in actions {
        action.name = names::unique(&names::shorten_name(&action.name), &mut taken);
    }
}
