//! Server-sent events, written. (Reading them is `sse-stream`'s work.)

use crate::message::Message;

/// Writes one message as one event. The line has no line break, so one `data:` is enough.
pub fn event(message: &Message) -> Vec<u8> {
    [b"event: message\ndata: ", &*message.to_line(), b"\n\n"].concat()
}

/// Like [`event`], with the id after which a client may resume.
pub fn event_with_id(message: &Message, id: &str) -> Vec<u8> {
    let mut bytes = format!("id: {id}\n").into_bytes();
    bytes.extend_from_slice(&event(message));
    bytes
}

/// A comment. Proxies and clients close a connection that stays quiet for too long.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
