//! One connection of a page, from the request for it to its end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kitbag_fetch::guard::{self, ResolveError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ProxyContext, Refusal};

/// Chromium's requests have a few hundred bytes.
const MAX_HEAD: usize = 8 * 1024;
/// A site that takes longer to accept a connection counts as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of TLS.
const HANDSHAKE: u8 = 0x16;

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connected\r\n\r\n";
const FORBIDDEN: &[u8] =
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub(super) async fn run_tunnel(mut client: TcpStream, context: Arc<ProxyContext>) {
    match connect_to_site(&mut client, &context).await {
        Ok(site) => {
            let _ = forward_tls(client, site, &context).await;
        }
        Err(refusal) => {
            context.log.add(refusal);
            let _ = client.write_all(FORBIDDEN).await;
        }
    }
}

/// Reads the requested site, and connects to it.
async fn connect_to_site(
    client: &mut TcpStream,
    context: &ProxyContext,
) -> Result<(TcpStream, String), Refusal> {
    let head = read_head(client).await.unwrap_or_default();
    let (host, port) = parse_connect(&head)?;
    let addresses = match guard::resolve(&host, port, &context.guard).await {
        Ok(addresses) => addresses,
        Err(error) => return Err(not_resolved(host, &error)),
    };
    match connect_to_any(&addresses).await {
        Ok(site) => Ok((site, host)),
        Err(error) => Err(Refusal {
            host,
            reason: error.to_string(),
            by_guard: false,
        }),
    }
}

fn not_resolved(host: String, error: &ResolveError) -> Refusal {
    Refusal {
        by_guard: matches!(error, ResolveError::Refused(_)),
        reason: error.to_string(),
        host,
    }
}

/// Returns the host and port of a `CONNECT`; anything else would not be encrypted.
fn parse_connect(head: &str) -> Result<(String, u16), Refusal> {
    let mut words = head.split_whitespace();
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    let authority = target
        .rsplit_once(':')
        .filter(|_| method == Some("CONNECT"));
    let parsed = authority.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parsed {
        Some((host, port)) => Ok((host.trim_matches(['[', ']']).to_owned(), port)),
        None => Err(unencrypted_refusal(host_of(target))),
    }
}

fn unencrypted_refusal(host: String) -> Refusal {
    Refusal {
        host,
        reason: "the request is not encrypted, but only https is allowed".to_owned(),
        by_guard: true,
    }
}

fn host_of(target: &str) -> String {
    let url = url::Url::parse(target).ok();
    let host = url.as_ref().and_then(url::Url::host_str);
    host.unwrap_or("something unknown").to_owned()
}

async fn read_head(client: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD {
        // A client sends nothing after the head before it gets an answer.
        if client.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn connect_to_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let connecting = TcpStream::connect(addresses);
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
    connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn forward_tls(
    mut client: TcpStream,
    (mut site, host): (TcpStream, String),
    context: &ProxyContext,
) -> io::Result<()> {
    client.write_all(CONNECTED).await?;
    let mut first = [0];
    client.peek(&mut first).await?;
    if first != [HANDSHAKE] {
        context.log.add(unencrypted_refusal(host));
        return Ok(());
    }
    let (from_client, to_client) = client.split();
    let (from_site, to_site) = site.split();
    tokio::try_join!(
        copy_limited(from_client, to_site, context),
        copy_limited(from_site, to_client, context)
    )?;
    Ok(())
}

/// Copies until the end, or until the page's byte limit.
async fn copy_limited(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    context: &ProxyContext,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        context.count_bytes(read as u64)?;
        to.write_all(&buffer[..read]).await?;
    }
}

impl ProxyContext {
    fn count_bytes(&self, bytes: u64) -> io::Result<()> {
        let spent = self
            .bytes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes)
            });
        spent
            .map(drop)
            .map_err(|_| io::ErrorKind::QuotaExceeded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connect_names_a_site() {
        for (head, expected) in [
            ("CONNECT a.example:443 HTTP/1.1\r\n\r\n", "a.example 443"),
            ("CONNECT [::1]:8443 HTTP/1.1\r\n\r\n", "::1 8443"),
            (
                "GET http://a.example/ HTTP/1.1\r\n\r\n",
                "a.example: the request",
            ),
            ("CONNECT a.example HTTP/1.1\r\n\r\n", "unknown: the request"),
            ("CONNECT a:99999 HTTP/1.1\r\n\r\n", "the request"),
            ("", "unknown: the request"),
        ] {
            let found = match parse_connect(head) {
                Ok((host, port)) => format!("{host} {port}"),
                Err(refusal) => format!("{}: {}", refusal.host, refusal.reason),
            };
            assert!(found.contains(expected), "{head}: {found}");
        }
    }
}
