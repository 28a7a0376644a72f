//! Warns the operator when the audit cannot be written, and reports when it can be written again.

use std::time::Duration;

use tokio::time::Instant;

use super::queue::AuditQueue;
use crate::Error;

/// The time between two log lines about lasting losses and failures.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Logs trouble at once, and then every [`LOG_EVERY`].
#[derive(Debug, Default)]
pub(super) struct TroubleLog {
    logged_at: Option<Instant>,
    lost_logged: u64,
    failing: bool,
}

impl TroubleLog {
    pub(super) fn report_failure(&mut self, queue: &AuditQueue, error: &Error) {
        if !self.failing || self.is_log_due() {
            self.log_failure(queue, error);
        }
        self.failing = true;
    }

    pub(super) fn report_success(&mut self, queue: &AuditQueue) {
        let lost = queue.lost_count();
        if lost > self.lost_logged && (self.failing || self.is_log_due()) {
            self.log_losses(lost);
        }
        if std::mem::take(&mut self.failing) {
            tracing::warn!("the audit can be written again");
            self.logged_at = None;
        }
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failing
    }

    fn log_failure(&mut self, queue: &AuditQueue, error: &Error) {
        let error: &dyn std::error::Error = error;
        let (waiting, lost) = (queue.len(), queue.lost_count());
        tracing::error!(
            error,
            waiting,
            lost,
            "the audit cannot be written; retrying"
        );
        self.mark_logged(lost);
    }

    fn log_losses(&mut self, lost: u64) {
        tracing::error!(lost, "audit records were lost because the queue was full");
        self.mark_logged(lost);
    }

    fn mark_logged(&mut self, lost: u64) {
        (self.logged_at, self.lost_logged) = (Some(Instant::now()), lost);
    }

    fn is_log_due(&self) -> bool {
        self.logged_at.is_none_or(|at| at.elapsed() >= LOG_EVERY)
    }
}
