//! Runs Kitbag's own tools.
//!
//! Each has a tool file without `[api]`. The caller has checked the arguments against the schema of
//! the action; here they are parsed into types.
//!
//! # Layout
//! - [`agent_state`]: values that agents store between runs
//! - [`feedback`]: reports from agents to operators
//! - [`context`]: facts with their sources, and the weighing of claims
//! - [`icp`]: scores companies by the operator's ideal customer profile
//! - `web_fetch`, `browser`: text and screenshots of web pages
//! - [`embedding`]: the caller's function that embeds texts
//! - `data_files`: the operator's dated data
//! - `arguments`: parses the arguments of an action; `moment`: formats and parses timestamps
//! - [`error`]: the errors of actions

pub mod agent_state;
mod arguments;
mod browser;
pub mod context;
mod data_files;
pub mod embedding;
pub mod error;
pub mod feedback;
pub mod icp;
mod moment;
#[cfg(test)]
mod tests;
mod web_fetch;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_domain::{KeyId, ShortText, Tenant, Timestamp};
use kitbag_store::Store;
use kitbag_tool_files::DatedData;
use kitbag_tool_spec::{ActionName, ToolId};
use kitbag_web::{Browser, PageReader};
use serde_json::{Map, Value};

use arguments::parse_arguments;

pub use embedding::{EmbedFunction, EmbeddedTexts, EmbeddingFailed, TextsToEmbed};
pub use error::PlatformError;

/// True for the tools that this crate runs.
pub fn is_platform_tool(id: &ToolId) -> bool {
    PlatformAction::ALL
        .iter()
        .any(|(tool, ..)| *tool == id.as_str())
}

/// Runs the tools. Clones share everything.
#[derive(Debug, Clone)]
pub struct Platform {
    services: Arc<PlatformServices>,
}

/// What the tools need to run.
pub struct PlatformServices {
    pub store: Store,
    pub embed: EmbedFunction,
    pub now: fn() -> Timestamp,
    /// False if the operator has disabled the context plane.
    pub context: bool,
    /// The operator's files of dated data, such as ideal customer profiles.
    pub data_files: Vec<PathBuf>,
    /// Absent if the certificate authorities of the configuration cannot be used.
    pub web: Option<Arc<WebPages>>,
}

/// Access to web pages.
#[derive(Debug)]
pub struct WebPages {
    pub reader: PageReader,
    pub browser: Browser,
}

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformCaller {
    pub tenant: Tenant,
    /// Absent for the user at this machine.
    pub key: Option<KeyId>,
    /// The name that the client gave itself.
    pub client: Option<ShortText>,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum PlatformAnswer {
    Json(Value),
    Text(String),
    Image {
        bytes: Vec<u8>,
        media_type: String,
        /// Facts about the image.
        about: Value,
    },
}

impl Platform {
    pub fn new(services: PlatformServices) -> Self {
        Self {
            services: Arc::new(services),
        }
    }

    /// Returns the built-in dated data overridden by the operator's files.
    pub async fn dated_data(&self) -> Result<DatedData, PlatformError> {
        data_files::read_dated_data(&self.services).await
    }

    /// Runs an action of a tool for a caller.
    pub async fn run_action(
        &self,
        id: &ToolId,
        action: &ActionName,
        arguments: Map<String, Value>,
        caller: &PlatformCaller,
    ) -> Result<PlatformAnswer, PlatformError> {
        let services = &*self.services;
        let action = PlatformAction::find(id, action)?;
        let answer = match action {
            PlatformAction::GetValue => {
                agent_state::get_value(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::SetValue => {
                agent_state::set_value(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::DeleteValue => {
                agent_state::delete_value(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::ListKeys => {
                agent_state::list_keys(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::SubmitReport => {
                feedback::submit_report(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::QueryFacts => {
                context::query_facts(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::ExplainClaim => {
                context::explain_claim(services, parse_arguments(arguments)?, caller).await?
            }
            PlatformAction::ScoreCompanies => {
                icp::score_companies(services, parse_arguments(arguments)?).await?
            }
            PlatformAction::FetchPage => {
                let page = web_fetch::fetch_page(services, parse_arguments(arguments)?).await?;
                return Ok(PlatformAnswer::Text(page));
            }
            PlatformAction::TakeScreenshot => {
                return browser::take_screenshot(services, parse_arguments(arguments)?).await;
            }
        };
        Ok(PlatformAnswer::Json(answer))
    }
}

/// The actions of the tools in this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlatformAction {
    GetValue,
    SetValue,
    DeleteValue,
    ListKeys,
    SubmitReport,
    QueryFacts,
    ExplainClaim,
    ScoreCompanies,
    FetchPage,
    TakeScreenshot,
}

impl PlatformAction {
    /// Each action with its tool and its name in the tool file.
    const ALL: [(&str, &str, Self); 10] = [
        ("agent-state", "get", Self::GetValue),
        ("agent-state", "set", Self::SetValue),
        ("agent-state", "delete", Self::DeleteValue),
        ("agent-state", "list", Self::ListKeys),
        ("submit-feedback", "submit", Self::SubmitReport),
        ("context-query", "query", Self::QueryFacts),
        ("context-explain", "explain", Self::ExplainClaim),
        ("icp-scorer", "score", Self::ScoreCompanies),
        ("web-fetch", "fetch", Self::FetchPage),
        ("browser", "screenshot", Self::TakeScreenshot),
    ];

    fn find(id: &ToolId, action: &ActionName) -> Result<Self, PlatformError> {
        let mut all = Self::ALL.into_iter();
        all.find(|(tool, name, _)| *tool == id.as_str() && *name == action.as_str())
            .map(|(_, _, action)| action)
            .ok_or_else(|| PlatformError::UnknownAction {
                tool: id.to_string(),
                action: action.to_string(),
            })
    }
}

impl PlatformServices {
    fn web_pages(&self) -> Result<&WebPages, PlatformError> {
        self.web.as_deref().ok_or(PlatformError::NoWebPages)
    }
}

impl fmt::Debug for PlatformServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlatformServices")
            .field("context", &self.context)
            .field("data_files", &self.data_files)
            .finish_non_exhaustive()
    }
}
