//! Server-sent events, written. (Reading them is `sse-stream`'s work.)

use crate::message::Message;

/// One message as one event. The line never contains a line break, so one `data:` is enough.
pub fn event(message: &Message) -> Vec<u8> {
    let line = message.to_line();
    let mut event = Vec::with_capacity(line.len() + 24);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(&line);
    event.extend_from_slice(b"\n\n");
    event
}

/// Like [`event`], with the id a client may resume after.
pub fn event_with_id(message: &Message, id: &str) -> Vec<u8> {
    let mut bytes = format!("id: {id}\n").into_bytes();
    bytes.extend_from_slice(&event(message));
    bytes
}

/// A comment, which keeps a quiet connection from being taken for a dead one.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
