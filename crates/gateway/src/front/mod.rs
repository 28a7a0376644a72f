//! The endpoints: MCP over stdio and streamable HTTP, for clients of both eras, and the HTTP APIs.
//!
//! # Layout
//! - `dispatch`: requests from all endpoints, by method
//! - `http`, `stdio`: the two endpoints; `listener`: connections; `auth`, `browser_guard`: checks of
//!   callers; `body`: request bodies; `streamable_http`: requests of admitted callers
//! - `connections`: connection limits; `timeout_stream`: timeouts; `chunked_body`: response bodies;
//!   `in_flight`: limits on each caller's load
//! - `modern`: metadata of modern requests; `headers`: HTTP headers that repeat it
//! - `handshake`: answers to `initialize` and `server/discover`; `guide`: the description of what
//!   the search finds
//! - `lists`: merged lists, page by page; `completion`: references of `completion/complete`
//! - `session`: legacy sessions; `subscriptions`, `announce`: change notifications; `tasks`:
//!   `tasks/list`
//! - `retrieve`: tool retrieval for programs; `context`, `user_prompt`: user prompts; `json_post`:
//!   their JSON bodies
//! - `models`: model requests, forwarded to their vendors
//! - `metrics`: figures for Prometheus; `tokens`: token costs
//! - `audit`: the audit; `feedback`: agents' reports; `access_log`: one line per HTTP request
//! - `page_access`: checks of requests for web pages; the pages themselves are part of the program
//! - `ready`: readiness probes
//! - `response`: JSON and event streams over HTTP; `request_task`: the work for a request
//! - `crate::call::reply`: the wire format of every error; no other module writes errors

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
pub mod page_access;
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
