//! Listens for the notifications that the triggers of the tables send.
//!
//! A connection that is dead without having been closed brings no notifications and looks no
//! different, so it is asked something again and again. While it does not answer, nothing counts as
//! heard, and readers of the keys go back to the table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{ChangeState, WatchedTable};
use crate::engine::postgres::{Postgres, connect_options};
use crate::engine::with_timeout;
use crate::{Error, store_error};

/// More often than once a second, which is the age at which keys are no longer believed.
const ASK_EVERY: Duration = Duration::from_millis(400);
/// A connection that has not answered for this long is replaced.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Pauses between attempts to connect: they begin with the first and double up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);

const LISTEN: &str = "listen for changes";

pub(super) async fn follow_changes(postgres: Postgres, news: Arc<ChangeState>) {
    let mut hearing = ConnectionLog::default();
    let mut retry = FIRST_RETRY;
    loop {
        let connecting = with_timeout(ANSWER_WITHIN, connect_listener(&postgres)).await;
        let error = match connecting {
            Ok(listener) => {
                retry = FIRST_RETRY;
                hearing.log_success();
                listen_until_error(listener, &news).await
            }
            Err(error) => error,
        };
        hearing.log_failure(&error);
        tokio::time::sleep(retry).await;
        retry = (retry * 2).min(LAST_RETRY);
    }
}

/// Tells the operator once that changes are not heard of, and once that they are again.
#[derive(Debug, Default)]
struct ConnectionLog {
    failing: bool,
}

impl ConnectionLog {
    fn log_success(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::warn!("changes in the database are heard of again");
        }
    }

    fn log_failure(&mut self, error: &Error) {
        if !std::mem::replace(&mut self.failing, true) {
            let error: &dyn std::error::Error = error;
            tracing::warn!(
                error,
                "changes in the database are not heard of; it is tried again"
            );
        }
    }
}

/// Listens until the connection fails.
async fn listen_until_error(mut listener: PgListener, news: &ChangeState) -> Error {
    // Changes that happened before were not heard of.
    news.count_all_changes();
    loop {
        if let Err(error) = check_and_receive(&mut listener, news).await {
            return error;
        }
    }
}

/// Makes sure that the connection works, and waits a little for the next change.
async fn check_and_receive(listener: &mut PgListener, news: &ChangeState) -> Result<(), Error> {
    let asked_at = Instant::now();
    with_timeout(ANSWER_WITHIN, ping(listener)).await?;
    while let Some(notification) = listener.next_buffered() {
        count_notification(news, notification.payload());
    }
    news.set_current_at(asked_at);
    let next = tokio::time::timeout(ASK_EVERY, listener.try_recv()).await;
    let Ok(next) = next else { return Ok(()) };
    let notification = next
        .map_err(store_error(LISTEN))?
        .ok_or_else(closed_error)?;
    count_notification(news, notification.payload());
    Ok(())
}

/// The listening connection is kept apart from the pool, so that it takes no place from requests.
async fn connect_listener(postgres: &Postgres) -> Result<PgListener, Error> {
    let alone = PgPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(ANSWER_WITHIN)
        .connect_lazy_with(connect_options(&postgres.address));
    let mut listener = PgListener::connect_with(&alone)
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

/// Notifications of changes that were committed before come ahead of the answer.
async fn ping(listener: &mut PgListener) -> Result<(), Error> {
    let answer = listener.execute("SELECT 1").await;
    answer.map(drop).map_err(store_error(LISTEN))
}

fn count_notification(news: &ChangeState, table: &str) {
    if let Some(table) = WatchedTable::from_table_name(table) {
        news.count_change(table);
    }
}

fn closed_error() -> Error {
    let closed = std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    store_error(LISTEN)(sqlx::Error::Io(closed))
}
