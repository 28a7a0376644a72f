//! Server-sent events, read as a stream: an answer ends with its last event, even if the connection
//! stays open.

use std::io;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, future};
use kitbag_fetch::describe_error;
use kitbag_tool_spec::AnswerRule;
use kitbag_wire::raw;
use reqwest::Response;
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};

use super::shape::keep_members;
use super::{ActionAnswer, AnswerPart};
use crate::action::deadline::Deadline;
use crate::received_response::content_type;

/// The events received.
#[derive(Debug)]
pub(crate) struct EventAnswer {
    status: u16,
    data: Vec<String>,
    /// True if one of them reports an error.
    failed: bool,
    /// The reason why the answer may be incomplete.
    cut: Option<String>,
}

pub(crate) fn has_events(response: &Response) -> bool {
    let kind = content_type(response.headers()).unwrap_or_default();
    response.status().is_success() && kind.starts_with("text/event-stream")
}

/// Reads until the last event, the end of the connection, or a limit.
pub(crate) async fn read_events(
    response: Response,
    max_bytes: usize,
    deadline: Deadline,
) -> EventAnswer {
    let mut read = EventAnswer {
        status: response.status().as_u16(),
        data: Vec::new(),
        failed: false,
        cut: None,
    };
    let mut events = SseByteStream::new(Box::pin(limit_bytes(response, max_bytes)));
    loop {
        let Ok(next) = tokio::time::timeout_at(deadline.at, events.next()).await else {
            read.cut = Some(deadline.missed_deadline_reason());
            return read;
        };
        match next {
            None => return read,
            Some(Ok(event)) => {
                if read.add_event(event) {
                    return read;
                }
            }
            Some(Err(error)) => {
                read.cut = Some(kitbag_fetch::root_cause(&error));
                return read;
            }
        }
    }
}

fn limit_bytes(
    response: Response,
    max_bytes: usize,
) -> impl Stream<Item = Result<Bytes, io::Error>> {
    response.bytes_stream().scan(0, move |read, chunk| {
        future::ready(Some(count_chunk(read, chunk, max_bytes)))
    })
}

fn count_chunk(
    read: &mut usize,
    chunk: Result<Bytes, reqwest::Error>,
    max_bytes: usize,
) -> Result<Bytes, io::Error> {
    let chunk = chunk.map_err(|error| io::Error::other(describe_error(error)))?;
    *read += chunk.len();
    match *read > max_bytes {
        true => Err(io::Error::other(format!("more than {max_bytes} bytes"))),
        false => Ok(chunk),
    }
}

/// Names of events after which no other follows.
const LAST_EVENTS: [&str; 8] = [
    "close",
    "complete",
    "done",
    "end",
    "message_stop",
    "response.completed",
    "response.failed",
    "response.incomplete",
];
/// The data of the last event of chat completions.
const LAST_DATA: &str = "[DONE]";

impl EventAnswer {
    /// Adds an event; returns true if it is the last one.
    fn add_event(&mut self, event: Sse) -> bool {
        let data = event.data.unwrap_or_default();
        if data == LAST_DATA {
            return true;
        }
        let name = event.event.unwrap_or_default();
        self.failed |= name == "error";
        if !data.is_empty() {
            self.data.push(data);
        }
        LAST_EVENTS.contains(&name.as_str())
    }

    /// Joins the events: into one text if the picked part of each is text, or else into a list.
    pub(super) fn into_answer(self, rule: &AnswerRule) -> ActionAnswer {
        let events = self.data.iter().map(|data| parse_data(data));
        let picked: Vec<Value> = events
            .filter_map(|event| {
                rule.pick
                    .find(&event)
                    .map(|part| keep_members(&rule.keep, part))
            })
            .collect();
        let texts: Option<String> = picked.iter().map(Value::as_str).collect();
        let part = match texts {
            Some(text) => AnswerPart::Text(text),
            None => AnswerPart::Json(raw(&picked)),
        };
        ActionAnswer {
            is_error: self.failed,
            incomplete: self.cut,
            ..ActionAnswer::new(self.status, vec![part])
        }
    }
}

fn parse_data(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()))
}
