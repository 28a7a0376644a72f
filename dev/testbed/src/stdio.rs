//! One client over stdin and stdout, a message per line.

use std::sync::Arc;
use std::time::Duration;

use kitbag_wire::meta::method;
use kitbag_wire::{Message, Request};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;

use crate::cli::Misbehaviour;
use crate::connected_client::ConnectedClient;
use crate::dispatch::{self, Started};
use crate::hostile::Flood;
use crate::misbehaviour::noise_lines;
use crate::outbox::{Outbox, OutboxItem};
use crate::server::TestServer;

pub(crate) async fn serve(server: Arc<TestServer>) -> std::io::Result<()> {
    let (outbox, outgoing) = Outbox::channel();
    let writer = tokio::spawn(write(
        outgoing,
        server.has(Misbehaviour::Noise),
        Flood::from_server(&server),
    ));
    let peer = Arc::new(ConnectedClient::new(outbox));
    let running = read(&server, &peer).await?;
    peer.cancel_all();
    if let Some(greeting) = peer.handshake() {
        server.listeners.remove(greeting.listener);
    }
    if server.has(Misbehaviour::IgnoreStdinClose) {
        std::future::pending::<()>().await;
    }
    finish(running, peer, writer).await;
    Ok(())
}

/// How long unfinished answers may take once stdin has closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

async fn read(
    server: &Arc<TestServer>,
    peer: &Arc<ConnectedClient>,
) -> std::io::Result<Vec<JoinHandle<()>>> {
    let mut lines = BufReader::new(stdin()).split(b'\n');
    let mut running = Vec::new();
    while let Some(line) = lines.next_segment().await? {
        if line.trim_ascii().is_empty() {
            continue;
        }
        running.retain(|task: &JoinHandle<()>| !task.is_finished());
        match Message::parse(&line) {
            Ok(message) => running.extend(receive(server, peer, message).await),
            Err(why) => peer.general.send(dispatch::malformed_response(&why)),
        }
    }
    Ok(running)
}

/// Returns the task that serves the message, if it is not done yet.
async fn receive(
    server: &Arc<TestServer>,
    peer: &Arc<ConnectedClient>,
    message: Message,
) -> Option<JoinHandle<()>> {
    if server.has(Misbehaviour::FloodPings) && is_greeted(&message) {
        flood_pings().await;
    }
    let greets = greets(&message);
    let Started { done, .. } = dispatch::receive(server, peer, message)?;
    // A hasty client may send requests right after `initialize`; they need an open session.
    if greets && !server.has(Misbehaviour::Hang) {
        let _ = done.await;
        return None;
    }
    Some(done)
}

fn greets(message: &Message) -> bool {
    matches!(message, Message::Request(it) if it.method == method::INITIALIZE)
}

fn is_greeted(message: &Message) -> bool {
    matches!(message, Message::Notification(it) if it.method == method::INITIALIZED)
}

/// Sends endless pings. Their ids are long, so that every answer is long as well.
async fn flood_pings() {
    let mut out = stdout();
    for number in 0_u64.. {
        let id = format!("{number}-{}", "x".repeat(4000));
        let mut line = Message::from(Request::new(id.as_str(), method::PING, None)).to_line();
        line.push(b'\n');
        if out.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn write(mut outgoing: UnboundedReceiver<OutboxItem>, noisy: bool, flood: Option<Flood>) {
    let mut out = stdout();
    if noisy && out.write_all(noise_lines().as_bytes()).await.is_err() {
        return;
    }
    while let Some(next) = outgoing.recv().await {
        let OutboxItem::Message(message) = next else {
            continue;
        };
        let mut bytes = message.to_line();
        bytes.push(b'\n');
        if noisy {
            bytes.extend_from_slice(noise_lines().as_bytes());
        }
        if out.write_all(&bytes).await.is_err() || out.flush().await.is_err() {
            return;
        }
        if let Some(flood) = flood {
            // It ends when the client has closed stdout.
            let _ = flood.run(&mut out, &mut outgoing).await;
            return;
        }
    }
}

async fn finish(running: Vec<JoinHandle<()>>, peer: Arc<ConnectedClient>, writer: JoinHandle<()>) {
    let unfinished = async {
        for task in running {
            let _ = task.await;
        }
        drop(peer);
        let _ = writer.await;
    };
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, unfinished).await;
}
