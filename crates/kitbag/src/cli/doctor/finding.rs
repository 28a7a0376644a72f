//! The result of one check.

use kitbag_upstream::Cause;
use serde::Serialize;

use crate::cli::failure::CommandFailure;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) area: Area,
    /// What was checked: a server, a file, an address.
    pub(super) subject: String,
    pub(super) severity: Severity,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    /// The command or edit that fixes the problem.
    #[serde(rename = "try", skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    /// The server's output on stderr before it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) last_words: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Area {
    Configuration,
    Store,
    Tools,
    Servers,
    Clients,
    Address,
    Programs,
    Versions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Ok,
    /// Worth knowing, and perhaps intended.
    Note,
    /// Works now, but may not later or for other users.
    Warning,
    /// Does not work, or gives access to clients that should have none.
    Problem,
}

impl Area {
    pub(super) const ALL: [Self; 8] = [
        Self::Configuration,
        Self::Store,
        Self::Tools,
        Self::Servers,
        Self::Clients,
        Self::Address,
        Self::Programs,
        Self::Versions,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Configuration => "Configuration",
            Self::Store => "Store",
            Self::Tools => "Tool files",
            Self::Servers => "Servers",
            Self::Clients => "Clients",
            Self::Address => "Address",
            Self::Programs => "Programs",
            Self::Versions => "Versions",
        }
    }

    pub(super) fn ok(self, subject: impl Into<String>, what: impl Into<String>) -> Finding {
        self.build_finding(Severity::Ok, subject, what)
    }

    pub(super) fn note(self, subject: impl Into<String>, what: impl Into<String>) -> Finding {
        self.build_finding(Severity::Note, subject, what)
    }

    pub(super) fn warning(self, subject: impl Into<String>, what: impl Into<String>) -> Finding {
        self.build_finding(Severity::Warning, subject, what)
    }

    pub(super) fn problem(self, subject: impl Into<String>, what: impl Into<String>) -> Finding {
        self.build_finding(Severity::Problem, subject, what)
    }

    /// A problem with the text that any verb prints for this error.
    pub(super) fn error(
        self,
        subject: impl Into<String>,
        error: impl Into<anyhow::Error>,
    ) -> Finding {
        let CommandFailure {
            error,
            why,
            advice,
            last_words,
        } = CommandFailure::from_error(&error.into());
        Finding {
            why: (!why.is_empty()).then(|| why.join(": ")),
            advice: (!advice.is_empty()).then(|| advice.join("; ")),
            last_words,
            ..self.problem(subject, error)
        }
    }

    fn build_finding(
        self,
        severity: Severity,
        subject: impl Into<String>,
        what: impl Into<String>,
    ) -> Finding {
        Finding {
            area: self,
            subject: subject.into(),
            severity,
            what: what.into(),
            cause: None,
            why: None,
            advice: None,
            last_words: None,
        }
    }
}

impl Finding {
    pub(super) fn with_reason(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
