//! One client of either era on one connection, reduced to the minimum for calling a tool.

use anyhow::{Context, bail};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::Era;

#[derive(Debug)]
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    uri: Uri,
    era: Era,
    headers: HeaderMap,
}

/// One serialized tool call, and the required text of its answer.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    tool: HeaderValue,
    body: Bytes,
    expected: &'static str,
}

impl Client {
    /// Connects and, in the legacy era, opens a session.
    pub(crate) async fn connect(uri: &Uri, era: Era) -> anyhow::Result<Self> {
        let authority = uri
            .authority()
            .context("the endpoint has no host or no port")?
            .as_str();
        let stream = TcpStream::connect(authority)
            .await
            .with_context(|| format!("connecting to {authority}"))?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(authority)?);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let mut client = Self {
            sender,
            uri: uri.clone(),
            era,
            headers,
        };
        match era {
            Era::Legacy => client.initialize().await?,
            Era::Modern => {
                client
                    .headers
                    .insert("mcp-protocol-version", HeaderValue::from_static(MODERN));
                client
                    .headers
                    .insert("mcp-method", HeaderValue::from_static("tools/call"));
            }
        }
        Ok(client)
    }

    /// Calls once and checks that the answer belongs to this call.
    pub(crate) async fn call(&mut self, call: &Call) -> anyhow::Result<()> {
        if self.era == Era::Modern {
            self.headers.insert("mcp-name", call.tool.clone());
        }
        let (_, body) = self.post(call.body.clone()).await?;
        if !contains(&body, call.expected.as_bytes()) || contains(&body, b"\"isError\":true") {
            bail!("the call failed: {}", String::from_utf8_lossy(&body));
        }
        Ok(())
    }

    async fn initialize(&mut self) -> anyhow::Result<()> {
        let request = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": LEGACY,
                "capabilities": {},
                "clientInfo": {"name": "kitbag-bench-load", "version": "0"},
            },
        });
        let (headers, _) = self
            .post(request.to_string().into())
            .await
            .context("opening a session")?;
        self.headers
            .insert("mcp-protocol-version", HeaderValue::from_static(LEGACY));
        if let Some(session) = headers.get("mcp-session-id") {
            self.headers.insert("mcp-session-id", session.clone());
        }
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(notification.to_string().into())
            .await
            .context("confirming the session")?;
        Ok(())
    }

    async fn post(&mut self, body: Bytes) -> anyhow::Result<(HeaderMap, Bytes)> {
        self.sender.ready().await?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from(
            self.uri
                .path_and_query()
                .cloned()
                .context("the endpoint has no path")?,
        );
        request.headers_mut().clone_from(&self.headers);
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        if !head.status.is_success() {
            bail!("{}: {}", head.status, String::from_utf8_lossy(&body));
        }
        Ok((head.headers, body))
    }
}

impl Call {
    /// A call of a tool that repeats its `message`.
    pub(crate) fn echo(era: Era, tool: &str) -> anyhow::Result<Self> {
        Self::new(era, tool, &json!({ "message": MESSAGE }), MESSAGE)
    }

    /// The same through the tool that calls all others.
    pub(crate) fn echo_through_call_api(era: Era, tool: &str) -> anyhow::Result<Self> {
        let arguments = json!({ "tool": tool, "arguments": { "message": MESSAGE } });
        Self::new(era, "call_api", &arguments, MESSAGE)
    }

    /// A search with results; the last line of the results says how to continue.
    pub(crate) fn search(era: Era, query: &str) -> anyhow::Result<Self> {
        Self::new(
            era,
            "search_available_tools",
            &json!({ "query": query }),
            "call_api(",
        )
    }

    fn new(
        era: Era,
        tool: &str,
        arguments: &Value,
        expected: &'static str,
    ) -> anyhow::Result<Self> {
        let mut params = json!({"name": tool, "arguments": arguments});
        if era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "kitbag-bench-load", "version": "0"},
            });
        }
        // One id for all: a client never has two concurrent calls.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        Ok(Self {
            tool: HeaderValue::from_str(tool)?,
            body: body.to_string().into(),
            expected,
        })
    }
}

fn contains(body: &[u8], wanted: &[u8]) -> bool {
    body.windows(wanted.len()).any(|window| window == wanted)
}

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const MESSAGE: &str = "are you there?";
