//! A query for either engine: SQL with the parameters `$1`, `$2` … and the values bound to them.
//!
//! Where the engines need different SQL, [`ByEngine::pick`] selects one of two texts. All SQL is
//! made of constants, so no value becomes SQL. Each text is prepared once per connection, except
//! texts with lists, which are rarely used again.

use std::borrow::Cow;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, Decode, Encode, FromRow, Type};

use super::postgres::{Postgres, PostgresTransaction, replace_zero_bytes};
use super::sqlite::{Sqlite, SqliteTransaction};
use super::{ByEngine, Engine, Transaction, with_timeout};
use crate::copy::tables::{CopiedColumn, CopiedRow, read_row};
use crate::{Error, store_error};

/// A value that both engines store.
pub(crate) trait Value<'v>:
    Encode<'v, sqlx::Sqlite> + Type<sqlx::Sqlite> + Encode<'v, sqlx::Postgres> + Type<sqlx::Postgres>
{
}

impl<'v, V> Value<'v> for V where
    V: Encode<'v, sqlx::Sqlite>
        + Type<sqlx::Sqlite>
        + Encode<'v, sqlx::Postgres>
        + Type<sqlx::Postgres>
{
}

/// A row that both engines return.
pub(crate) trait Row:
    for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{
}

impl<R> Row for R where R: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin
{}

/// The only column of a row.
pub(crate) trait Scalar:
    for<'r> Decode<'r, sqlx::Sqlite>
    + Type<sqlx::Sqlite>
    + for<'r> Decode<'r, sqlx::Postgres>
    + Type<sqlx::Postgres>
    + Send
    + Unpin
{
}

impl<S> Scalar for S where
    S: for<'r> Decode<'r, sqlx::Sqlite>
        + Type<sqlx::Sqlite>
        + for<'r> Decode<'r, sqlx::Postgres>
        + Type<sqlx::Postgres>
        + Send
        + Unpin
{
}

/// A query that is being built for an engine or for a transaction.
pub(crate) struct Query<'c> {
    sql: Cow<'static, str>,
    /// True if the prepared statement is worth keeping.
    persistent: bool,
    target: Target<'c>,
}

