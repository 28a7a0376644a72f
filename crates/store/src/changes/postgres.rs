//! Listens for the notifications that the triggers of the tables send.
//!
//! A connection that is dead without having been closed brings no notifications and looks no
//! different, so it is asked something again and again. While it does not answer, nothing counts as
//! heard, and readers of the keys go back to the table.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Executor;
use sqlx::postgres::{PgListener, PgPoolOptions};

use super::{ChangeNews, WatchedTable};
use crate::engine::answered;
use crate::engine::postgres::{Postgres, options};
use crate::{Error, failed};

/// More often than once a second, which is the age at which keys are no longer believed.
const ASK_EVERY: Duration = Duration::from_millis(400);
/// A connection that has not answered for this long is replaced.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Pauses between attempts to connect: they begin with the first and double up to the last.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LAST_RETRY: Duration = Duration::from_secs(5);

const LISTEN: &str = "listen for changes";

pub(super) async fn follow(postgres: Postgres, news: Arc<ChangeNews>) {
    let mut hearing = Hearing::default();
    let mut retry = FIRST_RETRY;
    loop {
        let connecting = answered(ANSWER_WITHIN, connect(&postgres)).await;
        let error = match connecting {
            Ok(listener) => {
                retry = FIRST_RETRY;
                hearing.works();
                listen(listener, &news).await
            }
            Err(error) => error,
        };
        hearing.fails(&error);
        tokio::time::sleep(retry).await;
        retry = (retry * 2).min(LAST_RETRY);
    }
}

/// Tells the operator once that changes are not heard of, and once that they are again.
#[derive(Debug, Default)]
struct Hearing {
    failing: bool,
}

impl Hearing {
    fn works(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::warn!("changes in the database are heard of again");
        }
    }

    fn fails(&mut self, error: &Error) {
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
async fn listen(mut listener: PgListener, news: &ChangeNews) -> Error {
    // Changes that happened before were not heard of.
    news.anything_may_have_changed();
    loop {
        if let Err(error) = hear(&mut listener, news).await {
            return error;
        }
    }
}

/// Makes sure that the connection works, and waits a little for the next change.
async fn hear(listener: &mut PgListener, news: &ChangeNews) -> Result<(), Error> {
    let asked_at = Instant::now();
    answered(ANSWER_WITHIN, ask(listener)).await?;
    while let Some(notification) = listener.next_buffered() {
        tell(news, notification.payload());
    }
    news.heard(asked_at);
    let next = tokio::time::timeout(ASK_EVERY, listener.try_recv()).await;
    let Ok(next) = next else { return Ok(()) };
    let notification = next.map_err(failed(LISTEN))?.ok_or_else(closed)?;
    tell(news, notification.payload());
    Ok(())
}

/// The listening connection is kept apart from the pool, so that it takes no place from requests.
async fn connect(postgres: &Postgres) -> Result<PgListener, Error> {
    let alone = PgPoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(ANSWER_WITHIN)
        .connect_lazy_with(options(&postgres.address));
    let mut listener = PgListener::connect_with(&alone)
        .await
        .map_err(failed(LISTEN))?;
    listener.eager_reconnect(false);
    let channel = format!("{}_changes", postgres.address.schema.as_str());
    listener.listen(&channel).await.map_err(failed(LISTEN))?;
    Ok(listener)
}

/// Notifications of changes that were committed before come ahead of the answer.
async fn ask(listener: &mut PgListener) -> Result<(), Error> {
    let answer = listener.execute("SELECT 1").await;
    answer.map(drop).map_err(failed(LISTEN))
}

fn tell(news: &ChangeNews, table: &str) {
    if let Some(table) = WatchedTable::parse(table) {
        news.changed(table);
    }
}

fn closed() -> Error {
    let closed = std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    failed(LISTEN)(sqlx::Error::Io(closed))
}
