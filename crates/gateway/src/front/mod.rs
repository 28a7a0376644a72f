//! The endpoints: MCP over stdio and streamable HTTP, for clients of both eras.
//!
//! # Layout
//! - `mcp`: passes each request, whichever endpoint it came through, to the part that answers it
//! - `http`, `stdio`: the two endpoints; `listener` opens the first, `auth` and `guard` check its
//!   callers, `body` reads what they send, `admitted` answers them
//! - `connections`: the limits of connections; `patient`: the time that a client may take;
//!   `outgoing`: an answer in pieces
//! - `modern`: what every modern request says about itself; `headers`: what HTTP repeats of it
//! - `hello`: the answers to `initialize` and `server/discover`
//! - `lists`: the merged lists, page by page
//! - `subscriptions`: which client is told of which changes; `tasks`: whose tasks are listed
//! - `retrieve`: the tools for an intent, for programs that assemble a context
//! - `context`: the words of a person, for the lists of the person's clients; `posted`: reads the
//!   JSON that is sent to these two
//! - `models`: requests to models, passed on to their vendors
//! - `metrics`: the figures of the meter, for Prometheus; `tokens`:
//!   for people
//! - `audit`: what happened; `feedback`: reports of agents
//! - `ready`: tells if the gateway can do its work now
//! - `response`: JSON or a stream of events, over HTTP; `work`: where an answer is worked out
//! - `crate::call::reply`: the form of every error on the wire; no other module gives errors a form

mod access_log;
pub mod announce;
pub(crate) mod announced_guides;
mod audit;
mod auth;
mod body;
mod browser_guard;
mod chunked_body;
pub(crate) mod completion;
mod connections;
mod context;
mod dispatch;
mod feedback;
pub(crate) mod guide;
mod handshake;
mod headers;
mod http;
pub(crate) mod in_flight;
mod json_post;
pub mod listener;
pub(crate) mod lists;
mod metrics;
mod models;
mod modern;
mod ready;
mod request_task;
mod response;
mod retrieve;
pub(crate) mod session;
pub mod stdio;
mod streamable_http;
mod subscriptions;
mod tasks;
mod timeout_stream;
pub(crate) mod tokens;
pub mod user_prompt;