/// The connection on which a query runs, and the values bound so far.
enum Target<'c> {
    Sqlite(&'c Sqlite, SqliteArguments),
    SqliteTransaction(&'c mut SqliteTransaction, SqliteArguments),
    Postgres(&'c Postgres, PgArguments),
    PostgresTransaction(&'c mut PostgresTransaction, PgArguments),
}

/// Evaluates the expression with the SQL, the values and the connection of the query. On SQLite,
/// `$pool` is the pool to use outside of a transaction. On PostgreSQL the time is limited.
macro_rules! run {
    ($query:ident, $action:ident, $pool:ident, |$sql:ident, $values:ident, $on:ident| $run:expr) => {{
        let $sql = AssertSqlSafe($query.sql);
        match $query.target {
            Target::Sqlite(engine, $values) => {
                let $on = &engine.$pool;
                $run.await.map_err(store_error($action))
            }
            Target::SqliteTransaction(transaction, $values) => {
                let $on = &mut **transaction;
                $run.await.map_err(store_error($action))
            }
            Target::Postgres(engine, $values) => {
                let $on = &engine.pool;
                with_timeout(engine.timeout(), async {
                    $run.await.map_err(store_error($action))
                })
                .await
            }
            Target::PostgresTransaction(transaction, $values) => {
                let timeout = transaction.timeout();
                let $on = &mut **transaction;
                with_timeout(timeout, async { $run.await.map_err(store_error($action)) }).await
            }
        }
    }};
}

impl Engine {
    /// Starts a query. On SQLite, [`Query::execute`] uses the writer's connection, and the other
    /// methods use a read-only one.
    pub(crate) fn query(&self, sql: impl Into<Cow<'static, str>>) -> Query<'_> {
        Query {
            sql: sql.into(),
            persistent: true,
            target: match self {
                Self::Sqlite(engine) => Target::Sqlite(engine, SqliteArguments::default()),
                Self::Postgres(engine) => Target::Postgres(engine, PgArguments::default()),
            },
        }
    }
}

impl Transaction {
    pub(crate) fn query(&mut self, sql: impl Into<Cow<'static, str>>) -> Query<'_> {
        Query {
            sql: sql.into(),
            persistent: true,
            target: match self {
                Self::Sqlite(transaction) => {
                    Target::SqliteTransaction(transaction, SqliteArguments::default())
                }
                Self::Postgres(transaction) => {
                    Target::PostgresTransaction(transaction, PgArguments::default())
                }
            },
        }
    }

    /// Waits until no other transaction holds the lock of this name, and holds it until this one
    /// ends. On SQLite only one transaction writes at a time anyway.
    pub(crate) async fn lock(&mut self, name: &str, action: &'static str) -> Result<(), Error> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(transaction) => {
                with_timeout(transaction.timeout(), transaction.lock(name, action)).await
            }
        }
    }
}

impl<S, P> ByEngine<S, P> {
    /// Returns the value for the engine in use.
    pub(crate) fn pick<T>(&self, sqlite: T, postgres: T) -> T {
        match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        }
    }
}

impl Query<'_> {
    /// Binds a value to the next parameter.
    pub(crate) fn bind<'v>(mut self, value: impl Value<'v>) -> Self {
        let added = match &mut self.target {
            Target::Sqlite(_, values) | Target::SqliteTransaction(_, values) => values.add(value),
            Target::Postgres(_, values) | Target::PostgresTransaction(_, values) => {
                values.add(value)
            }
        };
        added.expect("numbers, texts and bytes can be encoded");
        self
    }

    /// Binds a text from a client, which may contain a zero byte. PostgreSQL does not store one.
    pub(crate) fn bind_untrusted_text(self, text: Option<&str>) -> Self {
        match self.target {
            Target::Sqlite(..) | Target::SqliteTransaction(..) => self.bind(text),
            Target::Postgres(..) | Target::PostgresTransaction(..) => {
                self.bind(text.map(replace_zero_bytes))
            }
        }
    }

    /// Appends to the text.
    pub(crate) fn push(mut self, sql: impl AsRef<str>) -> Self {
        self.sql.to_mut().push_str(sql.as_ref());
        self
    }

    /// Appends to the text, with a parameter for the value.
    pub(crate) fn push_bind<'v>(self, sql: impl AsRef<str>, value: impl Value<'v>) -> Self {
        let mut query = self.push(sql).bind(value);
        let parameter = format!("${}", query.value_count());
        query.sql.to_mut().push_str(&parameter);
        query
    }

    /// Appends a condition, if there is a value for it.
    pub(crate) fn push_filter<'v>(self, sql: &'static str, value: Option<impl Value<'v>>) -> Self {
        match value {
            Some(value) => self.push_bind(sql, value),
            None => self,
        }
    }

    /// Appends a list of values, such as `($1, $2)`.
    pub(crate) fn push_list<'v>(self, values: impl IntoIterator<Item = impl Value<'v>>) -> Self {
        let mut query = self.push("(");
        query.persistent = false;
        for (at, value) in values.into_iter().enumerate() {
            query = query.push_bind(if at == 0 { "" } else { ", " }, value);
        }
        query.push(")")
    }

    /// Appends a list of tuples, such as `($1, $2), ($3, $4)`. The closure binds the values of an item.
    pub(crate) fn push_tuples<T>(self, items: &[T], bind: impl Fn(Self, &T) -> Self) -> Self {
        let mut query = self;
        query.persistent = false;
        for (at, item) in items.iter().enumerate() {
            let first = query.value_count() + 1;
            query = bind(query, item);
            let parameters = first..=query.value_count();
            let parameters: Vec<String> = parameters.map(|number| format!("${number}")).collect();
            let separator = if at == 0 { "" } else { ", " };
            let tuple = format!("{separator}({})", parameters.join(", "));
            query.sql.to_mut().push_str(&tuple);
        }
        query
    }

    fn value_count(&self) -> usize {
        match &self.target {
            Target::Sqlite(_, values) | Target::SqliteTransaction(_, values) => values.len(),
            Target::Postgres(_, values) | Target::PostgresTransaction(_, values) => values.len(),
        }
    }

    /// Returns the number of rows that were written or deleted.
    pub(crate) async fn execute(self, action: &'static str) -> Result<u64, Error> {
        run!(self, action, writer, |sql, values, on| async {
            let query = sqlx::query_with(sql, values).persistent(self.persistent);
            query.execute(on).await.map(|done| done.rows_affected())
        })
    }

    /// Returns true if exactly one row was written or deleted.
    pub(crate) async fn execute_on_row(self, action: &'static str) -> Result<bool, Error> {
        Ok(self.execute(action).await? == 1)
    }

    pub(crate) async fn fetch_all<R: Row>(self, action: &'static str) -> Result<Vec<R>, Error> {
        run!(self, action, reader, |sql, values, on| {
            let query = sqlx::query_as_with(sql, values);
            query.persistent(self.persistent).fetch_all(on)
        })
    }

    /// Returns rows of a table that is copied.
    pub(crate) async fn fetch_copied_rows(
        self,
        columns: &[CopiedColumn],
        action: &'static str,
    ) -> Result<Vec<CopiedRow>, Error> {
        run!(self, action, reader, |sql, values, on| {
            let rows = sqlx::query_with(sql, values);
            rows.try_map(|row| read_row(&row, columns)).fetch_all(on)
        })
    }

    pub(crate) async fn fetch_optional<R: Row>(
        self,
        action: &'static str,
    ) -> Result<Option<R>, Error> {
        run!(self, action, reader, |sql, values, on| {
            sqlx::query_as_with(sql, values).fetch_optional(on)
        })
    }

    pub(crate) async fn fetch_one<R: Row>(self, action: &'static str) -> Result<R, Error> {
        let row = self.fetch_optional(action).await?;
        row.ok_or_else(|| store_error(action)(sqlx::Error::RowNotFound))
    }

    pub(crate) async fn fetch_scalars<S: Scalar>(
        self,
        action: &'static str,
    ) -> Result<Vec<S>, Error> {
        let rows: Vec<(S,)> = self.fetch_all(action).await?;
        Ok(rows.into_iter().map(|(scalar,)| scalar).collect())
    }

    pub(crate) async fn fetch_optional_scalar<S: Scalar>(
        self,
        action: &'static str,
    ) -> Result<Option<S>, Error> {
        let row: Option<(S,)> = self.fetch_optional(action).await?;
        Ok(row.map(|(scalar,)| scalar))
    }

    pub(crate) async fn fetch_scalar<S: Scalar>(self, action: &'static str) -> Result<S, Error> {
        self.fetch_one(action).await.map(|(scalar,)| scalar)
    }
}
