//! Relays a client on stdin and stdout to the running gateway.

use std::cell::Cell;
use std::future::pending;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::gateway_connection::GatewayConnection;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RelayEnd {
    /// The client closed its side and has all answers.
    ByClient,
    /// The gateway ended before the client sent anything, so another one can take over.
    Unused,
    /// The gateway ended after the client had sent something.
    ByGateway,
}

#[derive(Debug, thiserror::Error)]
#[error("the gateway that this client joined has ended")]
pub(crate) struct GatewayEnded;

impl GatewayEnded {
    pub(crate) const REMEDY: &str = "restart it in the client (most clients do so by themselves); it joins the next gateway or runs on its own";
}

/// The capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Relays both directions independently until one side ends.
pub(crate) async fn relay(
    connection: GatewayConnection,
    input: &mut (impl AsyncRead + Unpin),
    output: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<RelayEnd> {
    let GatewayConnection {
        reader: from_gateway,
        writer: to_gateway,
    } = connection;
    let client = Cell::new(ClientState::Silent);
    tokio::select! {
        relayed = relay_output(from_gateway, output) => relayed?,
        relayed = relay_input(input, to_gateway, &client) => relayed?,
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

/// Relays stdin to the gateway. Returns only if stdin cannot be read.
async fn relay_input(
    input: &mut (impl AsyncRead + Unpin),
    mut to_gateway: impl AsyncWrite + Unpin,
    client: &Cell<ClientState>,
) -> std::io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = input.read(&mut chunk).await?;
        if length == 0 {
            break;
        }
        client.set(ClientState::Speaking);
        if to_gateway.write_all(&chunk[..length]).await.is_err() {
            // The other direction detects that the gateway is gone.
            return pending().await;
        }
    }
    client.set(ClientState::Done);
    let _closed = to_gateway.shutdown().await;
    pending().await
}

/// Relays the gateway's messages to stdout until the gateway closes the connection.
async fn relay_output(
    mut from_gateway: impl AsyncRead + Unpin,
    output: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    // A killed gateway resets the connection instead of closing it.
    while let Ok(length @ 1..) = from_gateway.read(&mut chunk).await {
        output.write_all(&chunk[..length]).await?;
        output.flush().await?;
    }
    Ok(())
}
