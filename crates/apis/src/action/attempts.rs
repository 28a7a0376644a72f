//! Sending a request, and repeating it if that is safe.

use std::time::Duration;

use http::StatusCode;
use kitbag_fetch::retry_after;
use reqwest::Response;
use tokio::sync::SemaphorePermit;

use super::ActionFault;
use super::run::ActionRun;
use crate::fault::RequestFault;
use crate::pace::TooEarly;
use crate::request::PendingRequest;

/// A service that fails three times in a row is down.
const MAX_REPEATS: u32 = 2;
/// Doubled with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// An answer whose body has not been read yet, with its permit.
pub(super) struct ResponseWithPermit<'a> {
    pub(super) response: Response,
    pub(super) permit: SemaphorePermit<'a>,
}

impl<'a> ActionRun<'a> {
    pub(super) async fn send_with_retries(
        &self,
        request: PendingRequest,
    ) -> Result<ResponseWithPermit<'a>, ActionFault> {
        let mut repeats = 0;
        loop {
            let outcome = self.send_once(request.clone()).await;
            let pause = self.pause_after(&outcome, repeats);
            let Some(pause) = pause.filter(|pause| *pause < self.deadline.remaining_time()) else {
                return outcome;
            };
            drop(outcome);
            self.api.clock.wait(pause).await;
            repeats += 1;
        }
    }

    async fn send_once(
        &self,
        request: PendingRequest,
    ) -> Result<ResponseWithPermit<'a>, ActionFault> {
        self.wait_for_turn().await?;
        // Taken after the wait: a throttled tenant must not block others from the API.
        let permit = self.api.permits.acquire().await;
        let judge = |request: &PendingRequest| self.api.check_redirect(request);
        let response = self
            .api
            .client
            .send_following_redirects(request, &judge)
            .await?;
        let (owner, now) = (self.credential.owner(), self.api.clock.now());
        let paces = &self.api.paces;
        paces.record_limits(owner, now, response.status(), response.headers());
        Ok(ResponseWithPermit { response, permit })
    }

    /// Waits until the tenant's limits allow a request, if that is within the call's deadline.
    async fn wait_for_turn(&self) -> Result<(), ActionFault> {
        let (owner, now) = (self.credential.owner(), self.api.clock.now());
        let booked = self
            .api
            .paces
            .reserve(owner, now, self.deadline.remaining_time());
        let wait = booked.map_err(|TooEarly { wait }| ActionFault::RateLimited { wait })?;
        if !wait.is_zero() {
            self.api.clock.wait(wait).await;
        }
        Ok(())
    }

    /// Returns the pause before the request may be repeated; `None` if it must not be.
    fn pause_after(
        &self,
        outcome: &Result<ResponseWithPermit<'a>, ActionFault>,
        repeats: u32,
    ) -> Option<Duration> {
        if !self.action.repeatable || repeats >= MAX_REPEATS {
            return None;
        }
        match outcome {
            Ok(ResponseWithPermit { response, .. }) if is_transient(response.status()) => {
                let requested = retry_after(response.headers(), self.api.clock.now());
                Some(requested.unwrap_or_else(|| backoff(repeats)))
            }
            Err(ActionFault::Request(RequestFault::Unreachable { .. })) => Some(backoff(repeats)),
            _ => None,
        }
    }
}

fn is_transient(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    )
}

/// Between half and one and a half times the pause, so that callers that failed together do not
/// come back together.
fn backoff(repeats: u32) -> Duration {
    let random = getrandom::u32().unwrap_or(u32::MAX / 2);
    let share = 0.5 + f64::from(random) / f64::from(u32::MAX);
    (FIRST_PAUSE * 2_u32.pow(repeats)).mul_f64(share)
}
