//! The local socket: one gateway for all clients and commands of one user.
//!
//! `kitbag serve` listens on a socket that only its own user can open. `kitbag serve --stdio` and
//! the verbs that need tools find it by the configuration that they would use themselves. They join
//! that gateway instead of starting every server once more.
//!
//! # Layout
//! - `identity`: identifies the gateway that serves a configuration
//! - `socket`: the socket's path, its lock, and the check of the user at the other end
//! - `protocol`: the messages
//! - `requests`: the requests of commands, with their answers; `suggestions` for unknown names
//! - `listener`, `serve_connection`: the gateway's end
//! - `gateway_connection`, `relay`: the other end, for a command and for a client on stdio

pub(crate) mod gateway_connection;
mod identity;
pub(crate) mod listener;
pub(crate) mod protocol;
pub(crate) mod relay;
pub(crate) mod requests;
mod serve_connection;
#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
#[path = "no_socket.rs"]
mod socket;
mod suggestions;

pub(crate) use self::identity::Identity;

#[derive(Debug)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "a system without sockets never claims one")
)]
enum SocketClaim {
    Ours(socket::Socket),
    /// Another gateway serves the same configuration.
    Taken,
}
