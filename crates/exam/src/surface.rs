//! What of the tools a model is shown, and what a call there comes to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::suite::Arguments;
use crate::tools::{Called, Tools};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Every tool, each called by its own name.
    #[default]
    All,
    /// A few tools with which all others are found and called, in several turns.
    Search,
}

/// A surface as models are shown it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub surface: Surface,
    /// What stands in the request.
    pub tools: &'a Tools,
    /// How many answers a model may give to a prompt.
    pub max_turns: u32,
}

/// What a call of a model came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// What the model reads of it.
    pub told: String,
    pub failed: bool,
    /// The call of a tool that it led to; none where the model only looked around.
    pub reached: Option<Reached>,
}

/// A call of a tool, which is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    /// As the suite calls it, if it knows the tool.
    pub tool: String,
    /// As the server was given them.
    pub arguments: Arguments,
    pub called: Called,
    /// Calls beside it that were asked for at once with it and not made.
    pub also: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "models are not shown `{name}`; there are all (every tool) and search (the tools that find and call others)"
)]
pub struct UnknownSurface {
    pub name: String,
}

impl Surface {
    pub const ALL: [Self; 2] = [Self::All, Self::Search];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Search => "search",
        }
    }
}

impl<'a> Shown<'a> {
    /// Every tool: a call, and another one after an error.
    pub fn all(tools: &'a Tools) -> Self {
        Self {
            surface: Surface::All,
            tools,
            max_turns: 2,
        }
    }

    pub fn search(tools: &'a Tools, max_turns: u32) -> Self {
        Self {
            surface: Surface::Search,
            tools,
            max_turns,
        }
    }
}

impl Carried {
    /// A call of the tool that the model named, with nothing in between.
    pub fn straight(tool: String, arguments: Arguments, called: Called) -> Self {
        let (told, failed) = (called.text.clone(), called.failed);
        Self {
            told,
            failed,
            reached: Some(Reached {
                tool,
                arguments,
                called,
                also: 0,
            }),
        }
    }

    /// For a call that led to no tool, because nobody could read it.
    pub(crate) fn unreadable(told: String) -> Self {
        Self {
            told,
            failed: true,
            reached: None,
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Surface {
    type Err = UnknownSurface;

    fn from_str(name: &str) -> Result<Self, UnknownSurface> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
        found.ok_or_else(|| UnknownSurface {
            name: name.to_owned(),
        })
    }
}
