//! The audit record of a request that only searches or changes a listing: a search, a discovery or
//! a change of groups.

use std::time::Duration;

use crate::{CallCost, Caller, Origin, Outcome, Purpose, RecordedArguments, ShortText, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    pub at: Timestamp,
    pub kind: InquiryKind,
    pub caller: Caller,
    /// The client's own name; unverified, for people to read.
    pub client: Option<ShortText>,
    pub origin: Origin,
    pub purpose: Purpose,
    /// The channel of a search, or the name that was looked up.
    pub subject: ShortText,
    pub outcome: Outcome,
    pub latency: Duration,
    pub cost: CallCost,
    pub arguments: Option<RecordedArguments>,
    /// Further facts, such as the number of tools found.
    pub detail: Option<ShortText>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InquiryKind {
    /// A client searched for tools.
    Search,
    /// A client browsed the catalog.
    Discovery,
    /// A client changed its active groups of tools.
    GroupChange,
}

impl InquiryKind {
    pub const ALL: [Self; 3] = [Self::Search, Self::Discovery, Self::GroupChange];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Discovery => "discovery",
            Self::GroupChange => "group_change",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}
