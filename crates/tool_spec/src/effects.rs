//! The kind of a tool, and the effects of its actions.

/// Whether a tool belongs to one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// It wraps the API of one provider.
    Curated,
    /// It is not tied to one provider.
    Platform,
}

/// The effect of one action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionWrites {
    Read,
    Write,
    Destructive,
    /// It sends a message to a person, which cannot be recalled.
    Send,
}

/// The effect of a tool, as stated in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ToolWrites {
    Read,
    Write,
    Send,
    Any,
    ReadAndWrite,
}

impl ToolKind {
    pub const ALL: [Self; 2] = [Self::Curated, Self::Platform];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Curated => "curated",
            Self::Platform => "platform",
        }
    }
}

impl ActionWrites {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Destructive, Self::Send];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Send => "send",
        }
    }
}

impl ToolWrites {
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::Send,
        Self::Any,
        Self::ReadAndWrite,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Send => "send",
            Self::Any => "any",
            Self::ReadAndWrite => "read + write",
        }
    }

    /// Returns the class of a tool with these actions.
    pub fn from_actions(actions: impl IntoIterator<Item = ActionWrites>) -> Self {
        let (mut reads, mut writes) = (false, false);
        for action in actions {
            match action {
                ActionWrites::Send => return Self::Send,
                ActionWrites::Read => reads = true,
                ActionWrites::Write | ActionWrites::Destructive => writes = true,
            }
        }
        match (reads, writes) {
            (true, true) => Self::ReadAndWrite,
            (false, true) => Self::Write,
            (_, false) => Self::Read,
        }
    }
}
