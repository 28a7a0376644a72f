//! Writes server-sent events. (`sse-stream` reads them.)

use crate::message::Message;

/// Writes a message as one event. It has no line break, so one `data:` field is enough.
pub fn encode_event(message: &Message) -> Vec<u8> {
    [b"event: message\ndata: ", &*message.to_line(), b"\n\n"].concat()
}

/// Like [`encode_event`], with the id after which a client may resume.
pub fn encode_event_with_id(message: &Message, id: &str) -> Vec<u8> {
    let mut bytes = format!("id: {id}\n").into_bytes();
    bytes.extend_from_slice(&encode_event(message));
    bytes
}

/// A comment, because proxies and clients close connections that are silent for too long.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";
