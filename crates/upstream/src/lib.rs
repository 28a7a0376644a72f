//! Connects to other people's servers, keeps them alive, lists and calls them.
//!
//! [`Upstreams`] holds one [`Server`] for each that is configured. A request goes out as an
//! [`OutboundRequest`] and comes back as an [`InFlightCall`], which yields the events on the way (progress, log
//! lines, questions to the client) and finally the answer. Params and results are raw JSON
//! throughout: the text of a server is handed on as it is.
//!
//! # Layout
//! - `spec`: how a server is reached, and within which limits
//! - `server`: its life: lazy start, restart, back-off, idle stop; `slots`: how many calls at once;
//!   `figures`: how busy it is
//! - `attempt`: launching or reaching it; `handshake`: greeting it; `connection`: a greeted server
//! - `exchange` with `call_clock`, `router`, `dialog`: one request; sorting the messages that come back; sending
//! - `connection_users`: the clients of a connection; `roots`: the roots of its only client
//! - `link`: the ways messages travel: `stdio` with `process`, `http`, `sse`, `inside`
//! - `send_queue`: the messages that wait to be sent; `body`: reading HTTP bodies up to a limit
//! - `child_mark`, `process_tree`: the processes of our servers, and which server they came from
//! - `listing`, `watch`: the lists of a server, and hearing of their changes; `listing_limits`: the
//!   part of a list that is taken in; `list_ages`: whether a list can be out of date; `concealed`:
//!   definitions without the secrets of their server
//! - `headers`: the headers that mirror a request
//! - `oauth`: logging in at remote servers; `remote`: the token on each request; `pause`: the wait
//!   that a server has asked for
//! - `log`, `logfile`: the output of a server, and the file that keeps it
//! - `recognise`, `cause`, `advice`: the known causes of failures, and the advice for them;
//!   [`programs`]: finding programs
//! - `brief`: failures for callers who do not run this gateway; `time`: durations in words
//! - `mask`: keeps secrets out of every log

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
mod recognise;
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
