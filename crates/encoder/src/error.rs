//! The errors in model files.

use super::wordpiece::VocabularyError;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("the weights file ends after {present} bytes; its {part} needs {needed}")]
    Truncated {
        part: &'static str,
        needed: u64,
        present: usize,
    },
    #[error("the {file} does not read: {source}")]
    Json {
        file: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("tensor {name} is missing")]
    Missing { name: String },
    #[error("tensor {name} is {found:?}; this model needs {expected:?}")]
    TensorShape {
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    #[error("tensor {name} holds {found}; {expected} is understood")]
    TensorType {
        name: String,
        expected: &'static str,
        found: String,
    },
    #[error(
        "tensor {name} lies at {begin}..{end}, which is not {needed} of the {present} bytes there are"
    )]
    TensorPlace {
        name: String,
        begin: usize,
        end: usize,
        needed: usize,
        present: usize,
    },
    #[error("tensor {name} has values that are not finite")]
    NotFinite { name: String },
    #[error("a model of this shape cannot be: {reason}")]
    Shape { reason: String },
    #[error("{field} {found:?} is not supported; {expected} is")]
    Unsupported {
        field: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
}
