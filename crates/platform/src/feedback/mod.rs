//! `submit-feedback`: reports from agents to operators.
//!
//! - [`reports`]: reports as operators query and read them

pub mod reports;

use kitbag_domain::ShortText;
use kitbag_domain::text::strip_invisible;
use kitbag_store::{FeedbackLimits, NewFeedback};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{PlatformCaller, PlatformError, PlatformServices};

/// An operator can review a few hundred reports; an agent in a loop must not bury them. Resolved
/// reports are kept for reference.
const LIMITS: FeedbackLimits = FeedbackLimits {
    open: 500,
    resolved: 2_000,
};

/// In characters.
const LONGEST_SUMMARY: usize = 200;
const LONGEST_DETAILS: usize = 10_000;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($variant),* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == text)
            }
        }
    };
}

words!(
    /// The reason for a report.
    FeedbackKind {
        Blocked = "blocked",
        MissingCapability = "missing_capability",
        Bug = "bug",
        Idea = "idea",
        Praise = "praise",
        Other = "other",
    }
);

words!(
    /// How badly the agent is blocked.
    FeedbackSeverity {
        Low = "low",
        Medium = "medium",
        High = "high",
    }
);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubmitArguments {
    kind: FeedbackKind,
    summary: String,
    details: Option<String>,
    tool: Option<String>,
    severity: Option<FeedbackSeverity>,
}

pub(crate) async fn submit_report(
    services: &PlatformServices,
    arguments: SubmitArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    let details = arguments.details.as_deref();
    let feedback = NewFeedback {
        tenant: caller.tenant.clone(),
        key: caller.key.clone(),
        client: caller.client.clone(),
        at: (services.now)(),
        kind: arguments.kind.as_str().to_owned(),
        severity: arguments.severity.map(|it| it.as_str().to_owned()),
        tool: arguments.tool.as_deref().map(ShortText::truncate),
        summary: limited_text(&arguments.summary, "summary", LONGEST_SUMMARY)?,
        details: details
            .map(|text| limited_text(text, "details", LONGEST_DETAILS))
            .transpose()?,
    };
    let id = services.store.add_feedback(&feedback, LIMITS).await?;
    let id = id.ok_or(PlatformError::TooManyReports { most: LIMITS.open })?;
    Ok(json!({ "id": id, "status": "open" }))
}

/// Returns the visible text, if it is neither empty nor too long.
fn limited_text(text: &str, name: &str, most: usize) -> Result<String, PlatformError> {
    let shown = strip_invisible(text).trim().to_owned();
    let reason = match shown.chars().count() {
        0 => format!("`{name}` is empty"),
        length if length > most => {
            format!("`{name}` has {length} characters; the limit is {most}")
        }
        _ => return Ok(shown),
    };
    Err(PlatformError::Arguments { reason })
}
