//! The errors in the data, with their positions for the maintainer.

use std::fmt;
use std::io;
use std::path::PathBuf;

use kitbag_domain::Remedy;

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    #[error("{} cannot be read", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("there are no agents in {}", directory.display())]
    Empty { directory: PathBuf },
    #[error(transparent)]
    Wrong(Box<DataFault>),
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, {position}: {problem}")]
pub struct DataFault {
    pub file: String,
    pub position: DataPosition,
    pub problem: DataProblem,
}

/// A position in a file: the name of an entry, and a field of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPosition {
    pub entry: Option<String>,
    pub field: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataProblem {
    /// The JSON parser's message, which names the value it found and the allowed ones.
    #[error("{0}")]
    Shape(String),
    #[error("it is empty")]
    Empty,
    #[error("the file is in the folder `{folder}`, which must have the same name")]
    WrongFolder { folder: String },
    #[error("an id consists of lower-case letters, digits and single dashes")]
    Id,
    #[error("not an address that begins with http:// or https://")]
    Address,
    #[error("listed twice")]
    Twice,
    #[error("`{elsewhere}` calls it `{name}`; one capability has one name")]
    Spelling { elsewhere: String, name: String },
    #[error("it is `{category}` in `{elsewhere}`; one capability has one category")]
    OtherCategory { elsewhere: String, category: String },
    #[error("the status must be `unknown` if the availability is unknown, and only then")]
    StatusAndAvailability,
    #[error("a known capability needs a description")]
    NoDescription,
    #[error("a known capability needs a source")]
    NoSource,
    #[error(
        "a quotation of 50 to 300 characters is required for the granularity `excerpt`, and only allowed for it"
    )]
    Excerpt,
    #[error("no agent has a capability called `{name}`")]
    NoSuchCapability { name: String },
    #[error("there is no agent `{id}`")]
    NoSuchAgent { id: String },
    #[error("this is the name of `{name}` itself")]
    NameOfAnother { name: String },
}

impl DataError {
    pub(crate) fn new(file: &str, position: DataPosition, problem: DataProblem) -> Self {
        Self::Wrong(Box::new(DataFault {
            file: file.to_owned(),
            position,
            problem,
        }))
    }
}

impl Remedy for DataError {
    fn remedy(&self) -> Option<String> {
        let advice = match self {
            Self::Unreadable { .. } => return None,
            Self::Empty { .. } => {
                "it should hold `agents/<agent>/capabilities/current.json`, one for each agent"
            }
            Self::Wrong(_) => "the shape is described in `agents/schema/capabilities.schema.json`",
        };
        Some(advice.to_owned())
    }
}

impl DataPosition {
    pub(crate) fn field(field: impl Into<String>) -> Self {
        Self {
            entry: None,
            field: field.into(),
        }
    }

    pub(crate) fn entry(entry: &str, field: impl Into<String>) -> Self {
        Self {
            entry: Some(entry.to_owned()),
            field: field.into(),
        }
    }
}

impl fmt::Display for DataPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entry {
            Some(entry) => write!(f, "entry `{entry}`, field `{}`", self.field),
            None => write!(f, "field `{}`", self.field),
        }
    }
}
