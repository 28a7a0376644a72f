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
    let mut retry = FIRST_RETRY;
    let mut broken = false;
    loop {
        let mut connected = false;
        let Err(error) = listen(&postgres, &news, &mut connected).await;
        if connected {
            retry = FIRST_RETRY;
        }
        if !broken || connected {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(
                error,
                "changes in the database are not heard of; it is tried again"
            );
        }
        broken = true;
        tokio::time::sleep(retry).await;
        retry = (retry * 2).min(LAST_RETRY);
    }
}

/// Listens until the connection fails.
async fn listen(
    postgres: &Postgres,
    news: &ChangeNews,
    connected: &mut bool,
) -> Result<std::convert::Infallible, Error> {
    let mut listener = answered(ANSWER_WITHIN, connect(postgres)).await?;
    *connected = true;
    // Changes that happened before were not heard of.
    news.anything_may_have_changed();
    loop {
        let asked_at = Instant::now();
        answered(ANSWER_WITHIN, ask(&mut listener)).await?;
        while let Some(notification) = listener.next_buffered() {
            tell(news, notification.payload());
        }
        news.heard(asked_at);
        let next = tokio::time::timeout(ASK_EVERY, listener.try_recv()).await;
        match next {
            Ok(Ok(Some(notification))) => tell(news, notification.payload()),
            Ok(Ok(None)) => return Err(failed(LISTEN)(closed())),
            Ok(Err(error)) => return Err(failed(LISTEN)(error)),
            Err(_) => {}
        }
    }
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

fn closed() -> sqlx::Error {
    sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into())
}
