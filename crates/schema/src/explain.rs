//! Writes the text that a model reads when a value does not match. No other file writes such text.

use std::fmt;

use super::violation::{Violation, ViolationKind};

/// A model would not read more names.
const MAX_KNOWN: usize = 30;

/// The mistakes in a value, and an example that would have been valid. The text is written for a
/// model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub(crate) violations: Vec<Violation>,
    /// A value that would have been accepted; it keeps the valid parts of the value that was sent.
    pub example: Option<String>,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let violations = self.violations.iter();
        let lines = violations.map(|violation| format!("- {violation}"));
        let example = self.example.iter();
        let example = example.map(|example| format!("Example: {example}"));
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
        write!(f, "{path}: {}", self.wrong)?;
        if self.schema.is_empty() {
            Ok(())
        } else {
            write!(f, "; schema: {}", self.schema)
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { expected, sent } => {
                write!(f, "missing, expected {expected}")?;
                let mut sent = sent.iter();
                sent.try_for_each(|sent| write!(f, "; you sent `{sent}`"))
            }
            Self::Unknown { near, known } => {
                f.write_str("there is no such parameter")?;
                match (near.as_slice(), known.as_slice()) {
                    ([], []) => Ok(()),
                    ([], known) => write!(f, "; there are {}", quote_names(known)),
                    (near, _) => write!(f, "; did you mean {}?", quote_names(near)),
                }
            }
            Self::Unfit { expected, got } => write!(f, "expected {expected}, got {got}"),
        }
    }
}

fn quote_names(names: &[String]) -> String {
    let shown = names.iter().take(MAX_KNOWN);
    let shown: Vec<_> = shown.map(|name| format!("`{name}`")).collect();
    shown.join(", ")
}
