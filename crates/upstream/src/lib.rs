//! How we connect to, keep alive, list and call other people's servers.
//!
//! [`Upstreams`] holds one [`Server`] for each that is configured. A request goes out as an
//! [`Outbound`] and comes back as an [`InFlight`], which yields what the server says on the
//! way (progress, log lines, questions to the client) and finally its answer. Params and
//! results are raw JSON throughout: what a server sends is handed on as it is.
//!
//! # Layout
//! - [`spec`]: how to reach a server, and within which limits
//! - [`server`]: its life: lazy start, restart, back-off, idle stop; [`places`]: how much at once;
//!   [`figures`]: how busy it is
//! - [`connection`]: a greeted server that takes requests; [`handshake`] is the greeting
//! - [`exchange`], [`router`], [`dialog`]: one request; sorting what comes back; sending
//! - [`users`]: whom a message concerns that names no request; [`roots`]: the roots of that client
//! - [`outgoing`]: what waits to be sent
//! - [`link`]: the ways messages travel: [`stdio`] with [`process`], [`http`], [`sse`], [`inside`]
//! - [`mark`], [`family`]: which processes are ours, and which server they came from
//! - [`listing`], [`watch`]: what a server offers, and hearing when that changes; [`listed`]: how much of
//!   it is taken in
//! - [`headers`]: what HTTP mirrors of a request
//! - [`oauth`]: logging in at remote servers; [`remote`]: the token on each request
//! - [`log`], [`logfile`]: what it says on stderr, and where that is kept
//! - [`recognise`], [`cause`], [`remedy`]: what that means, and what helps; [`programs`]: where those are
//! - [`brief`]: what callers are told of a failure who do not run this gateway; [`time`]: durations in words
//! - [`mask`]: keeps secrets out of every log

mod body;
mod brief;
mod cause;
mod connection;
mod dialog;
mod error;
mod exchange;
mod family;
mod figures;
mod given;
mod handshake;
mod headers;
mod http;
mod inside;
mod link;
mod listed;
mod listing;
mod log;
mod logfile;
mod mark;
pub mod mask;
pub mod oauth;
mod outgoing;
mod places;
mod process;
pub mod programs;
mod recognise;
mod remedy;
mod remote;
mod roots;
mod router;
mod server;
mod spec;
mod sse;
mod stdio;
mod time;
mod upstreams;
mod users;
mod watch;

pub use cause::{Cause, Diagnosis};
pub use error::{CallError, StartError};
pub use exchange::{Ask, ClientFace, Event, Identity, InFlight, LogLevel, Logs, Outbound};
pub use figures::ServerFigures;
pub use given::Given;
pub use inside::{NotOpened, Opener};
pub use listing::{Listing, Problem};
pub use logfile::{LogFile, LogLine, LogStream};
pub use process::INHERITED;
pub use router::{Notice, NoticeKind};
pub use server::Server;
pub use spec::{ServerKind, ServerLimits, ServerSpec};
pub use time::in_words;
pub use upstreams::{Outside, Upstreams};
