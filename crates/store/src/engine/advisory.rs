//! Locks that several gateways on several machines share: PostgreSQL advisory locks.

use std::fmt;
use std::io::ErrorKind;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::time::Instant;

use super::postgres::{self, ROUND_TRIP};
use super::with_timeout;
use crate::address::{PostgresAddress, SchemaName};
use crate::{Error, store_error};

/// How long one gateway waits for another that holds the lock. Migrations and logins at slow
/// servers take less time.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The delay between two attempts to connect or to take the lock.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// A lock with its own connection, outside the pool: it is released when the connection closes,
/// even if the process dies.
pub(crate) struct AdvisoryLock {
    connection: PgConnection,
}

impl AdvisoryLock {
    /// Waits for the lock of that name.
    pub(crate) async fn acquire(address: &PostgresAddress, name: &str) -> Result<Self, Error> {
        let wait = LOCK_TIMEOUT.as_millis().to_string();
        let limits = [
            ("statement_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"),
            ("lock_timeout", &wait),
        ];
        let options = postgres::connect_options(address).options(limits);
        let mut connection = connect_with_retry(&options, address).await?;
        wait_for_lock(&mut connection, address, name).await?;
        Ok(Self { connection })
    }

    pub(crate) async fn release(self) {
        // A connection that cannot be closed is already closed, and the lock is released.
        let _ = self.connection.close().await;
    }
}

/// Asks for the lock again and again. A server that waits for another gateway answers each time, so
/// one that does not answer is noticed at once.
async fn wait_for_lock(
    connection: &mut PgConnection,
    address: &PostgresAddress,
    name: &str,
) -> Result<(), Error> {
    const ACTION: &str = "wait for another gateway";
    let number = lock_number(&address.schema, name);
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        let attempt = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
            .bind(number)
            .fetch_one(&mut *connection);
        let attempt = async { attempt.await.map_err(store_error(ACTION)) };
        if answer_in_time(address, attempt).await? {
            return Ok(());
        }
        if Instant::now() + RETRY_DELAY >= deadline {
            let source = Box::new(std::io::Error::from(ErrorKind::TimedOut));
            return Err(Error::Busy {
                action: ACTION,
                source,
            });
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Returns the answer to a short statement on a connection without a statement timeout.
pub(super) async fn answer_in_time<T>(
    address: &PostgresAddress,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let answered = with_timeout(address.limits.connect + ROUND_TRIP, answer).await;
    answered.map_err(|error| match error {
        Error::Silent { limit } => unanswered_error(address, limit),
        other => other,
    })
}

/// Connects, and retries as long as a connection may take: a server that starts together with the
/// gateway needs a moment.
async fn connect_with_retry(
    options: &PgConnectOptions,
    address: &PostgresAddress,
) -> Result<PgConnection, Error> {
    let limit = address.limits.connect;
    let deadline = Instant::now() + limit;
    loop {
        let connecting = tokio::time::timeout_at(deadline, options.connect()).await;
        let error = match connecting {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => error,
            Err(_) => return Err(unanswered_error(address, limit)),
        };
        if !is_transient(&error) || Instant::now() + RETRY_DELAY >= deadline {
            return Err(Error::Unreachable {
                location: address.to_string(),
                source: Box::new(error),
            });
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

fn unanswered_error(address: &PostgresAddress, limit: Duration) -> Error {
    Error::Unanswered {
        location: address.to_string(),
        limit,
    }
}

/// Returns true if a retry may succeed.
fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        // An untrusted certificate is reported as invalid data, and a retry does not help.
        sqlx::Error::Io(error) => error.kind() != ErrorKind::InvalidData,
        // The server is starting, stopping, or has no connection left.
        sqlx::Error::Database(error) => {
            matches!(error.code().as_deref(), Some("57P01" | "57P03" | "53300"))
        }
        _ => false,
    }
}

/// The number of a lock. All programs that use the database share the numbers, so they are derived
/// from a hash.
pub(crate) fn lock_number(schema: &SchemaName, name: &str) -> i64 {
    let hash = blake3::hash(format!("kitbag {} {name}", schema.as_str()).as_bytes());
    let (first, _) = hash.as_bytes().split_at(size_of::<i64>());
    i64::from_le_bytes(first.try_into().expect("a hash is longer than a number"))
}

impl Deref for AdvisoryLock {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for AdvisoryLock {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl fmt::Debug for AdvisoryLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdvisoryLock")
    }
}
