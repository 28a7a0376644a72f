//! A client on stdin and stdout, passed on to the gateway that runs.

use std::cell::Cell;
use std::future::pending;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::joined::Joined;

/// The way in which passing on came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// The client closed its side, and has all answers.
    ByClient,
    /// The gateway ended before the client had said anything, so that another can take over.
    Unused,
    /// The gateway ended while the client was using it.
    ByGateway,
}

#[derive(Debug, thiserror::Error)]
#[error("the gateway that this client had joined has ended")]
pub(crate) struct GatewayEnded;

impl GatewayEnded {
    pub(crate) const REMEDY: &str = "start it again in the client (most do so by themselves); it joins the next gateway, or runs on its own";
}

/// The size is as much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// Passes on in both directions, each without waiting for the other, until one side ends.
pub(crate) async fn relay(
    joined: Joined,
    input: &mut (impl AsyncRead + Unpin),
    output: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<RelayEnd> {
    let Joined {
        reader: from_gateway,
        writer: to_gateway,
    } = joined;
    let client = Cell::new(ClientState::Silent);
    tokio::select! {
        heard = hear(from_gateway, output) => heard?,
        spoken = speak(input, to_gateway, &client) => spoken?,
    }
    Ok(match client.get() {
        ClientState::Silent => RelayEnd::Unused,
        ClientState::Speaking => RelayEnd::ByGateway,
        ClientState::Done => RelayEnd::ByClient,
    })
}

#[derive(Clone, Copy)]
enum ClientState {
    Silent,
    Speaking,
    Done,
}

/// Passes what the client says to the gateway. Comes back only if stdin cannot be read.
async fn speak(
    input: &mut (impl AsyncRead + Unpin),
    mut to_gateway: impl AsyncWrite + Unpin,
    client: &Cell<ClientState>,
) -> std::io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = input.read(&mut piece).await?;
        if length == 0 {
            break;
        }
        client.set(ClientState::Speaking);
        if to_gateway.write_all(&piece[..length]).await.is_err() {
            // The other direction tells that the gateway is gone.
            return pending().await;
        }
    }
    client.set(ClientState::Done);
    let _gone = to_gateway.shutdown().await;
    pending().await
}

/// Passes what the gateway says to the client, until the gateway closes.
async fn hear(
    mut from_gateway: impl AsyncRead + Unpin,
    output: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    let mut piece = vec![0; PIECE];
    // A gateway that was killed resets the connection instead of closing it.
    while let Ok(length @ 1..) = from_gateway.read(&mut piece).await {
        output.write_all(&piece[..length]).await?;
        output.flush().await?;
    }
    Ok(())
}
