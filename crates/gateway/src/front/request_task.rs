//! The work for one request, performed in the connection's task while the connection waits for it.
//!
//! Most requests are answered with one message. A task for each would cost a thread switch, so the
//! work becomes a task only if it continues afterwards: because its answer became a stream, or the
//! client disconnected.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::front::in_flight::OutgoingMessage;

pub(super) struct RequestTask(Option<BoxFuture<'static, ()>>);

impl RequestTask {
    pub(super) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }

    /// Returns the first message of the work, which continues on its own afterwards.
    pub(super) async fn first_message(
        mut self,
        messages: &mut mpsc::Receiver<OutgoingMessage>,
    ) -> Option<OutgoingMessage> {
        tokio::select! {
            biased;
            () = &mut self => messages.recv().await,
            first = messages.recv() => first,
        }
    }
}

impl Future for RequestTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.0 else {
            return Poll::Ready(());
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl Drop for RequestTask {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            tokio::spawn(work);
        }
    }
}
