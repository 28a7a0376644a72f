//! The guarded HTTP client, and following redirects with it.

use std::fmt;
use std::time::Duration;

use kitbag_fetch::guard;
use kitbag_fetch::{AddressGuard, describe_error};
use reqwest::{Client, Request, Response};

use crate::fault::{RequestFault, origin_of};
use crate::redirect;
use crate::request::PendingRequest;

/// APIs with a login page or a load balancer in front redirect once or twice.
const MAX_REDIRECTS: usize = 5;
/// The other side has often closed a connection that was idle for longer.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Connects only to addresses that a guard permits. Clones share their connections.
#[derive(Clone)]
pub struct GuardedClient {
    guard: AddressGuard,
    http: Client,
}

impl GuardedClient {
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            http: http_client(guard.clone()),
            guard,
        }
    }

    /// Sends the request, and follows redirects. `judge` approves each redirected request.
    pub(crate) async fn send_following_redirects<E: From<RequestFault>>(
        &self,
        mut request: PendingRequest,
        judge: &(dyn Fn(&PendingRequest) -> Result<(), E> + Send + Sync),
    ) -> Result<Response, E> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(request.build()?).await?;
            let Some(location) = redirect::redirect_location(&response)? else {
                return Ok(response);
            };
            request = redirect::redirected_request(request, response.status(), &location)?;
            judge(&request)?;
        }
        Err(RequestFault::TooManyRedirects { max: MAX_REDIRECTS }.into())
    }

    pub(crate) async fn send(&self, request: Request) -> Result<Response, RequestFault> {
        guard::check_literal(request.url(), &self.guard)?;
        let origin = origin_of(request.url());
        let sent = self.http.execute(request).await;
        sent.map_err(|error| match guard::find_refusal(&error) {
            Some(refused) => refused.clone().into(),
            None => RequestFault::Unreachable {
                origin,
                was_connected: !error.is_connect(),
                reason: describe_error(error),
            },
        })
    }
}

fn http_client(guard: AddressGuard) -> Client {
    kitbag_fetch::guarded_client(guard)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .build()
        .expect("the client is built from constants")
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardedClient")
    }
}
