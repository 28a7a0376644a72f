//! The end of a call, shared by all its steps.

use std::time::Duration;

use tokio::time::Instant;

use crate::fault::RequestFault;

#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    after: Duration,
}

impl Deadline {
    pub(super) fn after(after: Duration) -> Self {
        Self {
            at: Instant::now() + after,
            after,
        }
    }

    pub(super) fn remaining_time(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    pub(super) fn timeout_fault(&self) -> RequestFault {
        RequestFault::TimedOut { after: self.after }
    }

    pub(super) fn missed_deadline_reason(&self) -> String {
        format!("it did not end within {:?}", self.after)
    }

    pub(super) async fn within<T, E: From<RequestFault>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let done = tokio::time::timeout_at(self.at, work).await;
        done.unwrap_or_else(|_| Err(self.timeout_fault().into()))
    }
}
