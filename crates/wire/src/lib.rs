//! JSON-RPC as MCP uses it: the envelope is read once, and the JSON inside it stays raw text.
//!
//! A gateway that decodes into types loses every member that the types do not name. Here
//! `params`, `result` and `data` are kept as the text that arrived, so unknown members, the
//! spelling of numbers and the order of keys survive; [`RawObject`] opens one level of an object
//! for the few places where the gateway must read or change a member.
//!
//! # Layout
//! - [`lines`]: one message per line, as stdio has it
//! - [`message`]: requests, notifications and responses; [`request_id`]: their ids
//! - [`envelope`]: from bytes to a message, or the reason why the bytes are none; and back
//! - [`object`]: one level of a JSON object, in order, values untouched
//! - [`meta`]: the names of methods, `_meta` keys and error codes
//! - [`mirror`]: the parts of a request that HTTP repeats in its headers
//! - [`nesting`]: how deep JSON may be nested
//! - [`version`]: protocol revisions and the two eras they fall into
//! - [`sse`]: server-sent events, written
//! - [`strings`]: strings replaced in JSON that otherwise stays as it is

pub mod envelope;
pub mod lines;
pub mod message;
pub mod meta;
pub mod mirror;
pub mod nesting;
pub mod object;
pub mod request_id;
pub mod sse;
pub mod strings;
pub mod version;

pub use envelope::Malformed;
pub use message::{ErrorObject, Message, Notification, Request, Response};
pub use nesting::{MAX_NESTING, is_too_deep};
pub use object::{Raw, RawObject, raw};
pub use request_id::RequestId;
pub use strings::{JsonString, replace_strings};
pub use version::{Era, ProtocolVersion};
