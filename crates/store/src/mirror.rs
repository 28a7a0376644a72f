//! The mirror of an index: its entries, readable by exact name without a search.
//!
//! An entry's key is `{namespace}:{name}`, such as `capability_index:git__log`; its value is JSON
//! that only the gateway interprets.

use std::collections::{BTreeMap, HashMap};

use crate::engine::Transaction;
use crate::{Error, Store};

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 512;

const READ: &str = "read a mirror";
const WRITE: &str = "write the mirror";

impl Store {
    /// Replaces the entries of the namespace. Returns how many were written or removed. Readers see
    /// either the old entries or the new ones, never a mixture. Of two entries with the same name
    /// the later wins.
    pub async fn replace_mirror(
        &self,
        namespace: &str,
        entries: &[(String, String)],
    ) -> Result<u64, Error> {
        let mut transaction = self.lock_mirror(namespace).await?;
        let written = put_entries(&mut transaction, namespace, entries).await?;
        let wanted: HashMap<&str, &str> =
            entries.iter().map(|(name, it)| (&**name, &**it)).collect();
        let select = transaction.query("SELECT name FROM mirror WHERE namespace = $1");
        let mut gone: Vec<String> = select.bind(namespace).fetch_scalars(READ).await?;
        gone.retain(|name| !wanted.contains_key(name.as_str()));
        delete_entries(&mut transaction, namespace, &gone).await?;
        transaction.commit(WRITE).await?;
        Ok(written + gone.len() as u64)
    }

    /// Writes and removes a few entries of the namespace. Returns false, and changes nothing, if
    /// the namespace would not have this number of entries: another process has written into it.
    pub async fn change_mirror(
        &self,
        namespace: &str,
        changed: &[(String, String)],
        gone: &[String],
        entries: u64,
    ) -> Result<bool, Error> {
        let mut transaction = self.lock_mirror(namespace).await?;
        put_entries(&mut transaction, namespace, changed).await?;
        delete_entries(&mut transaction, namespace, gone).await?;
        let found: i64 = transaction
            .query("SELECT COUNT(*) FROM mirror WHERE namespace = $1")
            .bind(namespace)
            .fetch_scalar("count the entries of a mirror")
            .await?;
        if found.unsigned_abs() != entries {
            return Ok(false);
        }
        transaction.commit(WRITE).await?;
        Ok(true)
    }

    /// Begins to write the namespace, which one transaction does at a time.
    async fn lock_mirror(&self, namespace: &str) -> Result<Transaction, Error> {
        let mut transaction = self.engine.begin(WRITE).await?;
        transaction
            .lock(&format!("mirror {namespace}"), WRITE)
            .await?;
        Ok(transaction)
    }

    pub async fn mirror_entry(&self, namespace: &str, name: &str) -> Result<Option<String>, Error> {
        self.engine
            .query("SELECT value FROM mirror WHERE namespace = $1 AND name = $2")
            .bind(namespace)
            .bind(name)
            .fetch_optional_scalar("read a mirrored entry")
            .await
    }

    /// Returns every entry of the namespace, by name.
    pub async fn mirror_entries(&self, namespace: &str) -> Result<HashMap<String, String>, Error> {
        let select = self
            .engine
            .query("SELECT name, value FROM mirror WHERE namespace = $1");
        let rows = select.bind(namespace).fetch_all(READ).await?;
        Ok(rows.into_iter().collect())
    }
}

/// Returns how many rows were written. Rows that already have their value are skipped.
async fn put_entries(
    transaction: &mut Transaction,
    namespace: &str,
    entries: &[(String, String)],
) -> Result<u64, Error> {
    // One statement must not write a row twice; the later entry wins.
    let entries: BTreeMap<&str, &str> = entries.iter().map(|(name, it)| (&**name, &**it)).collect();
    let entries: Vec<(&str, &str)> = entries.into_iter().collect();
    let mut written = 0;
    for chunk in entries.chunks(ROWS_PER_STATEMENT) {
        written += transaction
            .query("INSERT INTO mirror (namespace, name, value) VALUES ")
            .push_tuples(chunk, |query, (name, value)| {
                query.bind(namespace).bind(*name).bind(*value)
            })
            .push(" ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value")
            .push(" WHERE mirror.value <> excluded.value")
            .execute(WRITE)
            .await?;
    }
    Ok(written)
}

