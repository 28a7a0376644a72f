//! Carries out the tools that Kitbag has itself.
//!
//! A tool file declares each of them and has no `[api]`. The caller of this crate has checked the
//! arguments against the schema of the action; here they become types.
//!
//! # Layout
//! - [`agent_state`]: values that agents keep between runs
//! - [`feedback`]: reports of agents to the operators
//! - [`context`]: facts with their sources, and the weighing of claims
//! - [`icp`]: companies against the operator's ideal customer profile
//! - `web_fetch`, `browser`: pages of the web, read and pictured
//! - [`embedding`]: the function that makes vectors of texts; it is handed in
//! - `data_files`: the operator's dated data
//! - `arguments`: the arguments of an action as a type; `moment`: moments as people and models read them
//! - [`error`]: the reasons why an action was not carried out

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

pub use embedding::{EmbedFunction, EmbeddedTexts, EmbeddingFailed, TextsToEmbed};
pub use error::PlatformError;

/// Returns true for the tools that this crate carries out.
pub fn carries_out(id: &ToolId) -> bool {
    OwnTool::of(id).is_some()
}

/// Carries out the tools. Clones share everything.
#[derive(Debug, Clone)]
pub struct Platform {
    services: Arc<PlatformServices>,
}

/// The things that the tools work with.
pub struct PlatformServices {
    pub store: Store,
    pub embed: EmbedFunction,
    pub now: fn() -> Timestamp,
    /// False if the operator has switched the context plane off.
    pub context: bool,
    /// The operator's files of dated data, such as ideal customer profiles.
    pub data_files: Vec<PathBuf>,
    /// Absent if the certificate authorities of the configuration cannot be used.
    pub web: Option<Arc<WebPages>>,
}

/// The rooms for pages of the web.
#[derive(Debug)]
pub struct WebPages {
    pub reader: PageReader,
    pub browser: Browser,
}

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformCaller {
    pub tenant: Tenant,
    /// Absent for the person at this machine.
    pub key: Option<KeyId>,
    /// The program that the caller uses, by the name that it gave itself.
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

    /// Returns the dated data in force: that of the binary, and that of the operator's files over it.
    pub async fn dated_data(&self) -> Result<DatedData, PlatformError> {
        data_files::read(&self.services).await
    }

    /// Carries out an action of a tool for a caller.
    pub async fn carry_out(
        &self,
        id: &ToolId,
        action: &ActionName,
        arguments: Map<String, Value>,
        caller: &PlatformCaller,
    ) -> Result<PlatformAnswer, PlatformError> {
        let services = &*self.services;
        let answer = match (OwnTool::of(id), action.as_str()) {
            (Some(OwnTool::AgentState), "get") => {
                agent_state::get(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::AgentState), "set") => {
                agent_state::set(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::AgentState), "delete") => {
                agent_state::delete(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::AgentState), "list") => {
                agent_state::list(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::SubmitFeedback), "submit") => {
                feedback::submit(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::ContextQuery), "query") => {
                context::query(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::ContextExplain), "explain") => {
                context::explain(services, arguments::read(arguments)?, caller).await?
            }
            (Some(OwnTool::IcpScorer), "score") => {
                icp::score(services, arguments::read(arguments)?).await?
            }
            (Some(OwnTool::WebFetch), "fetch") => {
                let page = web_fetch::fetch(services, arguments::read(arguments)?).await?;
                return Ok(PlatformAnswer::Text(page));
            }
            (Some(OwnTool::Browser), "screenshot") => {
                return browser::screenshot(services, arguments::read(arguments)?).await;
            }
            _ => {
                return Err(PlatformError::UnknownAction {
                    tool: id.to_string(),
                    action: action.to_string(),
                });
            }
        };
        Ok(PlatformAnswer::Json(answer))
    }
}

/// The tools of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnTool {
    AgentState,
    SubmitFeedback,
    ContextQuery,
    ContextExplain,
    IcpScorer,
    WebFetch,
    Browser,
}

impl OwnTool {
    const ALL: [Self; 7] = [
        Self::AgentState,
        Self::SubmitFeedback,
        Self::ContextQuery,
        Self::ContextExplain,
        Self::IcpScorer,
        Self::WebFetch,
        Self::Browser,
    ];

    fn of(id: &ToolId) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.id() == id.as_str())
    }

    fn id(self) -> &'static str {
        match self {
            Self::AgentState => "agent-state",
            Self::SubmitFeedback => "submit-feedback",
            Self::ContextQuery => "context-query",
            Self::ContextExplain => "context-explain",
            Self::IcpScorer => "icp-scorer",
            Self::WebFetch => "web-fetch",
            Self::Browser => "browser",
        }
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
