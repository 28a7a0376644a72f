//! A template: a program that carries out an intent, with the schema of its parameters and the
//! tools it uses. Everything in it is checked when it is read.
//!
//! - `text`: a template as users write it, and the checks; [`parameters`]: the schema
//! - [`mod@file`]: a template in a TOML file, and the position of a mistake in it
//! - [`mod@draft`]: a template drafted from the definition of a tool; [`generation`]: one written by a
//!   language model
//! - `pasting`: programs that expect text to be pasted into them
//! - [`problem`]: the mistakes of a template

pub mod draft;
pub mod file;
pub mod generation;
pub mod parameters;
mod pasting;
pub mod problem;
pub(crate) mod text;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use kitbag_domain::{ServerName, ServerNameError};
use serde::{Deserialize, Serialize};

pub use file::{TemplateFile, TemplateFileError};
pub use parameters::{ParameterMistake, TemplateParameters, is_parameter_name};
pub use problem::TemplateProblem;
use text::{SpottedProblem, TemplateText};

use crate::canonical;
use crate::pattern::IntentPattern;

/// A template that passed every check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TemplateText", into = "TemplateText")]
pub struct IntentTemplate {
    name: TemplateName,
    description: String,
    intents: Vec<IntentPattern>,
    uses: Vec<ToolUse>,
    read_only: bool,
    cache_for: Option<Duration>,
    code: String,
    parameters: TemplateParameters,
}

/// Lower-case letters, digits and `_`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TemplateName(String);

/// A tool that a program uses: `alias.tool`. The alias refers to one of the caller's servers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolUse {
    pub alias: ServerName,
    pub tool: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a valid template name")]
pub struct InvalidTemplateName {
    pub found: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolUseError {
    #[error("`{found}` names no tool")]
    NoTool { found: String },
    #[error(transparent)]
    Alias(#[from] ServerNameError),
}

impl IntentTemplate {
    pub fn name(&self) -> &TemplateName {
        &self.name
    }

    pub fn description(&self) -> &str {
        &self.description
    }

    pub fn intents(&self) -> &[IntentPattern] {
        &self.intents
    }

    pub fn uses(&self) -> &[ToolUse] {
        &self.uses
    }

    /// True if the author declares the program read-only. Policy still decides over every call.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Returns how long a result may be cached, if the template says so.
    pub fn cache_for(&self) -> Option<Duration> {
        self.cache_for
    }

    /// The body of an async function in JavaScript, which reads the global `params`.
    pub fn code(&self) -> &str {
        &self.code
    }

    pub fn parameters(&self) -> &TemplateParameters {
        &self.parameters
    }

    /// Returns a short digest of everything in the template, which differs for a changed template.
    pub fn fingerprint(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        canonical::digest(&value)
    }
}

impl TryFrom<TemplateText> for IntentTemplate {
    type Error = SpottedProblem;

    fn try_from(text: TemplateText) -> Result<Self, SpottedProblem> {
        text.check()
    }
}

impl TemplateName {
    /// In bytes, the limit that every model accepts for a tool's name.
    pub const MAX: usize = 64;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TemplateName {
    type Err = InvalidTemplateName;

    fn from_str(text: &str) -> Result<Self, InvalidTemplateName> {
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
        let mut bytes = text.bytes();
        let allowed = bytes.all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if begins && allowed && text.len() <= Self::MAX {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidTemplateName {
                found: text.to_owned(),
            })
        }
    }
}

impl TryFrom<String> for TemplateName {
    type Error = InvalidTemplateName;

    fn try_from(text: String) -> Result<Self, InvalidTemplateName> {
        text.parse()
    }
}

impl From<TemplateName> for String {
    fn from(name: TemplateName) -> Self {
        name.0
    }
}

impl fmt::Display for TemplateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ToolUse {
    type Err = ToolUseError;

    /// The alias ends at the first dot, as servers' names have none.
    fn from_str(text: &str) -> Result<Self, ToolUseError> {
        match text.split_once('.') {
            Some((alias, tool)) if !tool.is_empty() => Ok(Self {
                alias: alias.parse()?,
                tool: tool.to_owned(),
            }),
            _ => Err(ToolUseError::NoTool {
                found: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for ToolUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.alias, self.tool)
    }
}
