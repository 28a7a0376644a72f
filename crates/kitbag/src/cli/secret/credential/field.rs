//! Parses `FIELD` and `FIELD=VALUE` arguments, and reads missing values from the terminal or stdin.

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
pub(in crate::cli::secret) struct GivenField {
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

/// Returns the fields with their values. Asks for missing values, or reads them from stdin.
pub(super) fn read_values(
    given: Vec<GivenField>,
    credential: &CredentialName,
) -> anyhow::Result<Vec<(String, Secret)>> {
    let mut values = Vec::new();
    for GivenField { name, value } in given {
        let value = match value {
            Some(value) => value,
            None => read_value(&name, credential)?,
        };
        if value.is_empty() {
            return Err(anyhow!("the value of `{name}` is empty")).advise(|| {
                format!("pipe it in: printf %s VALUE | kitbag secret set {credential} {name}")
            });
        }
        values.push((name, Secret::new(value)));
    }
    Ok(values)
}

fn read_value(field: &str, credential: &CredentialName) -> anyhow::Result<String> {
    let answer = match io::stdin().is_terminal() {
        true => ask::read_secret(&format!("{field} of {credential}: ")),
        false => ask::read_line(""),
    };
    match answer {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(String::new()),
        other => other.with_context(|| format!("cannot read the value of `{field}`")),
    }
}
