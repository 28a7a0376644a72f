//! A PostgreSQL server: its connection pool and its migrations.
//!
//! All tables are in one schema, which is created if it is missing, so a database may be shared
//! with other programs. A pooler in front of the server must use session mode: advisory locks and
//! notifications belong to sessions.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions};

use super::advisory::{self, AdvisoryLock, answer_in_time};
use super::migrations::{MigrationFile, build_migrator, migration_files};
use super::with_timeout;
use crate::address::{PoolLimits, PostgresAddress, SchemaName};
use crate::{Error, store_error};

const MIGRATION_FILES: &[MigrationFile] = migration_files![
    "postgres":
    "0001_tables",
    "0002_runs_learned_templates",
    "0003_priors_audit_costs",
    "0004_lessons",
    "0005_approved_definitions",
    "0006_credentials",
    "0007_agent_state_feedback_facts",
    "0008_audit_filters",
];

static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| build_migrator(MIGRATION_FILES));

/// How much longer than the server's own statement timeout an answer may take.
pub(super) const ROUND_TRIP: Duration = Duration::from_secs(5);

/// How long the migrations of one update may take, with a large audit on a slow disk.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);

/// A connection unused for this long is closed, so that a quiet gateway holds few.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pub(crate) pool: PgPool,
    pub(crate) address: Arc<PostgresAddress>,
}

impl Postgres {
    pub(crate) async fn connect(
        address: &PostgresAddress,
        guard: &mut AdvisoryLock,
    ) -> Result<Self, Error> {
        create_schema(guard, address).await?;
        run_migrations(guard, address).await?;
        let pool = pool_options(address.limits).connect_lazy_with(connect_options(address));
        let address = Arc::new(address.clone());
        Ok(Self { pool, address })
    }

    pub(crate) async fn begin(&self, action: &'static str) -> Result<PostgresTransaction, Error> {
        let inner = self.pool.begin().await.map_err(store_error(action))?;
        Ok(PostgresTransaction {
            inner,
            timeout: self.timeout(),
            schema: self.address.schema.clone(),
        })
    }

    /// Begins to read one snapshot of the database, without limits of time: counting a large table,
    /// or writing a page elsewhere to a slow disk, takes longer than a request may.
    pub(crate) async fn begin_snapshot(
        &self,
        action: &'static str,
    ) -> Result<PostgresTransaction, Error> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let begun = self.pool.begin_with(BEGIN).await;
        let mut inner = begun.map_err(store_error(action))?;
        for limit in [
            "SET LOCAL statement_timeout = 0",
            "SET LOCAL idle_in_transaction_session_timeout = 0",
        ] {
            let done = sqlx::query(limit).execute(&mut *inner).await;
            done.map_err(store_error(action))?;
        }
        Ok(PostgresTransaction {
            inner,
            timeout: Duration::MAX,
            schema: self.address.schema.clone(),
        })
    }

    /// How long a statement may take, including the round trip.
    pub(crate) fn timeout(&self) -> Duration {
        self.address.limits.statement + self.address.limits.connect + ROUND_TRIP
    }

    pub(crate) async fn check_writable(&self) -> Result<(), Error> {
        sqlx::query("UPDATE properties SET value = value WHERE name = 'identity'")
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(store_error("write"))
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// A transaction that is rolled back unless it is committed.
#[derive(Debug)]
pub(crate) struct PostgresTransaction {
    inner: sqlx::Transaction<'static, sqlx::Postgres>,
    timeout: Duration,
    schema: SchemaName,
}

impl PostgresTransaction {
    pub(crate) async fn commit(self, action: &'static str) -> Result<(), Error> {
        self.inner.commit().await.map_err(store_error(action))
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Takes the lock of that name until the transaction ends, to serialize transactions that read
    /// the rows they replace.
    pub(crate) async fn lock(&mut self, name: &str, action: &'static str) -> Result<(), Error> {
        let number = advisory::lock_number(&self.schema, name);
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(number)
            .execute(&mut *self.inner)
            .await
            .map(drop)
            .map_err(store_error(action))
    }
}

impl Deref for PostgresTransaction {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.inner
    }
}

impl DerefMut for PostgresTransaction {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.inner
    }
}

/// PostgreSQL stores no text with a zero byte. A client may send one, and must not block the rows
/// of others, which are written in the same statement.
pub(crate) fn replace_zero_bytes(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

pub(crate) fn connect_options(address: &PostgresAddress) -> PgConnectOptions {
    let timeout = address.limits.statement.as_millis().to_string();
    let session = [
        ("search_path", address.schema.as_str()),
        ("statement_timeout", &timeout),
        // A gateway that hangs in the middle of a transaction must not hold its locks for ever.
        ("idle_in_transaction_session_timeout", &timeout),
        // The server notices within a minute that a machine is gone, and releases its locks.
        ("tcp_keepalives_idle", "30"),
        ("tcp_keepalives_interval", "10"),
        ("tcp_keepalives_count", "3"),
    ];
    let options = PgConnectOptions::clone(&address.options).options(session);
    options.disable_statement_logging()
}

fn pool_options(limits: PoolLimits) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(limits.connections)
        .acquire_timeout(limits.connect)
        .idle_timeout(IDLE_TIMEOUT)
        .test_before_acquire(true)
}

/// `CREATE SCHEMA IF NOT EXISTS` needs a right that a careful operator does not grant, so the
/// schema is looked up first.
async fn create_schema(guard: &mut AdvisoryLock, address: &PostgresAddress) -> Result<(), Error> {
    const ACTION: &str = "create its schema";
    let schema = address.schema.as_str();
    let lookup = sqlx::query_scalar("SELECT to_regnamespace($1) IS NOT NULL")
        .bind(schema)
        .fetch_one(&mut **guard);
    let lookup = async { lookup.await.map_err(store_error(ACTION)) };
    if answer_in_time(address, lookup).await? {
        return Ok(());
    }
    // The name has only letters, digits and `_`.
    let statement = AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
    let creation = sqlx::query(statement).execute(&mut **guard);
    let creation = async { creation.await.map(drop).map_err(store_error(ACTION)) };
    answer_in_time(address, creation).await
}

async fn run_migrations(guard: &mut AdvisoryLock, address: &PostgresAddress) -> Result<(), Error> {
    let is_current = answer_in_time(address, is_migrated(guard)).await?;
    let migration = async {
        let done = MIGRATIONS.run_direct(None, &mut **guard, false).await;
        done.map_err(|error| migration_error(error, address))
    };
    match is_current {
        true => answer_in_time(address, migration).await,
        false => with_timeout(MIGRATION_TIMEOUT, migration).await,
    }
}

/// True if no migration is left to do, so that checking them takes no time.
async fn is_migrated(guard: &mut AdvisoryLock) -> Result<bool, Error> {
    const ACTION: &str = "read its version";
    let exists: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
        .fetch_one(&mut **guard)
        .await
        .map_err(store_error(ACTION))?;
    if !exists {
        return Ok(false);
    }
    let done: i64 = sqlx::query_scalar("SELECT count(*) FROM _sqlx_migrations WHERE success")
        .fetch_one(&mut **guard)
        .await
        .map_err(store_error(ACTION))?;
    Ok(usize::try_from(done).is_ok_and(|done| done >= MIGRATIONS.iter().count()))
}

fn migration_error(error: MigrateError, address: &PostgresAddress) -> Error {
    match error {
        MigrateError::VersionMissing(found) => Error::Newer {
            location: address.to_string(),
            found,
            known: super::newest_version(&MIGRATIONS),
        },
        other => store_error("migrate the database")(other),
    }
}
