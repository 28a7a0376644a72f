//! Reads each table's change counter twice a second. A few numbers from memory cost less than
//! checking whether there is anything to read.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{ChangeState, WatchedTable};
use crate::engine::sqlite::Sqlite;

const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(super) async fn follow_changes(sqlite: Sqlite, state: Arc<ChangeState>) {
    let mut known = read_counts(&sqlite).await.unwrap_or_default();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        // A counter that cannot be read now is read the next time.
        let Ok(counts) = read_counts(&sqlite).await else {
            continue;
        };
        for (table, count) in &counts {
            if known.get(table) != Some(count)
                && let Some(table) = WatchedTable::from_table_name(table)
            {
                state.count_change(table);
            }
        }
        known = counts;
    }
}

async fn read_counts(sqlite: &Sqlite) -> sqlx::Result<HashMap<String, i64>> {
    let rows: Vec<(String, i64)> = sqlx::query_as("SELECT subject, count FROM changes")
        .fetch_all(&sqlite.reader)
        .await?;
    Ok(rows.into_iter().collect())
}
