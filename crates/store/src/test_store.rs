//! Where a test's store is: a directory, or its own schema on the test server.

use std::path::{Path, PathBuf};

use sqlx::AssertSqlSafe;

use crate::engine::ByEngine;
use crate::private_file::random_bytes;
use crate::{Store, StoreAddress};

/// The directory is removed when this value is dropped; the schema stays until the server is
/// removed.
pub(crate) struct TestPlace {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) address: StoreAddress,
}

impl TestPlace {
    pub(crate) fn sqlite() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let address = StoreAddress::Sqlite(directory.path().join("data/kitbag.db"));
        Self { directory, address }
    }

    pub(crate) fn postgres() -> Self {
        let server = std::env::var("KITBAG_TEST_POSTGRES").expect(
            "tests over PostgreSQL need a server: run them as `cargo xtask postgres -- cargo nextest run -p kitbag-store`",
        );
        let directory = tempfile::tempdir().unwrap();
        let schema = format!("test_{:016x}", u64::from_le_bytes(random_bytes()));
        let data = directory.path().join("data");
        let address = StoreAddress::parse(&format!("{server}?schema={schema}"), &data).unwrap();
        Self { directory, address }
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.address).await.unwrap()
    }

    /// The default key file.
    pub(crate) fn key_file(&self) -> PathBuf {
        self.directory.path().join("data/secret.key")
    }

    /// Returns true if the text is in any local file of the store, or in any row.
    pub(crate) async fn holds(&self, text: &str) -> bool {
        let store = self.open().await;
        let in_rows = match &store.engine {
            ByEngine::Sqlite(_) => false,
            ByEngine::Postgres(it) => in_rows(&it.pool, text).await,
        };
        store.close().await;
        in_rows || in_files(&self.directory.path().join("data"), text.as_bytes())
    }
}

fn in_files(folder: &Path, text: &[u8]) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.any(|bytes| bytes.windows(text.len()).any(|window| window == text))
}

/// Looks for the text in every column, including bytes, which are printed as digits.
async fn in_rows(pool: &sqlx::PgPool, text: &str) -> bool {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    for table in [
        "api_keys",
        "secrets",
        "logins",
        "credentials",
        "audit",
        "properties",
    ] {
        let rows: String = sqlx::query_scalar(AssertSqlSafe(format!(
            "SELECT coalesce(string_agg(row::text, ' '), '') FROM {table} AS row"
        )))
        .fetch_one(pool)
        .await
        .unwrap();
        if rows.contains(text) || rows.contains(&digits) {
            return true;
        }
    }
    false
}

/// Runs a statement directly on the database.
pub(crate) async fn execute(store: &Store, sql: &str) {
    let sql = AssertSqlSafe(sql.to_owned());
    match &store.engine {
        ByEngine::Sqlite(it) => {
            sqlx::query(sql).execute(&it.writer).await.unwrap();
        }
        ByEngine::Postgres(it) => {
            sqlx::query(sql).execute(&it.pool).await.unwrap();
        }
    }
}

/// Makes two tests of each claim: one for each engine.
macro_rules! each_engine {
    ($($claim:ident),* $(,)?) => { $(
        mod $claim {
            use crate::test_store::TestPlace;

            #[tokio::test]
            async fn sqlite() {
                super::$claim(TestPlace::sqlite()).await;
            }

            #[tokio::test]
            async fn postgres() {
                super::$claim(TestPlace::postgres()).await;
            }
        }
    )* };
}
pub(crate) use each_engine;

/// The same, on a runtime with several threads.
macro_rules! each_engine_on_threads {
    ($($claim:ident),* $(,)?) => { $(
        mod $claim {
            use crate::test_store::TestPlace;

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                super::$claim(TestPlace::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                super::$claim(TestPlace::postgres()).await;
            }
        }
    )* };
}
pub(crate) use each_engine_on_threads;
