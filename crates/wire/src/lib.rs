//! JSON-RPC as MCP uses it: the envelope is read once, what it carries stays raw.
//!
//! A gateway that decodes into types forgets whatever the types do not name. Here
//! `params`, `result` and `data` are kept as the very text that arrived, so unknown
//! fields, number spellings and key order survive the trip; [`RawObject`] opens one
//! level of an object for the few places where a bridge must look or change something.
//!
//! # Layout
//! - [`lines`]: one message per line, as stdio has it
//! - [`message`]: the envelope, from bytes and back
//! - [`object`]: one level of a JSON object, in order, values untouched
//! - [`meta`]: the `_meta` keys both halves of the gateway read and write
//! - [`mirror`]: what HTTP repeats of a request in its headers
//! - [`nesting`]: how deep JSON may be nested
//! - [`version`]: protocol revisions and the two eras they fall into
//! - [`sse`]: server-sent events, written

pub mod lines;
pub mod message;
pub mod meta;
pub mod mirror;
pub mod nesting;
pub mod object;
pub mod sse;
pub mod version;

pub use message::{ErrorObject, Malformed, Message, Notification, Request, RequestId, Response};
pub use nesting::{MAX_NESTING, is_too_deep};
pub use object::{Raw, RawObject, raw};
pub use version::{Era, ProtocolVersion};
