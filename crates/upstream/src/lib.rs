//! Connects to other people's servers, keeps them alive, lists and calls them.
//!
//! [`Upstreams`] holds one [`Server`] per configured server. A request goes out as an
//! [`OutboundRequest`] and comes back as an [`InFlightCall`], which yields the events on the way
//! (progress, log lines, questions to the client) and finally the answer. Params and results are
//! raw JSON throughout: a server's text is forwarded unchanged.
//!
//! # Layout
//! - `spec`: connection settings and limits of a server
//! - `server`: lifecycle: lazy start, restart, back-off, idle stop; `slots`: concurrent calls;
//!   `server_figures`: load figures
//! - `connection_attempt`: launch or connect; `handshake`; `connection`: after the handshake
//! - `exchange` with `call_clock`, `router`, `dialog`: one request; incoming messages; sending
//! - `connection_users`: the clients of a connection; `roots`: the roots of its only client
//! - `link`: transports: `stdio` with `process`, `http`, `sse`, `built_in`
//! - `send_queue`: outgoing messages; `body`: HTTP bodies up to a limit
//! - `child_mark`, `process_tree`: processes of servers, and the server each came from
//! - `listing`, `watch`: a server's lists and their changes; `listing_limits`: limits on a list;
//!   `list_ages`: whether a list may be out of date; `secret_masking`: definitions without the
//!   secrets of their server
//! - `headers`: headers that mirror a request
//! - `oauth`: logins at remote servers; `remote`: the token on each request; `pause`: waits that a
//!   server requested
//! - `log`, `logfile`: a server's output, and its log file
//! - `recognize`, `cause`, `advice`: known causes of failures and their remedies;
//!   [`programs`]: finding programs
//! - `caller_errors`: errors for callers who do not run this gateway; `time`: formatting durations
//! - `mask`: masks secrets in every log

mod advice;
mod body;
mod built_in;
mod call_clock;
mod caller_errors;
mod cause;
mod child_mark;
mod connection;
mod connection_attempt;
mod connection_users;
mod dialog;
mod error;
mod exchange;
mod handshake;
mod headers;
mod http;
mod link;
mod list_ages;
mod listing;
mod listing_limits;
mod log;
mod logfile;
pub mod mask;
pub mod oauth;
mod pause;
mod process;
mod process_tree;
pub mod programs;
mod recognize;
mod remote;
mod roots;
mod router;
mod secret_masking;
mod send_queue;
mod server;
mod server_figures;
mod slots;
mod spec;
mod sse;
mod stdio;
mod time;
mod upstreams;
mod watch;

pub use built_in::{BuiltInError, BuiltInOpener};
pub use cause::{Cause, Diagnosis};
pub use error::{CallError, RestartOutcome, StartError};
pub use exchange::{
    AcceptsListing, Approval, CallEvent, ClientIdentity, ClientProfile, ClientQuestion,
    InFlightCall, LogLevel, OutboundRequest, RequestedLogs,
};
pub use listing::{Listing, ListingProblem};
pub use logfile::{LogFile, LogLine, LogStream};
pub use process::INHERITED;
pub use router::{Notice, NoticeKind};
pub use secret_masking::{HashDefinition, mask_json};
pub use server::{FindSecrets, Server};
pub use server_figures::ServerFigures;
pub use spec::{ServerKind, ServerLimits, ServerSpec};
pub use time::format_duration;
pub use upstreams::{UpstreamContext, Upstreams};
