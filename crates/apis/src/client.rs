//! The guarded HTTP client of one API, and following redirects with it.

use std::time::Duration;

use kitbag_fetch::guard::{self, GuardedResolver};
use kitbag_fetch::{AddressGuard, cause};
use reqwest::{Client, Request, Response};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::fault::{RequestFault, origin};
use crate::redirect;
use crate::request::PendingRequest;

/// APIs with a login page or a load balancer in front redirect once or twice.
const MAX_REDIRECTS: usize = 5;
/// The calls that one API may have at once; others wait until their time is up.
const MAX_CONCURRENT: usize = 64;
/// A connection that was idle for longer is often closed by the other side already.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct GuardedClient {
    guard: AddressGuard,
    http: Client,
    slots: Semaphore,
}

impl GuardedClient {
    pub(crate) fn new(guard: AddressGuard) -> Self {
        Self {
            http: http_client(GuardedResolver(guard.clone())),
            guard,
            slots: Semaphore::new(MAX_CONCURRENT),
        }
    }

    /// Waits for a place among the calls that the API may have at once.
    pub(crate) async fn slot(&self) -> SemaphorePermit<'_> {
        let slot = self.slots.acquire().await;
        slot.expect("the semaphore is never closed")
    }

    /// Sends the request, and the requests that redirects make of it. `judge` is asked about each of those.
    pub(crate) async fn follow<E: From<RequestFault>>(
        &self,
        mut request: PendingRequest,
        judge: &(dyn Fn(&PendingRequest) -> Result<(), E> + Send + Sync),
    ) -> Result<Response, E> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(request.build()?).await?;
            let Some(location) = redirect::location(&response)? else {
                return Ok(response);
            };
            request = redirect::next(request, response.status(), &location)?;
            judge(&request)?;
        }
        Err(RequestFault::TooManyRedirects { max: MAX_REDIRECTS }.into())
    }

    pub(crate) async fn send(&self, request: Request) -> Result<Response, RequestFault> {
        guard::check_literal(request.url(), &self.guard)?;
        let origin = origin(request.url());
        let sent = self.http.execute(request).await;
        sent.map_err(|error| match guard::refusal(&error) {
            Some(refused) => refused.clone().into(),
            None => RequestFault::Unreachable {
                origin,
                reason: cause(error),
            },
        })
    }
}

/// The client uses no proxy, because a proxy would resolve names where the guard does not see it. It
/// follows no redirects, because each must be judged.
fn http_client(resolver: GuardedResolver) -> Client {
    kitbag_fetch::client_without_redirects()
        .no_proxy()
        .dns_resolver(resolver)
        .referer(false)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .build()
        .expect("the client is built from constants")
}
