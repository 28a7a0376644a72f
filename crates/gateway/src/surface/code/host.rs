//! The world of a program: every request that it makes is answered here, and calls take the one
//! road to a server.

use std::sync::Arc;
use std::time::Instant;

use kitbag_domain::{Outcome, WriteClass};
use kitbag_relevance::{MAX_TOP_K, Options};
use kitbag_sandbox::{Host, HostError, HostRequest};
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};

use super::path::{self, CalledTool};
use super::value;
use crate::call::{ApiCall, Call, McpCall};
use crate::catalog::CatalogEntry;
use crate::failure::Failure;
use crate::find::find;
use crate::pipeline;
use crate::run::{CodeRun, MadeCall};
use crate::signature::{request, signature};
use crate::surface::answer::as_meant;
use crate::surface::request::ApiRequest;
use crate::surface::shown;
use crate::turn::Turn;

/// Most tasks need three to five tools.
const USUAL_LIMIT: usize = 5;

pub(super) struct ProgramHost {
    pub(super) turn: Turn,
    pub(super) run: Arc<CodeRun>,
}

impl Host for ProgramHost {
    async fn answer(&self, request: HostRequest) -> Result<Raw, HostError> {
        match request {
            HostRequest::Search { text, limit } => Ok(self.search(&text, limit).await),
            HostRequest::Describe { tool } => {
                self.describe(&tool).map_err(|failure| told(&failure))
            }
            HostRequest::Call { tool, arguments } => {
                let called =
                    path::find(&self.turn, &tool, arguments).map_err(|failure| told(&failure))?;
                self.call(called).await
            }
        }
    }

    fn waits_for_person(&self) -> bool {
        self.turn.back.is_waiting()
    }
}

impl ProgramHost {
    async fn search(&self, text: &str, limit: Option<usize>) -> Raw {
        let caller = self.turn.caller();
        let options = Options {
            top_k: limit.unwrap_or(USUAL_LIMIT).clamp(1, MAX_TOP_K),
            tenant: Some(caller.tenant.clone()),
            ..Options::default()
        };
        let found = find(&self.turn.gateway, caller, text, &options).await;
        let names: Vec<_> = found
            .candidates
            .iter()
            .map(|it| it.entry.tool_name.as_str())
            .collect();
        shown::found(&self.turn, names.iter().copied());
        let found = names.iter().filter_map(|name| self.listed(name));
        raw(&found.collect::<Vec<Value>>())
    }

    /// A tool or an HTTP API as a program is told of it.
    fn listed(&self, name: &str) -> Option<Value> {
        if let Some(entry) = self.turn.catalog.tool(name) {
            let class = self.turn.gateway.write_class(entry).as_str();
            return Some(json!({ "name": name, "signature": declared(entry), "effect": class }));
        }
        let provider = self.turn.gateway.providers.get(&name.parse().ok()?)?;
        Some(json!({ "name": name, "signature": request(provider.spec()) }))
    }

    fn describe(&self, tool: &kitbag_sandbox::ToolPath) -> Result<Raw, Failure> {
        let name = path::exposed(&self.turn, tool)?;
        let entry = self.turn.catalog.tool(&name);
        let entry = entry.ok_or_else(|| crate::resolve::unknown_tool(&self.turn, &name))?;
        Ok(raw(&declared(entry)))
    }

    async fn call(&self, called: CalledTool) -> Result<Raw, HostError> {
        match called {
            CalledTool::Tool { name, arguments } => self.call_tool(name, arguments).await,
            CalledTool::Request(ApiRequest::Tool { name, arguments }) => {
                self.call_tool(name, arguments).await
            }
            CalledTool::Request(ApiRequest::Provider { provider, call }) => {
                let subject = format!("{provider} {} {}", call.method, call.path);
                let writes = !call.method.is_safe();
                let request = call;
                let call = Call::Api(ApiCall { provider, request });
                let answer = self.made(call, subject, writes).await?;
                value::of_api(&answer)
            }
            CalledTool::Request(ApiRequest::Rest { result, offset }) => {
                path::rest(&self.turn, result, offset).map_err(|failure| told(&failure))
            }
        }
    }

    async fn call_tool(&self, name: String, arguments: Raw) -> Result<Raw, HostError> {
        let mut params = RawObject::new().with("name", &name);
        params.set("arguments", arguments);
        as_meant(&self.turn, &name, &mut params);
        shown::used(&self.turn, &name);
        let entry = self.turn.catalog.tool(&name);
        let class = entry.map(|entry| self.turn.gateway.write_class(entry));
        let call = Call::Mcp(McpCall::tool(name.clone(), params));
        let writes = class != Some(WriteClass::Read);
        let answer = self.made(call, name, writes).await?;
        value::of_result(&answer)
    }

    /// Makes a call, and notes it for the report.
    async fn made(&self, call: Call, tool: String, writes: bool) -> Result<Raw, HostError> {
        let started = Instant::now();
        let answer = Box::pin(pipeline::run(&self.turn, call)).await;
        let outcome = match &answer {
            Ok(result) if value::is_error(result) => Outcome::ToolError,
            Ok(_) => Outcome::Ok,
            Err(failure) => failure.outcome(),
        };
        self.run.made(MadeCall {
            tool,
            outcome,
            latency: started.elapsed(),
            writes,
        });
        answer.map_err(|failure| told(&failure))
    }
}

/// The declaration of a tool, by which a model writes correct calls of it.
fn declared(entry: &CatalogEntry) -> String {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    signature(&entry.exposed, &definition)
}

/// A failure as the exception that the program gets.
fn told(failure: &Failure) -> HostError {
    HostError {
        kind: failure.told().outcome().as_str().to_owned(),
        message: failure.to_string(),
        result: None,
    }
}
