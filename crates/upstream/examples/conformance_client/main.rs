//! The upstream crate as a client, driven by the official conformance suite.
//!
//! The suite starts this program with the URL of a server it observes. The server is configured
//! like any other, everything it offers is used once, and every question it asks is answered, so
//! that each message the crate can send is checked. If the server requires a login, a user who
//! agrees to everything logs in, as with `kitbag servers login`, and everything is used again.
//!
//! # Layout
//! - this file: use of everything a server offers
//! - [`person`]: the user who logs in, and a store for grants

mod person;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use futures::future::try_join_all;
use kitbag_domain::{Lookup, Reach, RemoteEndpoint, RemoteTransport, Template};
use kitbag_upstream::oauth::{Flow, LoginReason, Scopes, Settings};
use kitbag_upstream::{
    CallError, CallEvent, ClientIdentity, ClientProfile, ClientQuestion, Listing, OutboundRequest,
    RequestedLogs, Server, ServerKind, ServerLimits, ServerSpec, StartError, UpstreamContext,
    Upstreams,
};
use kitbag_wire::meta::{code, method, result_type};
use kitbag_wire::{ErrorObject, Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args()
        .next_back()
        .context("missing argument: the URL of the suite's server")?;
    let scenario = Scenario::from_environment()?;
    let endpoint = RemoteEndpoint {
        transport: RemoteTransport::Http,
        url: Template::new(url),
        headers: Vec::new(),
    };
    let spec = ServerSpec {
        name: "suite".parse()?,
        kind: ServerKind::External(Reach::Remote(endpoint)),
        description: None,
        oauth: scenario.oauth()?,
        era: None,
        limits: ServerLimits {
            call_timeout: Duration::from_secs(10),
            ..ServerLimits::default()
        },
    };
    let name = spec.name.clone();
    let lookup: Lookup = Arc::new(|variable: &str| std::env::var(variable).ok());
    let context = UpstreamContext {
        lookup,
        logins: Some(person::logins()),
        built_in: None,
        find_secrets: |_, _| Vec::new(),
        hash_definition: |_, _| None,
        secrets_key: "",
    };
    let (upstreams, _announced) = Upstreams::new([(spec, None)], None, &context);
    let server = upstreams
        .get(&name)
        .context("the server is not configured")?;
    let used = use_with_logins(server, &scenario).await;
    upstreams.shutdown().await;
    used
}

/// What a scenario requires of its client.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Scenario {
    /// Exact calls to make, instead of one call of each tool.
    tool_calls: Vec<ToolCall>,
    /// The scenario, if its behaviour depends on more than its name.
    name: String,
    #[serde(rename = "client_id")]
    client_id: Option<String>,
    #[serde(rename = "client_secret")]
    client_secret: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: Raw,
}

impl Scenario {
    fn from_environment() -> anyhow::Result<Self> {
        let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
        serde_json::from_str(&context).context("reading the context of the scenario")
    }

    fn oauth(&self) -> anyhow::Result<Settings> {
        let own = self.name.starts_with("auth/client-credentials");
        Ok(Settings {
            flow: if own {
                Flow::ClientCredentials
            } else {
                Flow::Browser
            },
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone().map(Template::new),
            client_metadata_url: Some(CLIENT_DOCUMENT.parse()?),
            ..Settings::default()
        })
    }
}

/// Uses everything, and again after each login, as long as logging in may help.
async fn use_with_logins(server: &Arc<Server>, scenario: &Scenario) -> anyhow::Result<()> {
    for _ in 0..MAX_LOGINS {
        match use_everything(server, scenario).await {
            Err(error) if wants_login(&error) => {}
            used => return used,
        }
        let credentials = server
            .credentials()
            .context("it is not reached over HTTP")?;
        credentials
            .login(&mut person::Agreeable, &Scopes::default())
            .await?;
    }
    bail!("it still requires a login after {MAX_LOGINS} of them")
}

/// The document that the suite pretends to read about its clients.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

const MAX_LOGINS: usize = 3;

/// Whether a login should be tried, unless a previous one did not help.
fn wants_login(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(CallError::Login(needed) | CallError::Start(StartError::Login(needed)))
            if !matches!(needed.why, LoginReason::Withheld { .. })
    )
}

async fn use_everything(server: &Arc<Server>, scenario: &Scenario) -> anyhow::Result<()> {
    let listing = server.read_all_lists(|_| {}).await?;
    // A server that offers nothing must still see the client's own information.
    finish(server, method::LIST_TOOLS, RawObject::new()).await?;
    // All at once, because the data of one call must not leak into another.
    try_join_all(
        calls(&listing, scenario)?
            .into_iter()
            .map(|(name, arguments)| {
                let params = RawObject::new()
                    .with("name", &name)
                    .with("arguments", &arguments);
                finish(server, method::CALL_TOOL, params)
            }),
    )
    .await?;
    for resource in &listing.resources {
        let params = RawObject::new().with("uri", &member(resource, "uri")?);
        finish(server, method::READ_RESOURCE, params).await?;
    }
    for prompt in &listing.prompts {
        let params = RawObject::new().with("name", &member(prompt, "name")?);
        finish(server, method::GET_PROMPT, params).await?;
    }
    Ok(())
}

