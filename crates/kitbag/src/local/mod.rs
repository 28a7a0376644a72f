//! The local socket: one gateway for every client and every command of the same person.
//!
//! `kitbag serve` listens on a socket that only its own user can open. `kitbag serve --stdio` and
//! the verbs that need tools find it by the configuration they would use themselves, and join
//! instead of starting every server once more.
//!
//! # Layout
//! - `identity`: the identity of the gateway that a command means
//! - `socket`: the place of its socket, its user, and the gateway that answers there
//! - `protocol`: the messages on it
//! - `listener`, `connection`, `answer`: the gateway's end
//! - `offers`: the offers of servers, as a command lists, gets and reads them
//! - `joined`, `relay`: the other end, for a command and for a client on stdio

pub(crate) mod answer;
mod connection;
mod identity;
pub(crate) mod joined;
pub(crate) mod listener;
pub(crate) mod offers;
pub(crate) mod protocol;
pub(crate) mod relay;
#[cfg(unix)]
mod socket;
#[cfg(not(unix))]
#[path = "no_socket.rs"]
mod socket;

pub(crate) use self::identity::Identity;

/// The outcome of the attempt to listen.
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
