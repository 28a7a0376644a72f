//! Listens for the notifications sent by triggers of the tables.
//!
//! A dead connection that was not closed brings no notifications and looks no different, so it is
//! pinged regularly. While it does not answer, nothing counts as received, and readers of the keys
//! go back to the table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{ChangeState, WatchedTable};
use crate::engine::postgres::{Postgres, connect_options};
use crate::engine::with_timeout;
use crate::{Error, store_error};

/// More often than once a second, the age at which cached keys are no longer trusted.
const PING_INTERVAL: Duration = Duration::from_millis(400);
/// A connection that has not answered for this long is replaced.
const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// Delays between attempts to connect: they start with the first and double up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);

const LISTEN: &str = "listen for changes";

pub(super) async fn follow_changes(postgres: Postgres, state: Arc<ChangeState>) {
    let mut hearing = ConnectionLog::default();
    let mut retry = FIRST_RETRY;
    loop {
        let connecting = with_timeout(PING_TIMEOUT, connect_listener(&postgres)).await;
        let error = match connecting {
            Ok(listener) => {
                retry = FIRST_RETRY;
                hearing.log_success();
                listen_until_error(listener, &state).await
            }
            Err(error) => error,
        };
        hearing.log_failure(&error);
        tokio::time::sleep(retry).await;
        retry = (retry * 2).min(LAST_RETRY);
    }
}

/// Logs once when changes are no longer received, and once when they are again.
#[derive(Debug, Default)]
struct ConnectionLog {
    failing: bool,
}

impl ConnectionLog {
    fn log_success(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::warn!("database changes are being received again");
        }
    }

    fn log_failure(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.failing, true) {
            let error: &dyn std::error::Error = error;
            tracing::warn!(error, "database changes are not being received; retrying");
        }
    }
}

/// Listens until the connection fails.
async fn listen_until_error(mut listener: PgListener, state: &ChangeState) -> Error {
    // Earlier changes were not received.
    state.count_all_changes();
    loop {
        if let Err(error) = check_and_receive(&mut listener, state).await {
            return error;
        }
    }
}

/// Checks that the connection works, and waits a little for the next change.
async fn check_and_receive(listener: &mut PgListener, state: &ChangeState) -> Result<(), Error> {
    let asked_at = Instant::now();
    with_timeout(PING_TIMEOUT, ping(listener)).await?;
    while let Some(notification) = listener.next_buffered() {
        count_notification(state, notification.payload());
    }
    state.set_current_at(asked_at);
    let next = tokio::time::timeout(PING_INTERVAL, listener.try_recv()).await;
    let Ok(next) = next else { return Ok(()) };
    let notification = next
        .map_err(store_error(LISTEN))?
        .ok_or_else(closed_error)?;
    count_notification(state, notification.payload());
    Ok(())
}

/// The listening connection is not in the pool, so it takes no connection from requests.
async fn connect_listener(postgres: &Postgres) -> Result<PgListener, Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(PING_TIMEOUT)
        .connect_lazy_with(connect_options(&postgres.address));
    let mut listener = PgListener::connect_with(&pool)
        .await
        .map_err(store_error(LISTEN))?;
    listener.eager_reconnect(false);
    let channel = format!("{}_changes", postgres.address.schema.as_str());
    listener
        .listen(&channel)
        .await
        .map_err(store_error(LISTEN))?;
    Ok(listener)
}

/// Notifications of earlier commits arrive before the answer.
async fn ping(listener: &mut PgListener) -> Result<(), Error> {
    let answer = listener.execute("SELECT 1").await;
    answer.map(drop).map_err(store_error(LISTEN))
}

fn count_notification(state: &ChangeState, table: &str) {
    if let Some(table) = WatchedTable::from_table_name(table) {
        state.count_change(table);
    }
}

fn closed_error() -> Error {
    let closed = std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    store_error(LISTEN)(sqlx::Error::Io(closed))
}
