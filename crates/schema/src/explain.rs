//! The text a model reads when something does not fit, made here and nowhere else.

use std::fmt;

use super::violation::{Violation, ViolationKind};

const MAX_KNOWN: usize = 30;

/// The mistakes in a value, and an example that would have been right. The text is written for a
/// model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub(crate) violations: Vec<Violation>,
    /// A value that would have been accepted; it keeps what was right in the value that was sent.
    pub example: Option<String>,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self
            .violations
            .iter()
            .map(|violation| format!("- {violation}"));
        let example = self
            .example
            .iter()
            .map(|example| format!("Example: {example}"));
        f.write_str(&lines.chain(example).collect::<Vec<_>>().join("\n"))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "/"
        } else {
            self.path.as_str()
        };
        match &self.wrong {
            ViolationKind::Missing { expected, sent } => {
                write!(f, "{path}: missing, expected {expected}")?;
                sent.iter()
                    .try_for_each(|sent| write!(f, "; you sent `{sent}`"))?;
            }
            ViolationKind::Unknown { near, known } => {
                write!(f, "{path}: there is no such parameter")?;
                match (near.as_slice(), known.as_slice()) {
                    ([], []) => {}
                    ([], known) => write!(f, "; there are {}", quoted(known))?,
                    (near, _) => write!(f, "; did you mean {}?", quoted(near))?,
                }
            }
            ViolationKind::Unfit { expected, got } => {
                write!(f, "{path}: expected {expected}, got {got}")?
            }
        }
        if self.schema.is_empty() {
            Ok(())
        } else {
            write!(f, "; schema: {}", self.schema)
        }
    }
}

fn quoted(names: &[String]) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(MAX_KNOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    shown.join(", ")
}
