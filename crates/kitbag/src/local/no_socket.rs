//! This system has no sockets with an owner, so every command works on its own.

use std::io;
use std::path::Path;

use super::Identity;

pub(super) type Stream = tokio::io::DuplexStream;

#[derive(Debug)]
pub(super) enum Socket {}

#[derive(Debug)]
#[expect(dead_code, reason = "no socket is ever claimed here")]
pub(super) enum Claim {
    Ours(Socket),
    Taken,
}

#[derive(Debug, thiserror::Error)]
#[error("this system has no local sockets that Kitbag can use: {0}")]
pub(super) struct SocketError(io::ErrorKind);

impl SocketError {
    pub(super) fn remedy(&self) -> String {
        "connect clients to the address it serves on".to_owned()
    }
}

pub(super) fn open(_identity: &Identity) -> Result<Claim, SocketError> {
    Err(SocketError(io::ErrorKind::Unsupported))
}

pub(super) async fn connect(_identity: &Identity) -> Result<Option<Stream>, SocketError> {
    Ok(None)
}

impl Socket {
    pub(super) async fn accept(&self) -> Result<Stream, SocketError> {
        match *self {}
    }

    pub(super) fn path(&self) -> &Path {
        match *self {}
    }
}
