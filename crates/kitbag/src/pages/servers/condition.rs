//! How a server is doing.

use kitbag_upstream::{CallError, Cause, Server};
use maud::Markup;

use crate::pages::elements::{Tone, pill};

pub(in crate::pages) enum ServerCondition {
    Failing(Box<CallError>),
    LoginNeeded,
    /// It was never listed, and is perhaps being started.
    Unlisted,
    Running,
    /// It is stopped, and started by the next call.
    Idle,
}

impl ServerCondition {
    pub(in crate::pages) fn of(server: &Server) -> Self {
        let start = server.start_problem();
        let failure = match (start, server.list_failure()) {
            (Some(start), _) => Some(CallError::Start((*start).clone())),
            (None, listing) => listing.map(|error| (*error).clone()),
        };
        match failure {
            Some(error) if matches!(error.cause(), Some(Cause::LoginNeeded)) => Self::LoginNeeded,
            Some(error) => Self::Failing(Box::new(error)),
            None if server.is_running() => Self::Running,
            None if server.listing().is_none() => Self::Unlisted,
            None => Self::Idle,
        }
    }

    pub(in crate::pages) fn needs_person(&self) -> bool {
        matches!(self, Self::Failing(_) | Self::LoginNeeded)
    }

    /// Orders servers: those that need a person come first.
    pub(in crate::pages) fn rank(&self) -> u8 {
        match self {
            Self::Failing(_) => 0,
            Self::LoginNeeded => 1,
            Self::Unlisted => 2,
            Self::Running => 3,
            Self::Idle => 4,
        }
    }

    pub(in crate::pages) fn name(&self) -> &'static str {
        match self {
            Self::Failing(_) => "failing",
            Self::LoginNeeded => "login needed",
            Self::Unlisted => "not listed yet",
            Self::Running => "running",
            Self::Idle => "idle",
        }
    }

    pub(in crate::pages) fn pill(&self) -> Markup {
        let tone = match self {
            Self::Failing(_) => Tone::Bad,
            Self::LoginNeeded => Tone::Warn,
            Self::Running => Tone::Good,
            Self::Unlisted | Self::Idle => Tone::Neutral,
        };
        pill(tone, self.name())
    }
}
