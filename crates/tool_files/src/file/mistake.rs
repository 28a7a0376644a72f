//! The mistakes of a tool file. Each has a message, a position and a remedy.

use std::path::PathBuf;

use kitbag_domain::toml_problem::{did_you_mean, quote_names};
use kitbag_domain::{Remedy, TomlProblem};
use kitbag_tool_spec::{HostPatternError, JsonPointerError, PlaceholderError, ToolNameError};

/// A mistake and its position. The line is one-based, and zero for a file or directory that could
/// not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {mistake}", file.display(), self.location_suffix())]
pub struct ToolFileError {
    pub file: PathBuf,
    pub line: usize,
    /// The key, with the tables around it: `actions.search.path`. Empty for the whole file.
    pub key: String,
    pub mistake: ToolFileMistake,
}

/// The messages only quote names and addresses, because a user may have typed a secret in the wrong
/// field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFileMistake {
    #[error("it cannot be read: {reason}")]
    Unreadable { reason: String },
    #[error(transparent)]
    Toml(#[from] TomlProblem),
    #[error("missing key `{key}`")]
    MissingKey { key: &'static str },
    #[error("a tool file may have {most} bytes at most")]
    TooLarge { most: usize },
    #[error("it is empty")]
    EmptyValue,
    #[error(transparent)]
    Name(#[from] ToolNameError),
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    #[error(transparent)]
    Pointer(#[from] JsonPointerError),
    #[error(transparent)]
    Host(#[from] HostPatternError),
    #[error("invalid API URL: {reason}")]
    ApiUrl { reason: String },
    #[error("a path must begin with `/`")]
    PathBeginning,
    #[error("`{{{word}}}` names no property of the action's `input`")]
    UnknownArgument {
        word: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    #[error("`{{{word}}}` is an argument, but this applies to all actions")]
    ArgumentOfAllActions { word: String },
    #[error("this is not JSON: {message}")]
    NotJson { message: String },
    #[error("the schema does not describe an object")]
    NoObjectSchema,
    #[error("arguments must be a JSON object")]
    NoObject,
    #[error("the property name `{name}` is reserved: {reason}")]
    ReservedProperty { name: String, reason: &'static str },
    #[error("`{key}` has no meaning {reason}")]
    Meaningless {
        key: &'static str,
        reason: &'static str,
    },
    #[error("a tool file must have at least one action")]
    NoActions,
    #[error("a file in a tool directory must have `[api]`; only built-in tools may omit it")]
    NoApi,
    #[error("it names fields of a credential, but `api.credential` is missing")]
    NoCredential,
    #[error("the tool is declared `{declared}`, but its actions make it `{found}`")]
    WritesDiffer {
        declared: &'static str,
        found: &'static str,
    },
    #[error("it ends before it begins")]
    EndsBeforeBeginning,
    #[error("an action that sends a message cannot be repeatable")]
    RepeatedSend,
    #[error("`pages` has none of `next`, `link` and `number`, or several of them")]
    PageManner,
    #[error("`auth` has neither `header` nor `query`, or both")]
    KeyPlace,
    #[error("`{name}` {}", if *is_known { "does more than read" } else { "is not an action" })]
    TestAction { name: String, is_known: bool },
    #[error("the name `{name}` is taken by `{taken_by}` ({})", at.display())]
    NameTaken {
        name: String,
        taken_by: String,
        at: PathBuf,
    },
}

impl ToolFileError {
    fn location_suffix(&self) -> String {
        match (self.line, self.key.as_str()) {
            (0, _) => String::new(),
            (line, "") => format!(", line {line}"),
            (line, key) => format!(", line {line}, in `{key}`"),
        }
    }
}

impl Remedy for ToolFileError {
    fn remedy(&self) -> Option<String> {
        self.mistake.remedy()
    }
}

impl Remedy for ToolFileMistake {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Toml(problem) => return problem.remedy(),
            Self::UnknownArgument {
                nearest: Some(near),
                ..
            } => did_you_mean(&format!("{{{near}}}")),
            Self::UnknownArgument { known, .. } if known.is_empty() => {
                "the input has no properties: add one, or write `{{` for a brace".to_owned()
            }
            Self::UnknownArgument { known, .. } => format!(
                "the properties are {}; write `{{{{` for a brace",
                quote_names(known)
            ),
            Self::ApiUrl { .. } => "write it like \"https://api.example/v1\"".to_owned(),
            Self::Placeholder(_) => {
                "write `{name}`, `{name.inner}` or `{credential.FIELD}`, and `{{` for a brace".to_owned()
            }
            Self::Pointer(_) => "write it like \"/results/0/id\", or \"\" for the whole".to_owned(),
            Self::Host(_) => "write it like \"api.example\" or \"email.*.amazonaws.com\"".to_owned(),
            Self::PathBeginning => "write it like \"/tickets/{id}\"".to_owned(),
            Self::ArgumentOfAllActions { .. } => {
                "move it into the actions, or use a field of the credential: {credential.FIELD}".to_owned()
            }
            Self::NoObjectSchema => {
                "write {\"type\": \"object\", \"properties\": {…}, \"additionalProperties\": false}".to_owned()
            }
            Self::ReservedProperty { .. } => "give the property another name".to_owned(),
            Self::Meaningless { key, .. } => format!("remove `{key}`"),
            Self::NoActions => "add a table such as [actions.search]".to_owned(),
            Self::NoApi => "add [api] with the `url` of the API".to_owned(),
            Self::NoCredential => "name it, like credential = \"desk\" under [api]".to_owned(),
            Self::WritesDiffer { found, .. } => format!(
                "write writes = \"{found}\", or correct the `writes` of an action"
            ),
            Self::EndsBeforeBeginning => {
                "`valid_until` is the first day on which the row is no longer valid".to_owned()
            }
            Self::RepeatedSend => "remove `repeatable`".to_owned(),
            Self::PageManner => {
                "write { next = \"/paging/next\", into = \"after\" }, { link = \"next\" } or { number = \"page\" }"
                    .to_owned()
            }
            Self::KeyPlace => {
                "write header = \"x-api-key\" or query = \"key\"".to_owned()
            }
            Self::TestAction { .. } => "name an action that only reads and costs nothing".to_owned(),
            Self::NameTaken { .. } => "give one of the two another name".to_owned(),
            Self::TooLarge { .. } => "split the tool into several".to_owned(),
            Self::MissingKey { key } => format!("add {key} = …"),
            Self::Unreadable { .. } => "check the path, and that Kitbag may read it".to_owned(),
            Self::EmptyValue
            | Self::Name(_)
            | Self::NotJson { .. }
            | Self::NoObject => return None,
        })
    }
}
