//! The latency that the model proxy adds to the first event of an answer: the same requests to a
//! vendor directly and through the gateway, alternating in one run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};
use xtask::cargo;
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use crate::catalog::{self, Tool, Upstreams};
use crate::http::Connection;
use crate::options::Options;
use crate::peer::wait_until_embedded;
use crate::{sets, table};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("models", arguments)?;
    let build = ["build", "--release", "-p", "kitbag", "-p", "kitbag-testbed"];
    cargo::run(repository, &build)?;
    let data = options.data.as_deref();
    let folder = repository.scratch("bench-models")?;
    let tools = catalog::read(&sets::tool_folders(repository, data)?)?;
    let upstreams = Upstreams::start(repository, &folder, &tools)?;
    let vendor = start_vendor()?;
    let models = format!("[models]\nenabled = true\n[models.anthropic]\nurl = '{vendor}'\n");
    let sections = format!("{}{models}", upstreams.sections());
    let gateway = Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
    wait_until_embedded(&gateway.origin, tools.len())?;
    let case = sets::most_real(repository, data);
    let queries = catalog::lines(&case.dataset.join("queries.jsonl"))?;
    let bodies = RequestBodies {
        tools: tools.iter().map(to_tool_definition).collect(),
        queries: queries
            .iter()
            .filter_map(|line| line["query"].as_str().map(str::to_owned))
            .collect(),
    };
    let mut ways = Ways {
        direct: Connection::open(&vendor)?,
        proxied: Connection::open(&gateway.origin)?,
    };
    let rows: Vec<Row> = CASES
        .iter()
        .map(|case| case.measure(&bodies, &mut ways))
        .collect::<anyhow::Result<_>>()?;
    print(&rows, options.json)?;
    drop(upstreams);
    Ok(())
}

fn to_tool_definition(tool: &Tool) -> Value {
    let definition = tool.definition();
    json!({
        "name": format!("mcp__kitbag__{}__{}", tool.server, tool.name),
        "description": definition["description"],
        "input_schema": definition["inputSchema"],
    })
}

/// The parts of requests.
struct RequestBodies {
    tools: Vec<Value>,
    queries: Vec<String>,
}

struct Ways {
    direct: Connection,
    proxied: Connection,
}

/// A kind of request, and how many of them are sent each way.
struct RequestCase {
    name: &'static str,
    count: usize,
    body: fn(&RequestBodies, usize) -> Value,
}

const CASES: [RequestCase; 4] = [
    RequestCase {
        name: "new words, all tools",
        count: 400,
        body: new_words,
    },
    RequestCase {
        name: "same words, all tools",
        count: 400,
        body: same_words,
    },
    RequestCase {
        name: "no tools",
        count: 400,
        body: without_tools,
    },
    RequestCase {
        name: "10 MB, all tools",
        count: 40,
        body: large,
    },
];

/// Each request begins a conversation, so that its tools are searched.
fn new_words(bodies: &RequestBodies, number: usize) -> Value {
    let query = &bodies.queries[number % bodies.queries.len()];
    json!({
        "model": "m", "max_tokens": 100, "stream": true, "system": format!("conversation {number}"),
        "tools": bodies.tools, "messages": [{ "role": "user", "content": format!("{query} ({number})") }],
    })
}

fn same_words(bodies: &RequestBodies, number: usize) -> Value {
    let mut body = new_words(bodies, 0);
    let text = format!("step {number}");
    push_message(&mut body, json!({ "role": "assistant", "content": text }));
    body
}

fn without_tools(bodies: &RequestBodies, number: usize) -> Value {
    let mut body = new_words(bodies, number);
    body["tools"] = json!([]);
    body
}

fn large(bodies: &RequestBodies, number: usize) -> Value {
    let mut body = same_words(bodies, number);
    let source =
        json!({ "type": "base64", "media_type": "image/png", "data": "A".repeat(10_000_000) });
    push_message(
        &mut body,
        json!({ "role": "user", "content": [{ "type": "image", "source": source }] }),
    );
    body
}

fn push_message(body: &mut Value, message: Value) {
    let messages = body["messages"].as_array_mut();
    messages.expect("a request has messages").push(message);
}

impl RequestCase {
    fn measure(&self, bodies: &RequestBodies, ways: &mut Ways) -> anyhow::Result<Row> {
        eprintln!("{}: {} requests each way", self.name, self.count);
        let (mut direct, mut proxied, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..self.count {
            let body = (self.body)(bodies, number).to_string();
            let first = time(&mut ways.direct, "/v1/messages", &body)?;
            let second = time(&mut ways.proxied, "/anthropic/v1/messages", &body)?;
            direct.push(first);
            proxied.push(second);
            added.push(second - first);
        }
        Ok(Row {
            name: self.name,
            direct: Quantiles::from_times(direct),
            proxied: Quantiles::from_times(proxied),
            added: Quantiles::from_times(added),
        })
    }
}

/// Returns the milliseconds until the first event, which is the whole answer here.
fn time(connection: &mut Connection, path: &str, body: &str) -> anyhow::Result<f64> {
    let started = Instant::now();
    let answer = connection.post_text(path, &[("x-api-key", "k")], body)?;
    let took = started.elapsed().as_secs_f64() * 1e3;
    anyhow::ensure!(answer.status == 200, "{path} answered {}", answer.status);
    Ok(took)
}

struct Row {
    name: &'static str,
    direct: Quantiles,
    proxied: Quantiles,
    added: Quantiles,
}

#[derive(Debug, Clone, Copy)]
struct Quantiles {
    p50: f64,
    p95: f64,
}

impl Quantiles {
    fn from_times(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        Self {
            p50: at(0.5),
            p95: at(0.95),
        }
    }

    fn json(self) -> Value {
        json!({ "p50": self.p50, "p95": self.p95 })
    }

    fn cells(self) -> [String; 2] {
        [self.p50, self.p95].map(|it| format!("{it:.2}"))
    }
}

fn print(rows: &[Row], as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let rows = rows.iter().map(|row| {
            let (direct, proxied, added) = (row.direct.json(), row.proxied.json(), row.added.json());
            json!({ "requests": row.name, "direct_ms": direct, "proxied_ms": proxied, "added_ms": added })
        });
        let rows: Vec<Value> = rows.collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    let head = [
        "ms to the first event",
        "direct p50",
        "p95",
        "through p50",
        "p95",
        "added p50",
        "p95",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for row in rows {
        let figures = [row.direct, row.proxied, row.added].map(Quantiles::cells);
        let name = vec![row.name.to_owned()];
        lines.push([name, figures.concat()].concat());
    }
    table::print(&lines);
    Ok(())
}

/// Answers every request with one event as soon as it arrives. Returns the address.
fn start_vendor() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("listening as the vendor")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    Ok(format!("http://{address}"))
}

/// Ends when the other side does.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    loop {
        let length = read_head(&mut reader)?;
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        reader.get_mut().write_all(ANSWER.as_bytes())?;
    }
}

/// Returns the length of the body.
fn read_head(reader: &mut impl BufRead) -> std::io::Result<u64> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return Ok(length);
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
}

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 25\r\n\r\n\
                      data: {\"type\": \"ping\"} \n\n";
