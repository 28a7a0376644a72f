//! The mistakes of a template, each with the remedy for its author.

use kitbag_domain::Remedy;

use super::{InvalidTemplateName, ParameterMistake, ToolUseError};
use crate::pattern::PatternMistake;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    #[error("this cannot be read: {message}")]
    Syntax { message: String },
    #[error("the file has more than {most} bytes")]
    FileTooLarge { most: usize },
    #[error(transparent)]
    Name(#[from] InvalidTemplateName),
    #[error("`{key}` is empty")]
    Empty { key: &'static str },
    #[error("`{key}` is longer than {most} bytes")]
    TooLong { key: &'static str, most: usize },
    #[error("`{key}` has more than {most} entries")]
    TooMany { key: &'static str, most: usize },
    #[error("the intent `{intent}` {mistake}")]
    Intent {
        intent: String,
        mistake: PatternMistake,
    },
    #[error("the intent `{intent}` reads `{name}`, which is not a parameter")]
    UnknownParameter { intent: String, name: String },
    #[error("the intent `{intent}` reads `{name}`, which is a list")]
    ListInIntent { intent: String, name: String },
    #[error("the parameter `{name}` {mistake}")]
    Parameter {
        name: String,
        mistake: ParameterMistake,
    },
    #[error(transparent)]
    Use(#[from] ToolUseError),
    #[error("results of a program that writes are never cached")]
    CacheOfWrites,
    #[error("results may be cached for at most {most} seconds")]
    CacheTooLong { most: u64 },
    #[error("`{found}` expects text to be pasted into the program")]
    PastedText { found: String },
}

impl Remedy for TemplateProblem {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Syntax { message } => return syntax_remedy(message),
            Self::FileTooLarge { .. } => "move the work into a tool, and call that".to_owned(),
            Self::Name(_) => {
                "write lower-case letters, digits and `_`, like name = \"list_errors\"".to_owned()
            }
            Self::Empty { key } => format!("add a value for `{key}`"),
            Self::TooLong { key, .. } | Self::TooMany { key, .. } => format!("shorten `{key}`"),
            Self::Intent { mistake, .. } => return Some(intent_remedy(*mistake).to_owned()),
            Self::UnknownParameter { name, .. } => {
                format!("add a table [parameters.{name}], or remove {{{name}}} from the intent")
            }
            Self::ListInIntent { name, .. } => {
                format!("remove {{{name}}} from the intent; callers pass it as a parameter")
            }
            Self::Parameter { mistake, .. } => return mistake.remedy(),
            Self::Use(_) => "write server and tool, like \"sentry.list_issues\"".to_owned(),
            Self::CacheOfWrites => "remove `cache_seconds`, or write read_only = true".to_owned(),
            Self::CacheTooLong { most } => format!("write cache_seconds = {most} or less"),
            Self::PastedText { .. } => {
                "read the value from `params`, like params.project".to_owned()
            }
        })
    }
}

/// TOML assigns a key after a table to that table, which surprises authors.
fn syntax_remedy(message: &str) -> Option<String> {
    let advice = if message.contains("unknown field") {
        "use one of the keys that the message names"
    } else if message.contains("missing field") {
        "add the key that the message names, above the first [parameters.…] table"
    } else {
        return None;
    };
    Some(advice.to_owned())
}

fn intent_remedy(mistake: PatternMistake) -> &'static str {
    match mistake {
        PatternMistake::NoWord => "write what a person would say, like \"errors in {project}\"",
        PatternMistake::TooLong => "write what a person would say in one short sentence",
        PatternMistake::Brace => "write one name in braces, as a word of its own: {project}",
        PatternMistake::SideBySide => "write a word between them, like \"{count} of {project}\"",
        PatternMistake::SeveralLong => "keep `...` for one of them",
        PatternMistake::Twice => "name each parameter once",
    }
}
