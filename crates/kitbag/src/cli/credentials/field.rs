//! A field as it stands on the command line, and the value that is asked for or read.

use std::convert::Infallible;
use std::io::{self, IsTerminal as _};
use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use kitbag_store::Secret;
use kitbag_tool_spec::CredentialName;

use crate::cli::ask;
use crate::cli::failure::Advise as _;

/// `FIELD` or `FIELD=VALUE`.
#[derive(Debug, Clone)]
pub(super) struct GivenField {
    name: String,
    value: Option<String>,
}

impl GivenField {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for GivenField {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Ok(Self {
            name: name.to_owned(),
            value,
        })
    }
}

/// Returns the fields with their values, of which those that are missing are asked for.
pub(super) fn values(
    given: Vec<GivenField>,
    credential: &CredentialName,
) -> anyhow::Result<Vec<(String, Secret)>> {
    let mut values = Vec::new();
    for GivenField { name, value } in given {
        let value = match value {
            Some(value) => value,
            None => asked(&name, credential)?,
        };
        if value.is_empty() {
            return Err(anyhow!("`{name}` was given no value")).advise(|| {
                format!("pipe it in: printf %s VALUE | kitbag credentials set {credential} {name}")
            });
        }
        values.push((name, Secret::new(value)));
    }
    Ok(values)
}

fn asked(field: &str, credential: &CredentialName) -> anyhow::Result<String> {
    let answer = match io::stdin().is_terminal() {
        true => ask::secret(&format!("{field} of {credential}: ")),
        false => ask::line(""),
    };
    match answer {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(String::new()),
        other => other.with_context(|| format!("the value of `{field}` cannot be read")),
    }
}
