//! Just enough HTTP for a client that measures: one persistent connection, JSON requests, JSON or
//! event answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects to an origin such as `http://127.0.0.1:7420`.
    pub(crate) fn open(origin: &str) -> anyhow::Result<Self> {
        let address = origin
            .trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned();
        Ok(Self {
            stream: connect(&address)?,
            address,
        })
    }

    pub(crate) fn post(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> anyhow::Result<Answer> {
        self.post_text(path, headers, &body.to_string())
    }

    /// Posts a serialized JSON body.
    pub(crate) fn post_text(
        &mut self,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> anyhow::Result<Answer> {
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
            self.address,
            body.len(),
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.stream
            .get_mut()
            .write_all(format!("{head}\r\n{body}").as_bytes())?;
        self.read_answer(path)
    }

    pub(crate) fn get(&mut self, path: &str) -> anyhow::Result<Answer> {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        self.stream.get_mut().write_all(head.as_bytes())?;
        self.read_answer(path)
    }

    fn read_answer(&mut self, path: &str) -> anyhow::Result<Answer> {
        let answer = Answer::read(&mut self.stream)
            .with_context(|| format!("waiting for the answer of {}{path}", self.address))?;
        if answer
            .header("connection")
            .is_some_and(|it| it.eq_ignore_ascii_case("close"))
        {
            self.stream = connect(&self.address)?;
        }
        Ok(answer)
    }
}

fn connect(address: &str) -> anyhow::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(BufReader::new(stream))
}

const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn read(stream: &mut impl BufRead) -> anyhow::Result<Self> {
        let first = line(stream)?;
        let status = first.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.with_context(|| format!("`{first}` is not a status line"))?;
        let mut headers = Vec::new();
        loop {
            let header = line(stream)?;
            let Some((name, value)) = header.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Self {
            status,
            headers,
            body: Vec::new(),
        };
        answer.body = answer.read_body(stream)?;
        Ok(answer)
    }

    fn read_body(&self, stream: &mut impl BufRead) -> anyhow::Result<Vec<u8>> {
        if self
            .header("transfer-encoding")
            .is_some_and(|it| it.eq_ignore_ascii_case("chunked"))
        {
            return chunks(stream);
        }
        let length = self.header("content-length").map_or(Ok(0), str::parse);
        let mut body = vec![0; length.context("reading content-length")?];
        stream.read_exact(&mut body)?;
        Ok(body)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(it, _)| it == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn body_length(&self) -> usize {
        self.body.len()
    }

    /// The message in the body: all of it, or the last event.
    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        let body = std::str::from_utf8(&self.body).context("the answer is not text")?;
        let events = self
            .header("content-type")
            .is_some_and(|it| it.starts_with("text/event-stream"));
        let last = || {
            body.lines()
                .rev()
                .filter_map(|it| it.strip_prefix("data:"))
                .find(|it| it.len() > 1)
        };
        let message = if events {
            last().unwrap_or_default()
        } else {
            body
        };
        serde_json::from_str(message).with_context(|| format!("status {}: {body}", self.status))
    }
}

fn chunks(stream: &mut impl BufRead) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(stream)?;
        let size = usize::from_str_radix(head.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.with_context(|| format!("`{head}` is not the size of a chunk"))?;
        stream.take(size as u64).read_to_end(&mut body)?;
        line(stream)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn line(stream: &mut impl BufRead) -> anyhow::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        bail!("the connection was closed");
    }
    Ok(line.trim_end().to_owned())
}

/// A legacy session, which every compared gateway supports.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    path: &'static str,
    id: Option<String>,
    key: Option<String>,
}

impl Session {
    pub(crate) fn open(origin: &str, path: &'static str) -> anyhow::Result<Self> {
        Self::open_session(origin, path, None)
    }

    /// Opens a session with an API key.
    pub(crate) fn open_with_key(
        origin: &str,
        path: &'static str,
        key: &str,
    ) -> anyhow::Result<Self> {
        Self::open_session(origin, path, Some(format!("Bearer {key}")))
    }

    fn open_session(origin: &str, path: &'static str, key: Option<String>) -> anyhow::Result<Self> {
        let mut session = Self {
            connection: Connection::open(origin)?,
            path,
            id: None,
            key,
        };
        let greeting = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": { "name": "xtask", "version": "1" },
        });
        let answer = session.post(&json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting,
        }))?;
        answer.json()?;
        session.id = answer.header("mcp-session-id").map(str::to_owned);
        session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )
        .with_context(|| format!("calling {tool}"))
    }

    /// Every tool on this route, page after page.
    pub(crate) fn tools(&mut self) -> anyhow::Result<Vec<Value>> {
        let (mut tools, mut params) = (Vec::new(), json!({}));
        loop {
            let page = self.request("tools/list", &params)?;
            tools.extend(page["tools"].as_array().into_iter().flatten().cloned());
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
    }

    /// Sends a request and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self.post(&request)?.json()?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => bail!("{method} was answered with {answer}"),
        }
    }

    fn post(&mut self, message: &Value) -> anyhow::Result<Answer> {
        let mut headers = vec![("mcp-protocol-version", VERSION)];
        headers.extend(self.id.as_deref().map(|id| ("mcp-session-id", id)));
        headers.extend(self.key.as_deref().map(|key| ("authorization", key)));
        self.connection.post(self.path, &headers, message)
    }
}

const VERSION: &str = "2025-11-25";

/// The text of a tool's result.
pub(crate) fn text(result: &Value) -> anyhow::Result<String> {
    let blocks = result["content"]
        .as_array()
        .context("the result has no content")?;
    Ok(blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(received: &str, expected: &Value) {
        let answer = Answer::read(&mut received.as_bytes()).unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json().unwrap(), *expected);
    }

    #[test]
    fn an_answer_is_read_in_every_encoding() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}",
            &json!({ "a": 1 }),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
            &json!({ "a": 1 }),
        );
        let events = "data:\n\nevent: message\ndata: {\"b\": [2]}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
        check(
            &format!("{head}{}\r\n\r\n{events}", events.len()),
            &json!({ "b": [2] }),
        );
    }
}
