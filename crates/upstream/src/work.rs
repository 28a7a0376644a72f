//! Reading one answer: done by whoever waits for it, as long as somebody does.
//!
//! A task of its own for each request would cost a change of threads each way. It becomes one
//! only when whoever waited has something else to do.

use std::fmt;
use std::future::{pending, poll_fn};

use futures::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;

#[derive(Default)]
pub(crate) enum Work {
    /// There is none, or it is done.
    #[default]
    None,
    Here(BoxFuture<'static, ()>),
    Elsewhere(AbortOnDropHandle<()>),
}

impl Work {
    /// Does the work; comes back once, when it is done.
    pub(crate) async fn done(&mut self) {
        let Self::Here(work) = self else { return pending().await };
        poll_fn(|context| work.as_mut().poll(context)).await;
        *self = Self::None;
    }

    /// Goes on as a task, which still ends with the handle on the request.
    pub(crate) fn go_on_alone(&mut self) {
        *self = match std::mem::take(self) {
            Self::Here(work) => Self::Elsewhere(AbortOnDropHandle::new(tokio::spawn(work))),
            other => other,
        };
    }

    /// Goes on as a task if it is not done, and nothing ends it any more.
    pub(crate) fn let_go(&mut self) {
        self.go_on_alone();
        if let Self::Elsewhere(task) = std::mem::take(self) {
            task.detach();
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Here(_) => "Here",
            Self::Elsewhere(_) => "Elsewhere",
        })
    }
}
