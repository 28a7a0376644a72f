//! Connections that bypass the store, to break its server.

use kitbag_store::StoreAddress;
use kitbag_testkit::postgres::{OwnPostgres, send};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

/// A server whose address has short limits, so that a test need not wait long.
pub(crate) struct OwnServer(pub(crate) OwnPostgres);

impl OwnServer {
    pub(crate) async fn start() -> Self {
        Self(OwnPostgres::start().await)
    }

    /// A server with its files that is not running yet.
    pub(crate) fn prepare() -> Self {
        Self(OwnPostgres::prepare())
    }

    pub(crate) fn address(&self) -> StoreAddress {
        let url = self.0.url();
        let limits = "statement_timeout=3000&connect_timeout=1";
        let data = self.0.folder().join("kitbag");
        StoreAddress::parse(&format!("{url}?{limits}"), &data).unwrap()
    }

    /// Stops the process of the connection with this last statement.
    pub(crate) async fn freeze_connection(&self, statement: &str) {
        let select =
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'kitbag' AND query = $1";
        let pids: Vec<i32> = sqlx::query_scalar(select)
            .bind(statement)
            .fetch_all(&mut self.session().await)
            .await
            .unwrap();
        assert!(!pids.is_empty());
        pids.into_iter()
            .for_each(|pid| send("-STOP", pid.unsigned_abs()));
    }

    /// A connection that bypasses the store.
    pub(crate) async fn session(&self) -> PgConnection {
        let mut session = PgConnection::connect(&self.0.url()).await.unwrap();
        execute(&mut session, "SET search_path = kitbag").await;
        session
    }
}

pub(crate) async fn execute(session: &mut PgConnection, sql: &str) {
    let done = sqlx::query(AssertSqlSafe(sql.to_owned()))
        .execute(session)
        .await;
    done.unwrap();
}

/// Cuts every Kitbag connection that matches the condition. Returns true if there was one.
pub(crate) async fn cut(session: &mut PgConnection, condition: &str) -> bool {
    let select =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'kitbag'";
    let cut = sqlx::query(AssertSqlSafe(format!("{select} AND {condition}")))
        .execute(session)
        .await
        .unwrap();
    cut.rows_affected() > 0
}
