//! A raw MCP client of both eras, which trusts nothing and hides nothing.
//!
//! # Layout
//! - [`builder`]: configures the client before its first request
//! - [`envelope`]: headers and bodies

mod builder;
mod envelope;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kitbag_testkit::cases::{EachCase, each_case};
use serde_json::{Map, Value, json};

pub(crate) use self::builder::ClientBuilder;
use self::envelope::subject;
use super::exchange::{self, Exchange, Reply};
use super::gateway::Home;
use super::pipe::Pipe;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` first, then a session.
    Legacy,
    /// Every request is independent.
    Modern,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Legacy, Self::Modern];

    /// Iterates over both; a test that fails says in which.
    pub(crate) fn each() -> EachCase<std::array::IntoIter<Self, 2>> {
        each_case(Self::BOTH)
    }
}

/// Answers a server's request to the client: method and params in, result out.
type Answer = Arc<dyn Fn(&str, &Value) -> Value + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) era: Era,
    /// The result of `initialize`; null in the modern era.
    pub(crate) greeting: Value,
    connection: Connection,
    name: String,
    version: &'static str,
    capabilities: Value,
    log_level: Option<String>,
    answer: Option<Answer>,
    next_id: Arc<AtomicI64>,
}

#[derive(Debug, Clone)]
enum Connection {
    Http {
        http: reqwest::Client,
        url: String,
        key: Option<String>,
        session: Option<String>,
    },
    Stdio(Arc<Pipe>),
}

impl Client {
    pub(crate) fn to(url: impl Into<String>, era: Era) -> ClientBuilder {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self::through(
            Connection::Http {
                http,
                url: url.into(),
                key: None,
                session: None,
            },
            era,
        )
    }

    /// Joins the gateway running in this home, or starts its own.
    pub(crate) fn stdio(home: &Home, era: Era) -> ClientBuilder {
        Self::stdio_on(home, era, "all")
    }

    /// The same with this surface.
    pub(crate) fn stdio_on(home: &Home, era: Era, surface: &str) -> ClientBuilder {
        Self::stdio_with(home, era, &["--surface", surface])
    }

    /// Launches `serve --stdio` with these flags.
    pub(crate) fn stdio_with(home: &Home, era: Era, flags: &[&str]) -> ClientBuilder {
        Self::through(Connection::Stdio(Arc::new(Pipe::open(home, flags))), era)
    }

    fn through(connection: Connection, era: Era) -> ClientBuilder {
        ClientBuilder(Self {
            era,
            greeting: Value::Null,
            connection,
            name: "e2e".to_owned(),
            version: LEGACY,
            capabilities: json!({}),
            log_level: None,
            answer: None,
            next_id: Arc::new(AtomicI64::new(1)),
        })
    }

    /// Sends a request, answers questions, and returns the final reply with all earlier messages.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Reply {
        self.request_text(method, &params.to_string()).await
    }

    /// Like [`Self::request`], with the exact text of the params.
    pub(crate) async fn request_text(&self, method: &str, params: &str) -> Reply {
        let mut reply = self.round(method, params).await;
        for _ in 0..MAX_ROUNDS {
            let Some(retry) = self.retry(&reply, params) else {
                return reply;
            };
            let next = self.round(method, &retry).await;
            reply.messages.pop();
            reply.messages.extend(next.messages);
            reply.status = next.status;
        }
        panic!("asked for input again and again: {}", reply.raw());
    }

    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )
        .await
    }

    /// All items of a list, over all pages; `key` is `tools`, `resources`, ….
    pub(crate) async fn list(&self, method: &str, key: &str) -> Vec<Value> {
        let (mut items, mut params) = (Vec::new(), json!({}));
        loop {
            let result = self.request(method, &params).await.result();
            items.extend(
                result[key]
                    .as_array()
                    .unwrap_or_else(|| panic!("no {key}: {result}"))
                    .clone(),
            );
            match result.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return items,
            }
        }
    }

    pub(crate) async fn tool_names(&self) -> Vec<String> {
        let tools = self.list("tools/list", "tools").await;
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until the list has the tool, since lists are answered while servers start.
    pub(crate) async fn knows(&self, tool: &str) {
        let what = format!("{tool} is listed");
        super::until(&what, async || {
            self.tool_names()
                .await
                .iter()
                .any(|it| it == tool)
                .then_some(())
        })
        .await;
    }

    /// Like [`Self::knows`] for very long lists: calls the tool until it is known.
    pub(crate) async fn knows_of(&self, tool: &str) {
        let what = format!("{tool} can be called");
        super::until(&what, async || {
            let reply = self.call(tool, &serde_json::json!({})).await;
            (!reply.raw().contains("there is no tool called")).then_some(())
        })
        .await;
    }

    /// Sends a request and returns while it is running. Over stdio, only one can be read at a time.
    pub(crate) async fn start(&self, method: &str, params: &Value) -> Exchange {
        self.send_request(method, &params.to_string()).await.1
    }

    /// Like [`Self::start`], with the id for cancelling it.
    pub(crate) async fn start_with_id(&self, method: &str, params: &Value) -> (i64, Exchange) {
        self.send_request(method, &params.to_string()).await
    }

    pub(crate) async fn notify(&self, method: &str, params: &Value) {
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        self.send(method, params, body).await;
    }

    /// The change stream: GET for legacy clients, `subscriptions/listen` for modern ones.
    pub(crate) async fn listen(&self) -> Exchange {
        match (&self.connection, self.era) {
            (Connection::Http { .. }, Era::Legacy) => self.get(None).await,
            (_, Era::Modern) => {
                let every = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
                self.subscribe(&every).await
            }
            (Connection::Stdio(_), Era::Legacy) => {
                panic!("over stdio everything comes on one pipe")
            }
        }
    }

    /// Resumes a legacy stream after the event with this id.
    pub(crate) async fn resume(&self, after: &str) -> Exchange {
        self.get(Some(after)).await
    }

    /// `subscriptions/listen`, acknowledged.
    pub(crate) async fn subscribe(&self, notifications: &Value) -> Exchange {
        let mut exchange = self
            .start(
                "subscriptions/listen",
                &json!({ "notifications": notifications }),
            )
            .await;
        exchange
            .wait_for("notifications/subscriptions/acknowledged")
            .await;
        exchange
    }

    /// The pipe of a client on stdio.
    pub(crate) fn pipe(&self) -> &Pipe {
        match &self.connection {
            Connection::Stdio(pipe) => pipe,
            Connection::Http { .. } => panic!("this client has no pipe"),
        }
    }

    async fn get(&self, after: Option<&str>) -> Exchange {
        let Connection::Http { http, url, .. } = &self.connection else {
            panic!("over stdio everything comes on one pipe")
        };
        let headers = self.headers("", &Value::Null);
        let headers = headers
            .iter()
            .filter(|(name, _)| !["accept", "content-type"].contains(&name.as_str()));
        let request = http.get(url).header("accept", "text/event-stream");
        let request = headers.fold(request, |it, (name, value)| it.header(name, value));
        Exchange::read(
            after
                .into_iter()
                .fold(request, |it, id| it.header("last-event-id", id)),
        )
        .await
    }

    async fn initialize(&self) -> Reply {
        let params = json!({
            "protocolVersion": self.version,
            "capabilities": self.capabilities,
            "clientInfo": { "name": self.name, "version": "1" },
        });
        self.round("initialize", &params.to_string()).await
    }

    /// Sends one request and reads its reply, answering a legacy server's questions.
    async fn round(&self, method: &str, params: &str) -> Reply {
        let (_, mut exchange) = self.send_request(method, params).await;
        let mut messages = Vec::new();
        while let Some(message) = exchange.next().await {
            self.answer_if_asked(&message).await;
            messages.push(message);
        }
        Reply {
            status: exchange.status,
            headers: exchange.headers,
            messages,
        }
    }

    /// Answers the message if it is a request by the server.
    pub(crate) async fn answer_if_asked(&self, message: &str) {
        let Ok(message) = serde_json::from_str::<Value>(message) else {
            return;
        };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return;
        };
        let Some(answer) = &self.answer else {
            panic!("asked for {method}, and this client has no answers")
        };
        let result = answer(method, &message["params"]);
        let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
        self.send("", &Value::Null, body).await;
    }

    /// The params to resume with, if the reply asks for input that this client can give.
    fn retry(&self, reply: &Reply, params: &str) -> Option<String> {
        let message: Value = serde_json::from_str(reply.raw()).ok()?;
        let result = &message["result"];
        if result["resultType"] != "input_required" {
            return None;
        }
        let answer = self.answer.as_ref()?;
        let mut params: Map<String, Value> = serde_json::from_str(params).unwrap();
        if let Some(asked) = result["inputRequests"].as_object() {
            let answers: Map<String, Value> = asked
                .iter()
                .map(|(key, input)| {
                    (
                        key.clone(),
                        answer(input["method"].as_str().unwrap(), &input["params"]),
                    )
                })
                .collect();
            params.insert("inputResponses".to_owned(), answers.into());
        }
        match result.get("requestState") {
            Some(state) => params.insert("requestState".to_owned(), state.clone()),
            None => params.remove("requestState"),
        };
        Some(Value::from(params).to_string())
    }

    async fn send_request(&self, method: &str, params: &str) -> (i64, Exchange) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let known = subject(params);
        let body = self.body(id, method, params);
        if let Connection::Stdio(pipe) = &self.connection {
            pipe.send(body.as_bytes());
            return (id, Exchange::on_pipe(pipe.clone(), id.into()));
        }
        (
            id,
            self.send(method, &known, body).await.expect("HTTP answers"),
        )
    }

    async fn send(&self, method: &str, params: &Value, body: String) -> Option<Exchange> {
        match &self.connection {
            Connection::Http { http, url, .. } => {
                let headers = self.headers(method, params);
                let headers: Vec<_> = headers
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                Some(exchange::post(http, url, &headers, body).await)
            }
            Connection::Stdio(pipe) => {
                pipe.send(body.as_bytes());
                None
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("era", &self.era)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

const LEGACY: &str = "2025-11-25";
const MAX_ROUNDS: usize = 10;
