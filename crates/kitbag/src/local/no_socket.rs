//! Replaces `socket` on systems where sockets have no owner: every command opens its own gateway.

use std::io;
use std::path::Path;

use super::{Identity, SocketClaim};

pub(super) use self::{NoSocket as Socket, SocketUnsupported as SocketError};
pub(super) use tokio::io::DuplexStream as Stream;

#[derive(Debug)]
pub(super) enum NoSocket {}

#[derive(Debug, thiserror::Error)]
#[error("this system has no local sockets that Kitbag can use: {0}")]
pub(super) struct SocketUnsupported(io::ErrorKind);

impl SocketUnsupported {
    pub(super) fn remedy(&self) -> String {
        "connect clients to the address that the gateway serves on".to_owned()
    }
}

pub(super) fn open(_identity: &Identity) -> Result<SocketClaim, SocketUnsupported> {
    Err(SocketUnsupported(io::ErrorKind::Unsupported))
}

pub(super) async fn connect(_identity: &Identity) -> Result<Option<Stream>, SocketUnsupported> {
    Ok(None)
}

impl NoSocket {
    pub(super) async fn accept(&self) -> Result<Stream, SocketUnsupported> {
        match *self {}
    }

    pub(super) fn path(&self) -> &Path {
        match *self {}
    }
}
