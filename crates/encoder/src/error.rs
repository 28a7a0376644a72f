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
    #[error("cannot parse the {file}: {source}")]
    Json {
        file: &'static str,
        #[source]
        source: serde_json::Error,
    },
    #[error("tensor {name} is missing")]
    Missing { name: String },
    #[error("tensor {name} has shape {found:?}, expected {expected:?}")]
    TensorShape {
        name: String,
        expected: Vec<usize>,
        found: Vec<usize>,
    },
    #[error("tensor {name} has type {found}, expected {expected}")]
    TensorType {
        name: String,
        expected: &'static str,
        found: String,
    },
    #[error("tensor {name} has the range {begin}..{end}, expected {needed} of {present} bytes")]
    TensorRange {
        name: String,
        begin: usize,
        end: usize,
        needed: usize,
        present: usize,
    },
    #[error("tensor {name} has values that are not finite")]
    NotFinite { name: String },
    #[error("invalid model shape: {reason}")]
    Shape { reason: String },
    #[error("{field} {found:?} is not supported, expected {expected}")]
    Unsupported {
        field: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
}
