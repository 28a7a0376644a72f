//! Deliberate harm: endless lists, deep nesting, floods, one byte per second.

use std::io::Write as _;
use std::time::Duration;

use kitbag_wire::{Raw, RawObject};
use serde_json::value::RawValue;
use tokio::io::{AsyncWriteExt, Stdout};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::cli::Misbehaviour;
use crate::outbox::OutboxItem;
use crate::server::TestServer;

pub(crate) const DEEP_TOOL: &str = "deep";
const DEEP_LEVELS: usize = 100_000;
const TEMPLATES: usize = 100_000;
const TOOLS: usize = 1_000_000;
const TOOLS_A_PAGE: usize = 25_000;

/// Returns a tool with a nested answer, and one with a nested definition.
pub(crate) fn deep_definitions() -> [Raw; 2] {
    let schema = nested_arrays(DEEP_LEVELS);
    let called = format!(r#"{{"name":"{DEEP_TOOL}","inputSchema":{{"type":"object"}}}}"#);
    let defined = format!(
        r#"{{"name":"deep_definition","inputSchema":{{"type":"object","default":{schema}}}}}"#
    );
    [called, defined].map(json)
}

/// Answers with as many levels of nesting as the argument `levels` says.
pub(crate) fn deep_answer(call: &TestCall) -> CallOutcome {
    let levels = call.argument("levels").unwrap_or(DEEP_LEVELS);
    let answer = format!(
        r#"{{"content":[],"structuredContent":{{"x":{}}}}}"#,
        nested_arrays(levels)
    );
    Ok(Reply::Verbatim(json(answer)))
}

fn nested_arrays(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

pub(crate) fn many_templates() -> CallOutcome {
    let templates: Vec<_> = (0..TEMPLATES)
        .map(|number| format!(r#"{{"uriTemplate":"mem://{number}/{{x}}","name":"t{number}"}}"#))
        .collect();
    Ok(Reply::Verbatim(json(format!(
        r#"{{"resourceTemplates":[{}]}}"#,
        templates.join(",")
    ))))
}

/// Answers with one page; the cursor is the number of its first tool.
pub(crate) fn many_tools(call: &TestCall) -> CallOutcome {
    let from = match call.params.get("cursor") {
        Some(_) => call
            .params
            .read::<usize>("cursor")
            .ok_or_else(|| invalid("unknown cursor"))?,
        None => 0,
    };
    let end = TOOLS.min(from + TOOLS_A_PAGE);
    let tools: Vec<_> = (from..end)
        .map(|number| format!(r#"{{"name":"tool{number}","inputSchema":{{"type":"object"}}}}"#))
        .collect();
    let page = RawObject::new().with("tools", &json(format!("[{}]", tools.join(","))));
    Ok(Reply::Object(if end < TOOLS {
        page.with("nextCursor", &end)
    } else {
        page
    }))
}

/// The flood on stdout after the handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flood {
    /// One endless line.
    Line,
    /// Unsolicited messages between the answers.
    Messages,
    /// The answers, one byte per second.
    Drip,
}

impl Flood {
    pub(crate) fn from_server(server: &TestServer) -> Option<Self> {
        let kinds = [
            (Misbehaviour::EndlessLine, Self::Line),
            (Misbehaviour::MessageFlood, Self::Messages),
            (Misbehaviour::SlowBytes, Self::Drip),
        ];
        kinds
            .into_iter()
            .find(|(misbehaviour, _)| server.has(*misbehaviour))
            .map(|(_, flood)| flood)
    }

    pub(crate) async fn run(
        self,
        out: &mut Stdout,
        outgoing: &mut UnboundedReceiver<OutboxItem>,
    ) -> std::io::Result<()> {
        match self {
            Self::Line => loop {
                out.write_all(&[b'x'; 64 * 1024]).await?;
            },
            Self::Messages => loop {
                while let Ok(next) = outgoing.try_recv() {
                    out.write_all(&line(next)).await?;
                }
                out.write_all(UNASKED.repeat(100).as_bytes()).await?;
            },
            Self::Drip => {
                while let Some(next) = outgoing.recv().await {
                    for byte in line(next) {
                        out.write_all(&[byte]).await?;
                        out.flush().await?;
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Fills stderr as fast as it is read, with and without line breaks.
pub(crate) fn flood_stderr() {
    std::thread::spawn(|| {
        let text = "noise ".repeat(1000);
        let mut stderr = std::io::stderr();
        let mut number = 0_u64;
        loop {
            let end = if number.is_multiple_of(100) { "\n" } else { "" };
            if write!(stderr, "{text}{end}").is_err() {
                return;
            }
            number += 1;
        }
    });
}

/// Messages without a request: a log line, a change, a progress, an answer and a question.
const UNASKED: &str = concat!(
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"flood"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody","progress":1}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"nobody","result":{"content":[]}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":"who","method":"elicitation/create","params":{"message":"flood"}}"#,
    "\n",
);

fn line(next: OutboxItem) -> Vec<u8> {
    let OutboxItem::Message(message) = next else {
        return Vec::new();
    };
    let mut line = message.to_line();
    line.push(b'\n');
    line
}

fn json(text: String) -> Raw {
    RawValue::from_string(text).expect("it is JSON")
}