/// Returns the calls to make, each a name and its arguments.
fn calls(listing: &Listing, scenario: &Scenario) -> anyhow::Result<Vec<(String, Raw)>> {
    if !scenario.tool_calls.is_empty() {
        return Ok(scenario
            .tool_calls
            .iter()
            .map(|it| (it.name.clone(), it.arguments.clone()))
            .collect());
    }
    let named = |tool: &Raw| Ok((member(tool, "name")?, arguments(tool, listing)?));
    listing.tools.iter().map(named).collect()
}

fn arguments(tool: &Raw, listing: &Listing) -> anyhow::Result<Raw> {
    if member(tool, "name")? == SCHEMA_ECHO {
        let other = listing
            .tools
            .iter()
            .find(|it| member(it, "name").is_ok_and(|name| name != SCHEMA_ECHO));
        let schema = RawObject::open(other.context("there is no tool to echo")?)?;
        let schema = schema
            .get("inputSchema")
            .context("the tool has no input schema")?;
        return Ok(RawObject::new().with("schema", schema).to_raw());
    }
    let schema: Value = RawObject::open(tool)?
        .read("inputSchema")
        .unwrap_or_default();
    let required: Vec<String> =
        serde_json::from_value(schema["required"].clone()).unwrap_or_default();
    Ok(raw(&filled_in(&schema, |name| {
        required.iter().any(|it| it == name)
    })))
}

/// A tool that expects the schema of another tool exactly as the client received it.
const SCHEMA_ECHO: &str = "json_schema_echo";

/// Sends a request, and repeats it with more input as long as the server asks for it.
async fn finish(server: &Arc<Server>, method: &str, mut params: RawObject) -> anyhow::Result<()> {
    for _ in 0..MAX_ROUNDS {
        let result = RawObject::open(&answer(server, method, params.clone()).await?)?;
        if result.read::<String>("resultType").as_deref() != Some(result_type::INPUT_REQUIRED) {
            return Ok(());
        }
        params.put("inputResponses", &responses(&result)?);
        match result.get("requestState") {
            Some(state) => params.put("requestState", state),
            None => drop(params.remove("requestState")),
        }
    }
    bail!("`{method}` was not finished after {MAX_ROUNDS} rounds")
}

const MAX_ROUNDS: usize = 10;

async fn answer(server: &Arc<Server>, method: &str, params: RawObject) -> anyhow::Result<Raw> {
    let client = ClientProfile {
        identity: ClientIdentity {
            principal: "conformance".into(),
            client: "conformance".into(),
            account: "conformance".into(),
            is_owner: true,
        },
        capabilities: raw(&json!({ "roots": {}, "sampling": {}, "elicitation": { "form": {} } })),
        logs: RequestedLogs::None,
    };
    let mut in_flight = server
        .send(&OutboundRequest {
            method: method.to_owned(),
            params,
            client,
            approval: None,
        })
        .await?;
    loop {
        match in_flight.next().await {
            // A rejection is an answer too: some scenarios only observe the requests.
            CallEvent::Done(Err(CallError::Refused { .. })) => return Ok(RawObject::new().to_raw()),
            CallEvent::Done(result) => return Ok(result?),
            CallEvent::Ask(ask) => reply(ask),
            CallEvent::Progress(_) | CallEvent::Log(_) | CallEvent::Other { .. } => {}
        }
    }
}

/// Answers a question that a legacy server asks during a call.
fn reply(ask: ClientQuestion) {
    let params = ask
        .params
        .as_deref()
        .and_then(|it| serde_json::from_str(it.get()).ok());
    let answer = response(&ask.method, &params.unwrap_or_default());
    let unknown =
        |error: anyhow::Error| ErrorObject::new(code::METHOD_NOT_FOUND, error.to_string());
    ask.answer(answer.map(|it| raw(&it)).map_err(unknown));
}

/// Answers the questions that a modern server asks between two rounds.
fn responses(result: &RawObject) -> anyhow::Result<RawObject> {
    let questions = result
        .get_object("inputRequests")
        .context("the server requires input but asks no question")?;
    let one = |(key, question): (String, Raw)| {
        let question: Value = serde_json::from_str(question.get())?;
        let method = question["method"]
            .as_str()
            .context("the question has no method")?;
        Ok((key, raw(&response(method, &question["params"])?)))
    };
    questions.into_iter().map(one).collect()
}

fn response(method: &str, params: &Value) -> anyhow::Result<Value> {
    match method {
        method::ELICIT => Ok(
            json!({ "action": "accept", "content": filled_in(&params["requestedSchema"], |_| true) }),
        ),
        method::CREATE_MESSAGE => Ok(json!({
            "role": "assistant",
            "content": { "type": "text", "text": "a sampled answer" },
            "model": "conformance",
        })),
        method::LIST_ROOTS => Ok(json!({ "roots": [] })),
        other => Err(anyhow!("`{other}` is not a question to a client")),
    }
}

/// Returns an object that matches the schema: its defaults, or simple values.
fn filled_in(schema: &Value, wanted: impl Fn(&str) -> bool) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .filter(|(name, _)| wanted(name))
        .map(|(name, it)| (name.clone(), example(it)))
        .collect()
}

fn example(schema: &Value) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("example"),
    }
}

fn member(item: &Raw, key: &str) -> anyhow::Result<String> {
    RawObject::open(item)?
        .read(key)
        .with_context(|| format!("an entry of a list has no `{key}`"))
}
