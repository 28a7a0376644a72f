//! The doors: MCP over stdio and streamable HTTP, for clients of both eras.
//!
//! # Layout
//! - `mcp`: one request, whichever door it came through, to the part that answers it
//! - `http`, `stdio`: the two doors; `listener` opens the first, `auth` and `guard` stand at it
//! - `connections`: how many there may be; `patient`: how long a client may take; `outgoing`: an answer in pieces
//! - `modern`: what every modern request says about itself; `headers`: what HTTP repeats of it
//! - `hello`: the answers to `initialize` and `server/discover`
//! - `lists`: the merged lists, page by page
//! - `subscriptions`: who hears of which changes; `tasks`: whose tasks are listed
//! - `retrieve`: the tools for an intent, for those who assemble a context
//! - `metrics`: what the meter counted, for Prometheus, in the formats of `exposition`; `tokens`: for people
//! - `ready`: whether the gateway can do its work now
//! - `response`: JSON or a stream of events, over HTTP; `work`: where an answer is worked out
//! - `reply`: every error's face on the wire, and nothing else has any

mod access;
mod audit;
mod auth;
mod connections;
mod exposition;
mod guard;
mod headers;
mod hello;
mod http;
pub(crate) mod listener;
mod lists;
mod mcp;
mod metrics;
mod modern;
mod outgoing;
mod patient;
mod ready;
mod response;
mod retrieve;
pub(crate) mod stdio;
mod subscriptions;
mod tasks;
mod tokens;
mod work;

pub(crate) use self::subscriptions::forget as forget_subscriptions;
