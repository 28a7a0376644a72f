//! The host functions of a program: answers its requests, and runs its calls through the pipeline.

use std::collections::BTreeMap;
use std::iter::{once, repeat};
use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::{Outcome, ServerName, Surface, WriteClass};
use kitbag_relevance::MAX_TOP_K;
use kitbag_sandbox::{Host, HostError, HostRequest, ToolPath};
use kitbag_schema::{DeclarationSize, declaration, member_call};
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};

use super::path::{self, CalledTool};
use super::value;
use crate::call::failure::Failure;
use crate::call::observe;
use crate::call::pipeline;
use crate::call::{ApiCall, Call, McpCall};
use crate::catalog::CatalogEntry;
use crate::surface::adaptive_list;
use crate::surface::find::{DEFAULT_LIMIT, find_audited};
use crate::surface::request::ApiRequest;
use crate::surface::signature::api_signature;
use crate::surface::tool_answer::correct_arguments;
use crate::surface::tools::AlwaysOnTool;
use crate::turn::Turn;
use crate::turn::run::{CodeRun, ProgramCall};
use crate::turn::view::View;

pub(super) struct ProgramHost {
    pub(super) turn: Turn,
    pub(super) run: Arc<CodeRun>,
    /// The servers for the names in a template.
    pub(super) aliases: BTreeMap<ServerName, ServerName>,
}

impl Host for ProgramHost {
    async fn answer(&self, request: HostRequest) -> Result<Raw, HostError> {
        match request {
            HostRequest::Search { text, limit } => Ok(self.search_tools(&text, limit).await),
            HostRequest::Describe { tool } => {
                let tool = self.resolve_alias(tool);
                self.describe_tool(&tool)
                    .map_err(|failure| to_host_error(&failure))
            }
            HostRequest::Call { tool, arguments } => {
                let tool = self.resolve_alias(tool);
                let called = path::resolve_path(&self.turn, &tool, arguments)
                    .map_err(|failure| to_host_error(&failure))?;
                self.dispatch_call(called).await
            }
        }
    }

    fn waits_for_person(&self) -> bool {
        self.turn.back.is_waiting()
    }
}

impl ProgramHost {
    /// Creates the host of a program. Its calls have their own turn: on every surface the arguments
    /// are validated, and servers' text is sanitized. `purpose` is the request that the program
    /// performs.
    pub(super) fn start(
        turn: Turn,
        aliases: BTreeMap<ServerName, ServerName>,
        purpose: Option<&str>,
    ) -> Self {
        let host = Self::with_run(turn, aliases, CodeRun::new());
        if let Some(purpose) = purpose {
            observe::report_run_purpose(&host.turn, purpose);
        }
        host
    }

    /// Creates the host of a program that may not change anything.
    pub(super) fn start_trial(turn: Turn, aliases: BTreeMap<ServerName, ServerName>) -> Self {
        Self::with_run(turn, aliases, CodeRun::only_reading())
    }

    fn with_run(mut turn: Turn, aliases: BTreeMap<ServerName, ServerName>, run: CodeRun) -> Self {
        let run = Arc::new(run);
        turn.view = View::Merged(Surface::Code);
        turn.run = Some(run.clone());
        turn.origin.run = Some(run.id.clone());
        Self { turn, run, aliases }
    }

    /// Returns the path with the server for its alias.
    fn resolve_alias(&self, path: ToolPath) -> ToolPath {
        let ToolPath::Member { server, tool } = path else {
            return path;
        };
        let alias = server
            .parse()
            .ok()
            .and_then(|name: ServerName| self.aliases.get(&name));
        let server = alias.map_or(server, ToString::to_string);
        ToolPath::Member { server, tool }
    }