async fn delete_entries(
    transaction: &mut Transaction,
    namespace: &str,
    names: &[String],
) -> Result<(), Error> {
    for chunk in names.chunks(ROWS_PER_STATEMENT) {
        transaction
            .query("DELETE FROM mirror WHERE namespace = $1 AND name IN ")
            .bind(namespace)
            .push_list(chunk)
            .execute("remove entries from a mirror")
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::test_store::{TestPlace, each_engine, each_engine_on_threads};

    each_engine!(
        an_entry_is_unchanged_after_a_restart,
        a_missing_name_is_removed_and_other_namespaces_are_unchanged,
        only_differences_are_written,
        a_few_entries_change_unless_others_were_written_concurrently,
        the_later_of_two_entries_with_one_name_wins,
        an_entry_has_the_key_of_its_namespace_and_name,
    );

    each_engine_on_threads!(a_reader_never_sees_a_half_replaced_namespace,);

    const TOOLS: &str = "capability_index";

    /// From lines such as `git__log {"success_rate":1.0}`.
    fn entries(lines: &[&str]) -> Vec<(String, String)> {
        let entry = |line: &&str| {
            line.split_once(' ')
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        lines.iter().map(|line| entry(line).unwrap()).collect()
    }

    async fn names(store: &Store, namespace: &str) -> String {
        let mut names: Vec<_> = store
            .mirror_entries(namespace)
            .await
            .unwrap()
            .into_keys()
            .collect();
        names.sort();
        names.join(" ")
    }

    async fn an_entry_is_unchanged_after_a_restart(place: TestPlace) {
        let store = place.open().await;
        let value = "{ \"b\":1.0,\"a\" : 12345678901234567890, \"é\":\"\\u0000\" }\n";
        store
            .replace_mirror(TOOLS, &[("git__log".to_owned(), value.to_owned())])
            .await
            .unwrap();
        store.close().await;
        let store = place.open().await;
        assert_eq!(
            store
                .mirror_entry(TOOLS, "git__log")
                .await
                .unwrap()
                .as_deref(),
            Some(value)
        );
        assert_eq!(store.mirror_entry(TOOLS, "git__lo").await.unwrap(), None);
        assert_eq!(store.mirror_entry(TOOLS, "GIT__LOG").await.unwrap(), None);
    }

    async fn a_missing_name_is_removed_and_other_namespaces_are_unchanged(place: TestPlace) {
        let store = place.open().await;
        store
            .replace_mirror(TOOLS, &entries(&["b 1", "a 1", "c 1"]))
            .await
            .unwrap();
        store
            .replace_mirror("tenant_acme", &entries(&["z 9"]))
            .await
            .unwrap();
        store
            .replace_mirror(TOOLS, &entries(&["d 2", "a 2"]))
            .await
            .unwrap();
        assert_eq!(names(&store, TOOLS).await, "a d");
        assert_eq!(
            store.mirror_entry(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
        assert_eq!(store.mirror_entry(TOOLS, "b").await.unwrap(), None);

        store.replace_mirror(TOOLS, &[]).await.unwrap();
        assert_eq!(names(&store, TOOLS).await, "");
        assert_eq!(names(&store, "tenant_acme").await, "z");
    }

    async fn only_differences_are_written(place: TestPlace) {
        let store = place.open().await;
        let check = async |lines: &[&str], written: u64| {
            assert_eq!(
                store.replace_mirror(TOOLS, &entries(lines)).await.unwrap(),
                written,
                "{lines:?}"
            );
        };
        check(&["a 1", "b 1", "c 1"], 3).await;
        check(&["c 1", "b 1", "a 1"], 0).await;
        check(&["a 1", "b 2", "d 1"], 3).await;
        check(&[], 3).await;
    }

    async fn a_few_entries_change_unless_others_were_written_concurrently(place: TestPlace) {
        let store = place.open().await;
        store
            .replace_mirror(TOOLS, &entries(&["a 1", "b 1"]))
            .await
            .unwrap();
        store
            .replace_mirror("tenant_acme", &entries(&["z 9"]))
            .await
            .unwrap();
        let change = async |changed: &[&str], gone: &str, count: u64| {
            let gone: Vec<String> = gone.split_whitespace().map(str::to_owned).collect();
            let changed = entries(changed);
            store
                .change_mirror(TOOLS, &changed, &gone, count)
                .await
                .unwrap()
        };
        assert!(change(&["a 2", "c 1"], "b", 2).await);
        assert_eq!(names(&store, TOOLS).await, "a c");
        assert_eq!(
            store.mirror_entry(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
        assert!(!change(&["a 3", "d 1"], "", 9).await);
        assert_eq!(names(&store, TOOLS).await, "a c");
        assert_eq!(
            store.mirror_entry(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
        assert!(change(&[], "a c", 0).await);
        assert_eq!(names(&store, "tenant_acme").await, "z");
    }

    async fn the_later_of_two_entries_with_one_name_wins(place: TestPlace) {
        let store = place.open().await;
        store
            .replace_mirror(TOOLS, &entries(&["a 1", "a 2"]))
            .await
            .unwrap();
        assert_eq!(
            store.mirror_entry(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
    }

    async fn an_entry_has_the_key_of_its_namespace_and_name(place: TestPlace) {
        let store = place.open().await;
        store
            .replace_mirror(TOOLS, &entries(&["icp_scorer {}"]))
            .await
            .unwrap();
        let select = "SELECT value FROM mirror WHERE key = 'capability_index:icp_scorer'";
        let value: String = match &store.engine {
            Engine::Sqlite(it) => sqlx::query_scalar(select).fetch_one(&it.reader).await,
            Engine::Postgres(it) => sqlx::query_scalar(select).fetch_one(&it.pool).await,
        }
        .unwrap();
        assert_eq!(value, "{}");
    }

    async fn a_reader_never_sees_a_half_replaced_namespace(place: TestPlace) {
        let store = place.open().await;
        let generation = |suffix: &str| -> Vec<_> {
            (0..1200)
                .map(|number| (format!("{number}.{suffix}"), String::new()))
                .collect()
        };
        store
            .replace_mirror(TOOLS, &generation("old"))
            .await
            .unwrap();
        let replacing = tokio::spawn({
            let (store, new) = (store.clone(), generation("new"));
            async move { store.replace_mirror(TOOLS, &new).await }
        });
        loop {
            let done = replacing.is_finished();
            let seen = store.mirror_entries(TOOLS).await.unwrap();
            let new = seen.keys().filter(|name| name.ends_with("new")).count();
            assert_eq!(
                (seen.len(), new == 0 || new == 1200),
                (1200, true),
                "{new} new ones"
            );
            if done {
                assert_eq!(new, 1200);
                break;
            }
        }
        replacing.await.unwrap().unwrap();
    }
}
