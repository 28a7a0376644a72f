//! The two engines of a store, and how a statement reaches the one in use.

pub(crate) mod advisory;
mod migrations;
pub(crate) mod postgres;
pub(crate) mod query;
pub(crate) mod row_struct;
pub(crate) mod sqlite;

use std::time::Duration;

use sqlx::migrate::Migrator;

use crate::{Error, StoreAddress};

/// A SQLite value, or its PostgreSQL counterpart.
#[derive(Debug, Clone)]
pub(crate) enum ByEngine<S, P> {
    Sqlite(S),
    Postgres(P),
}

pub(crate) type Engine = ByEngine<sqlite::Sqlite, postgres::Postgres>;

/// Several writes that are committed together or not at all.
pub(crate) type Transaction = ByEngine<sqlite::SqliteTransaction, postgres::PostgresTransaction>;

/// The exclusive right to prepare a store, across processes and machines, until it is dropped.
pub(crate) type PreparationGuard = ByEngine<sqlite::PreparationLock, advisory::AdvisoryLock>;

/// The purpose of the lock under which a gateway creates the store.
const PREPARE: &str = "prepare";

/// Stops waiting for a connected server that does not answer, for example because its machine
/// hangs. The server's own timeout does not help then.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    query: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    // On the heap, so that the futures of callers stay small: the network costs far more than that.
    let answer = tokio::time::timeout(limit, Box::pin(query)).await;
    answer.unwrap_or(Err(Error::Silent { limit }))
}

impl PreparationGuard {
    pub(crate) async fn acquire(address: &StoreAddress) -> Result<Self, Error> {
        Self::acquire_for_purpose(address, PREPARE).await
    }

    /// Takes the lock for one purpose. A file has one lock for all purposes.
    pub(crate) async fn acquire_for_purpose(
        address: &StoreAddress,
        purpose: &str,
    ) -> Result<Self, Error> {
        match address {
            StoreAddress::Sqlite(path) => {
                let taken = sqlite::PreparationLock::acquire(path).await?;
                Ok(Self::Sqlite(taken))
            }
            StoreAddress::Postgres(address) => {
                let taken = advisory::AdvisoryLock::acquire(address, purpose).await?;
                Ok(Self::Postgres(taken))
            }
        }
    }

    pub(crate) async fn release(self) {
        match self {
            Self::Sqlite(lock) => drop(lock),
            Self::Postgres(lock) => lock.release().await,
        }
    }
}

impl Engine {
    /// Connects and migrates the tables. Returns the lock under which that was done.
    pub(crate) async fn connect_and_migrate(
        address: &StoreAddress,
    ) -> Result<(Self, PreparationGuard), Error> {
        match address {
            StoreAddress::Sqlite(path) => {
                let guard = sqlite::PreparationLock::acquire(path).await?;
                let engine = sqlite::Sqlite::connect(path).await?;
                Ok((Self::Sqlite(engine), PreparationGuard::Sqlite(guard)))
            }
            StoreAddress::Postgres(address) => {
                let mut guard = advisory::AdvisoryLock::acquire(address, PREPARE).await?;
                let engine = postgres::Postgres::connect(address, &mut guard).await?;
                Ok((Self::Postgres(engine), PreparationGuard::Postgres(guard)))
            }
        }
    }

    /// Begins to write. Other connections, and the next start, see nothing of it before
    /// [`Transaction::commit`].
    pub(crate) async fn begin(&self, action: &'static str) -> Result<Transaction, Error> {
        match self {
            Self::Sqlite(it) => it.begin(action).await.map(ByEngine::Sqlite),
            Self::Postgres(it) => with_timeout(it.timeout(), it.begin(action))
                .await
                .map(ByEngine::Postgres),
        }
    }

    /// Begins to read one snapshot.
    pub(crate) async fn begin_snapshot(&self, action: &'static str) -> Result<Transaction, Error> {
        match self {
            Self::Sqlite(it) => it.begin_snapshot(action).await.map(ByEngine::Sqlite),
            Self::Postgres(it) => it.begin_snapshot(action).await.map(ByEngine::Postgres),
        }
    }

    pub(crate) async fn check_writable(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(it) => it.check_writable().await,
            Self::Postgres(it) => with_timeout(it.timeout(), it.check_writable()).await,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(it) => it.close().await,
            Self::Postgres(it) => it.close().await,
        }
    }
}

impl Transaction {
    pub(crate) async fn commit(self, action: &'static str) -> Result<(), Error> {
        match self {
            Self::Sqlite(it) => it.commit(action).await,
            Self::Postgres(it) => with_timeout(it.timeout(), it.commit(action)).await,
        }
    }
}

/// The schema version that this program supports.
fn newest_version(migrations: &Migrator) -> i64 {
    let versions = migrations.iter().map(|migration| migration.version);
    versions.max().unwrap_or(0)
}
