//! Disconnects a slow client: one that does not finish a request's head, or stops reading.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::connections::ConnectionGuard;

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionTimeouts {
    /// How long the head of a request may take from its first byte. For the first request the time
    /// starts when the connection opens.
    pub(super) head: Duration,
    /// How long a client may stop reading an answer before the connection is closed.
    pub(super) reader: Duration,
}

impl ConnectionTimeouts {
    /// A head is a few hundred bytes; a client may be busy for a while before it continues reading.
    pub(super) const DEFAULT: Self = Self {
        head: Duration::from_secs(10),
        reader: Duration::from_secs(30),
    };
}

pub(super) struct TimeoutStream<S> {
    stream: S,
    admitted: Arc<ConnectionGuard>,
    /// The number of requests when the head timeout was last checked.
    request_count: usize,
    head: Timer,
    reader: Timer,
}

/// A timer that runs only while it is set.
struct Timer {
    after: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(
        stream: S,
        admitted: Arc<ConnectionGuard>,
        timeouts: ConnectionTimeouts,
    ) -> Self {
        let mut head = Timer::new(timeouts.head);
        head.start();
        Self {
            stream,
            admitted,
            request_count: 0,
            head,
            reader: Timer::new(timeouts.reader),
        }
    }

    /// Returns the result of a write. A stalled write becomes an error after a while.
    fn check_write<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.reader.stop();
            return written;
        }
        self.reader.start();
        self.reader
            .poll_expired(context, "the client stopped reading")
    }
}

impl Timer {
    fn new(after: Duration) -> Self {
        Self { after, sleep: None }
    }

    fn start(&mut self) {
        let after = self.after;
        self.sleep.get_or_insert_with(|| Box::pin(sleep(after)));
    }

    fn stop(&mut self) {
        self.sleep = None;
    }

    /// Returns `Pending` until the timer expires, then an error.
    fn poll_expired<T>(&mut self, context: &mut Context<'_>, why: &str) -> Poll<io::Result<T>> {
        let Some(sleep) = &mut self.sleep else {
            return Poll::Pending;
        };
        // A timer set for a task that has since moved may have fired without effect.
        if sleep.deadline() > Instant::now() {
            ready!(sleep.as_mut().poll(context));
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why.to_owned())))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let request_count = this.admitted.request_count();
        if request_count != this.request_count {
            this.request_count = request_count;
            this.head.stop();
        }
        if this.admitted.is_serving() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Pending => this
                .head
                .poll_expired(context, "timed out while reading the request head"),
            Poll::Ready(read) => {
                if buffer.filled().len() > before {
                    this.head.start();
                }
                Poll::Ready(read)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_write(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check_write(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_pending() {
            self.check_write(flushed, context)
        } else {
            flushed
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::super::connections::Connections;
    use super::*;

    const SHORT: ConnectionTimeouts = ConnectionTimeouts {
        head: Duration::from_millis(200),
        reader: Duration::from_millis(300),
    };
    const PART: Duration = Duration::from_millis(50);

    fn stream_pair() -> (
        TimeoutStream<DuplexStream>,
        DuplexStream,
        Arc<ConnectionGuard>,
    ) {
        let (server, client) = duplex(1024);
        let admitted = Connections::with_file_limit(100)
            .admit_connection(IpAddr::V4(Ipv4Addr::LOCALHOST))
            .unwrap();
        (
            TimeoutStream::new(server, admitted.clone(), SHORT),
            client,
            admitted,
        )
    }

    #[tokio::test]
    async fn a_slow_head_does_not_get_more_time_for_each_byte() {
        let (mut server, mut client, _admitted) = stream_pair();
        let dripping = tokio::spawn(async move {
            while client.write_all(b"x").await.is_ok() {
                sleep(PART).await;
            }
        });
        let mut received = Vec::new();
        assert_eq!(
            server.read_to_end(&mut received).await.unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        drop(server);
        dripping.await.unwrap();
    }

    #[tokio::test]
    async fn an_idle_connection_between_requests_does_not_time_out() {
        let (mut server, mut client, admitted) = stream_pair();
        client.write_all(b"request").await.unwrap();
        let mut buffer = [0; 7];
        server.read_exact(&mut buffer).await.unwrap();
        drop(admitted.begin_request());
        let resting = tokio::spawn(async move { server.read(&mut [0; 7]).await });
        sleep(SHORT.head * 3).await;
        client.write_all(b"another").await.unwrap();
        assert_eq!(resting.await.unwrap().unwrap(), 7);
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_closed_and_a_slow_reader_is_not() {
        let (mut server, mut client, _admitted) = stream_pair();
        let reading = tokio::spawn(async move {
            for _ in 0..8 {
                sleep(PART).await;
                client.read_exact(&mut [0; 512]).await.unwrap();
            }
            client
        });
        server.write_all(&[0; 5 * 1024]).await.unwrap();
        let _silent = reading.await.unwrap();
        let started = Instant::now();
        assert_eq!(
            server.write_all(&[0; 1024]).await.unwrap_err().kind(),
            io::ErrorKind::TimedOut
        );
        assert!(started.elapsed() >= SHORT.reader);
    }
}
