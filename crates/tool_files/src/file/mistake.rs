//! The mistakes of a tool file. Each says what is wrong, in which place, and how to repair it.

use std::path::PathBuf;

use kitbag_domain::Remedy;
use kitbag_tool_spec::{HostPatternError, JsonPointerError, PlaceholderError, ToolNameError};

/// A mistake and its place. The line counts from one, and is zero for a file or directory that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {mistake}", file.display(), self.within())]
pub struct ToolFileError {
    pub file: PathBuf,
    pub line: usize,
    /// The key, with the tables around it: `actions.search.path`. It is empty for the whole file.
    pub key: String,
    pub mistake: ToolFileMistake,
}

/// The messages quote names and addresses only, because a person may have typed a secret where none belongs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFileMistake {
    #[error("it cannot be read: {reason}")]
    Unreadable { reason: String },
    #[error("a tool file may have {most} bytes at most")]
    TooLarge { most: usize },
    #[error("this is not TOML: {message}")]
    Syntax { message: String },
    #[error("there is no key `{key}`")]
    UnknownKey {
        key: String,
        nearest: Option<&'static str>,
        known: Vec<&'static str>,
    },
    #[error("the key `{key}` is missing")]
    MissingKey { key: &'static str },
    #[error("expected {expected}, found {}", with_article(found))]
    WrongType {
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{found}` is none of {}", quoted(choices))]
    NotOneOf {
        found: String,
        choices: Vec<&'static str>,
        nearest: Option<&'static str>,
    },
    #[error("it is empty")]
    EmptyValue,
    #[error("expected a number of at least {least}, found {found}")]
    TooSmall { found: String, least: i64 },
    #[error("`{found}` is not a duration")]
    Duration { found: String },
    #[error(transparent)]
    Name(#[from] ToolNameError),
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    #[error(transparent)]
    Pointer(#[from] JsonPointerError),
    #[error(transparent)]
    Host(#[from] HostPatternError),
    #[error("not the address of an API: {reason}")]
    ApiUrl { reason: String },
    #[error("`{name}` cannot be the name of an HTTP header")]
    HeaderName { name: String },
    #[error("a path begins with `/`")]
    PathBeginning,
    #[error("`{{{word}}}` names no property of the action's `input`")]
    UnknownArgument {
        word: String,
        nearest: Option<String>,
        known: Vec<String>,
    },
    #[error("`{{{word}}}` is an argument, and this belongs to all actions")]
    ArgumentOfAllActions { word: String },
    #[error("this is not JSON: {message}")]
    NotJson { message: String },
    #[error("the schema is not one of an object")]
    NoObjectSchema,
    #[error("arguments are a JSON object")]
    NoObject,
    #[error("the property `{name}` has a meaning of its own here: {reason}")]
    ReservedProperty { name: String, reason: &'static str },
    #[error("`{key}` has no meaning {reason}")]
    Meaningless {
        key: &'static str,
        reason: &'static str,
    },
    #[error("a tool file has at least one action")]
    NoActions,
    #[error("a file in a directory of tools has `[api]`; tools without it are built in")]
    NoApi,
    #[error("it names fields of a credential, and `api.credential` is missing")]
    NoCredential,
    #[error("the tool is declared `{declared}`, and its actions make it `{found}`")]
    WritesDiffer {
        declared: &'static str,
        found: &'static str,
    },
    #[error("it ends before it begins")]
    EndsBeforeBeginning,
    #[error("a message that was sent must not be sent again")]
    RepeatedSend,
    #[error("`pages` has none of `next`, `link` and `number`, or several of them")]
    PageManner,
    #[error("`auth` has neither `header` nor `query`, or both")]
    KeyPlace,
    #[error("`{name}` {}", if *is_known { "does more than read" } else { "is no action" })]
    TestAction { name: String, is_known: bool },
    #[error("the name `{name}` is taken by `{taken_by}` ({})", at.display())]
    NameTaken {
        name: String,
        taken_by: String,
        at: PathBuf,
    },
}

impl ToolFileError {
    fn within(&self) -> String {
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
            Self::UnknownKey {
                nearest: Some(near),
                ..
            }
            | Self::NotOneOf {
                nearest: Some(near),
                ..
            } => did_you_mean(near),
            Self::UnknownArgument {
                nearest: Some(near),
                ..
            } => did_you_mean(&format!("{{{near}}}")),
            Self::UnknownKey { known, .. } => format!("the keys here are {}", quoted(known)),
            Self::UnknownArgument { known, .. } if known.is_empty() => {
                "the input has no properties: add one, or write `{{` for a brace".to_owned()
            }
            Self::UnknownArgument { known, .. } => format!(
                "the properties are {}; write `{{{{` for a brace",
                quoted(known)
            ),
            Self::Duration { .. } => "write it like \"90s\", \"10m\" or \"1h30m\"".to_owned(),
            Self::ApiUrl { .. } => "write it like \"https://api.example/v1\"".to_owned(),
            Self::Placeholder(_) => {
                "write `{name}`, `{name.inner}` or `{credential.FIELD}`, and `{{` for a brace".to_owned()
            }
            Self::Pointer(_) => "write it like \"/results/0/id\", or \"\" for the whole".to_owned(),
            Self::Host(_) => "write it like \"api.example\" or \"email.*.amazonaws.com\"".to_owned(),
            Self::PathBeginning => "write it like \"/tickets/{id}\"".to_owned(),
            Self::ArgumentOfAllActions { .. } => {
                "move it into the actions, or take a field of the credential: {credential.FIELD}".to_owned()
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
                "`valid_until` is the first day on which the row holds no more".to_owned()
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
            Self::Syntax { .. }
            | Self::WrongType { .. }
            | Self::NotOneOf { .. }
            | Self::EmptyValue
            | Self::TooSmall { .. }
            | Self::Name(_)
            | Self::HeaderName { .. }
            | Self::NotJson { .. }
            | Self::NoObject => return None,
        })
    }
}

/// Returns the candidate that the person most probably meant, if one is near enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const CLOSE_ENOUGH: f64 = 0.75;
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= CLOSE_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

pub(crate) fn quoted<T: AsRef<str>>(words: &[T]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("`{}`", word.as_ref()))
        .collect();
    quoted.join(", ")
}

fn did_you_mean(word: &str) -> String {
    format!("did you mean `{word}`?")
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {noun}")
}
