//! Calls: from the name a client used to the result. [`pipeline`] is the only way to a server or an
//! API; read it first.
//!
//! Uses the catalog, the policy, the audit, the gateway's servers and APIs, and, through the turn,
//! the client. Knows no surface and no endpoint.
//!
//! # Layout
//! - `pipeline`: resolve, decide, validate, dispatch, observe
//! - `resolve`, `policy_check`, `unapproved`, `skill_digests`, `consent`: the target of a name, and
//!   whether the caller may use it
//! - `bridge`, `conversation`, `parking`, `tasks`: calls between clients and servers of either era
//! - `tool_file_call`: calls of tools from tool files
//! - `record`, `observe`: the audit row, and the events for the learner
//! - [`failure`], `reply`: why a request failed, and the only code that gives errors a wire format
//! - `remainder`: the remainders of truncated results

pub(crate) mod bridge;
pub(crate) mod consent;
pub(crate) mod conversation;
pub mod failure;
pub(crate) mod observe;
pub(crate) mod parking;
pub(crate) mod pipeline;
pub(crate) mod policy_check;
pub(crate) mod record;
pub(crate) mod remainder;
pub(crate) mod reply;
pub(crate) mod resolve;
pub(crate) mod skill_digests;
pub(crate) mod tasks;
pub(crate) mod tool_file_call;
pub(crate) mod unapproved;

use kitbag_apis::ProviderCall;
use kitbag_domain::{Capability, ExposedName, Kind, ServerName, ShortText};
use kitbag_wire::RawObject;
use kitbag_wire::meta::method;
use serde::Serialize;

use crate::call::failure::Failure;
use crate::front::completion::CompletionReference;

pub(crate) enum Call {
    Mcp(McpCall),
    Api(ApiCall),
}

/// A protocol request that a server has to answer.
pub(crate) struct McpCall {
    pub(crate) subject: CallSubject,
    pub(crate) params: RawObject,
}

/// A request to an HTTP API by its name in the configuration.
pub(crate) struct ApiCall {
    pub(crate) provider: String,
    pub(crate) request: ProviderCall,
}

/// The subject of a call, by the name that its caller used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallSubject {
    Tool(String),
    Prompt(String),
    Resource(String),
    Skill(String),
    /// The files under a URI.
    Directory(String),
    Completion(CompletionReference),
    /// A list of one server, unchanged.
    List(&'static str),
    /// A task that a tool call created.
    Task(TaskMethod, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMethod {
    Get,
    Result,
    Update,
    Cancel,
}

impl McpCall {
    pub(crate) fn for_tool(name: String, params: RawObject) -> Self {
        Self {
            subject: CallSubject::Tool(name),
            params,
        }
    }

    pub(crate) fn for_prompt(params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Prompt(required_string(&params, "name")?);
        Ok(Self { subject, params })
    }

    pub(crate) fn for_resource(params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Resource(required_string(&params, "uri")?);
        Ok(Self { subject, params })
    }

    pub(crate) fn for_skill(params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Skill(required_string(&params, "uri")?);
        Ok(Self { subject, params })
    }

    pub(crate) fn for_directory(params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Directory(required_string(&params, "uri")?);
        Ok(Self { subject, params })
    }

    pub(crate) fn for_completion(params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Completion(CompletionReference::parse(&params)?);
        Ok(Self { subject, params })
    }

    pub(crate) fn for_list(method: &'static str, params: RawObject) -> Self {
        Self {
            subject: CallSubject::List(method),
            params,
        }
    }

    pub(crate) fn for_task(method: TaskMethod, params: RawObject) -> Result<Self, Failure> {
        let subject = CallSubject::Task(method, required_string(&params, "taskId")?);
        Ok(Self { subject, params })
    }
}

/// Returns the parameters of a call of a tool or a prompt.
pub(crate) fn call_params(name: &str, arguments: &impl Serialize) -> RawObject {
    RawObject::new()
        .with("name", name)
        .with("arguments", arguments)
}

impl Call {
    /// Returns the capability recorded for an unresolved call: the caller's name for it, under the
    /// server that the name seems to mean.
    pub(crate) fn unresolved_capability(&self) -> Capability {
        let (kind, name) = match self {
            Self::Api(call) => return call.unresolved_capability(),
            Self::Mcp(call) => call.subject.kind_and_name(),
        };
        let server = ExposedName::split(name).map(|(server, _)| server);
        Capability {
            server: server_or_unknown(server.unwrap_or_default()),
            kind,
            name: ShortText::truncate(name).as_str().to_owned(),
        }
    }
}

impl ApiCall {
    fn unresolved_capability(&self) -> Capability {
        Capability::tool(server_or_unknown(&self.provider), self.request.subject())
    }
}

fn server_or_unknown(name: &str) -> ServerName {
    name.parse()
        .unwrap_or_else(|_| "unknown".parse().expect("it is a valid name"))
}

impl CallSubject {
    /// The kind of the subject and the caller's name for it. Lists concern the server itself, and
    /// tasks have only an id; neither has a name.
    pub(crate) fn kind_and_name(&self) -> (Kind, &str) {
        match self {
            Self::Tool(name) => (Kind::Tool, name),
            Self::Prompt(name) | Self::Completion(CompletionReference::Prompt(name)) => {
                (Kind::Prompt, name)
            }
            Self::Resource(uri)
            | Self::Skill(uri)
            | Self::Directory(uri)
            | Self::Completion(CompletionReference::Resource(uri)) => (Kind::Resource, uri),
            Self::List(_) | Self::Task(..) => (Kind::Tool, ""),
        }
    }

    /// Returns the method with which a server is asked for the subject.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tool(_) => method::CALL_TOOL,
            Self::Prompt(_) => method::GET_PROMPT,
            Self::Resource(_) => method::READ_RESOURCE,
            Self::Skill(_) => method::GET_SKILL,
            Self::Directory(_) => method::READ_DIRECTORY,
            Self::Completion(_) => method::COMPLETE,
            Self::List(method) => method,
            Self::Task(TaskMethod::Get, _) => "tasks/get",
            Self::Task(TaskMethod::Result, _) => "tasks/result",
            Self::Task(TaskMethod::Update, _) => "tasks/update",
            Self::Task(TaskMethod::Cancel, _) => "tasks/cancel",
        }
    }
}

pub(crate) fn required_string(params: &RawObject, field: &str) -> Result<String, Failure> {
    match params.get(field) {
        None => Err(Failure::bad_params(format!("`{field}` is missing"))),
        Some(_) => params
            .read(field)
            .ok_or_else(|| Failure::bad_params(format!("`{field}` must be a string"))),
    }
}