    async fn search_tools(&self, text: &str, limit: Option<usize>) -> Raw {
        let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_TOP_K);
        let found = find_audited(&self.turn, AlwaysOnTool::RunCode.name(), text, limit).await;
        let names: Vec<_> = found
            .candidates
            .iter()
            .map(|it| it.entry.tool_name.as_str())
            .collect();
        observe::report_search(&self.turn, text, names.iter().copied());
        adaptive_list::add_found_tools(&self.turn, names.iter().copied());
        // A model usually calls the first.
        let sizes = once(DeclarationSize::Guided).chain(repeat(DeclarationSize::Short));
        let found = names.iter().zip(sizes);
        let found = found.filter_map(|(name, size)| self.describe_found_tool(name, size));
        raw(&found.collect::<Vec<Value>>())
    }

    /// Describes a tool or an HTTP API for a program.
    fn describe_found_tool(&self, name: &str, size: DeclarationSize) -> Option<Value> {
        if let Some(entry) = self.turn.catalog.tool(name) {
            let class = self.effect_text(entry);
            let signature = tool_declaration(entry, size);
            return Some(json!({ "name": name, "signature": signature, "effect": class }));
        }
        let provider = self.turn.gateway.providers.get(&name.parse().ok()?)?;
        Some(json!({ "name": name, "signature": api_signature(provider.spec()) }))
    }

    fn describe_tool(&self, tool: &ToolPath) -> Result<Raw, Failure> {
        let entry = path::visible_entry(&self.turn, tool)?;
        let declared = tool_declaration(entry, DeclarationSize::Full);
        Ok(raw(&format!("// {}\n{declared}", self.effect_text(entry))))
    }

    /// Describes the effect of a tool, and its source if that is not the server.
    fn effect_text(&self, entry: &CatalogEntry) -> &'static str {
        let gateway = &self.turn.gateway;
        match gateway.write_class(entry) {
            WriteClass::Read if gateway.is_read_by_name(entry) => {
                "read-only (derived from its name)"
            }
            WriteClass::Read => "read-only",
            WriteClass::Write => "writes",
            WriteClass::Destructive => "destructive",
            WriteClass::Unknown => "may write: its server does not say",
        }
    }

    async fn dispatch_call(&self, called: CalledTool) -> Result<Raw, HostError> {
        match called {
            CalledTool::Tool { name, arguments } => self.call_tool(name, arguments).await,
            CalledTool::Request(ApiRequest::Tool { name, arguments }) => {
                self.call_tool(name, arguments).await
            }
            CalledTool::Request(ApiRequest::Provider { provider, call }) => {
                let subject = format!("{provider} {} {}", call.method, call.path);
                let pending = PendingCall {
                    tool: subject,
                    server: provider.parse().ok(),
                    writes: !call.method.is_safe(),
                };
                let request = call;
                let call = Call::Api(ApiCall { provider, request });
                let answer = self.run_call(call, pending).await?;
                value::api_value(&answer)
            }
            CalledTool::Request(ApiRequest::Remainder { result, offset }) => {
                path::remainder_value(&self.turn, result, offset)
                    .map_err(|failure| to_host_error(&failure))
            }
        }
    }

    async fn call_tool(&self, name: String, arguments: Raw) -> Result<Raw, HostError> {
        let answer = self.call_tool_for_result(name, arguments).await?;
        value::result_value(&answer)
    }

    /// Calls a tool by its name, and returns its unchanged result.
    pub(super) async fn call_tool_for_result(
        &self,
        name: String,
        arguments: Raw,
    ) -> Result<Raw, HostError> {
        let mut params = RawObject::new().with("name", &name);
        params.set("arguments", arguments);
        correct_arguments(&self.turn, &name, &mut params);
        adaptive_list::add_used_tool(&self.turn, &name);
        let entry = self.turn.catalog.tool(&name);
        let class = entry.map(|entry| self.turn.gateway.write_class(entry));
        let pending = PendingCall {
            server: entry.map(|entry| entry.capability.server.clone()),
            tool: name.clone(),
            writes: class != Some(WriteClass::Read),
        };
        let call = Call::Mcp(McpCall::for_tool(name, params));
        self.run_call(call, pending).await
    }

    /// Makes a call, and records it for the report.
    async fn run_call(&self, call: Call, pending: PendingCall) -> Result<Raw, HostError> {
        let started = Instant::now();
        let answer = Box::pin(pipeline::run(&self.turn, call)).await;
        let outcome = match &answer {
            Ok(result) if value::is_error(result) => Outcome::ToolError,
            Ok(_) => Outcome::Ok,
            Err(failure) => failure.visible_failure().audit_outcome(),
        };
        let PendingCall {
            tool,
            server,
            writes,
        } = pending;
        self.run.record_call(ProgramCall {
            tool,
            server,
            outcome,
            latency: started.elapsed(),
            writes,
        });
        answer.map_err(|failure| to_host_error(&failure))
    }
}

/// A call about to be made, as named in the report.
struct PendingCall {
    tool: String,
    server: Option<ServerName>,
    writes: bool,
}

/// Returns the declaration of a tool, from which a model can write correct calls.
pub(in crate::surface) fn tool_declaration(entry: &CatalogEntry, size: DeclarationSize) -> String {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let capability = &entry.capability;
    let call = member_call(capability.server.as_str(), &capability.name);
    declaration(&call, &definition, size)
}

/// Converts a failure to an exception for the program.
fn to_host_error(failure: &Failure) -> HostError {
    HostError {
        kind: failure
            .visible_failure()
            .audit_outcome()
            .as_str()
            .to_owned(),
        message: failure.to_string(),
        result: None,
    }
}
