//! JSON-RPC as MCP uses it: the envelope is parsed once, and the JSON inside it stays raw text.
//!
//! A gateway that decodes into types loses every member that the types do not name. Here `params`,
//! `result` and `data` keep their original text, so unknown members, the spelling of numbers and
//! the order of keys survive; [`RawObject`] opens one level of an object where the gateway has to
//! read or change a member.
//!
//! # Layout
//! - [`lines`]: one message per line, for stdio
//! - [`message`]: requests, notifications and responses; [`request_id`]: their ids
//! - [`envelope`]: parsing and writing messages
//! - [`object`]: one level of a JSON object, in order, values untouched
//! - [`meta`]: the names of methods, `_meta` keys and error codes
//! - [`mirror`]: the parts of a request that HTTP repeats in its headers
//! - [`nesting`]: the nesting limit of JSON
//! - [`version`]: protocol revisions and the two eras they fall into
//! - [`sse`]: writing server-sent events
//! - [`strings`]: replacing strings in JSON

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

pub use envelope::MalformedMessage;
pub use message::{ErrorObject, Message, Notification, Request, Response};
pub use nesting::{MAX_NESTING, is_too_deep};
pub use object::{Raw, RawObject, raw};
pub use request_id::RequestId;
pub use strings::{JsonString, replace_strings};
pub use version::{Era, ProtocolVersion};
