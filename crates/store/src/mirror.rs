//! What an index says of its entries, to be read by exact name without searching.
//!
//! An entry's key is `{namespace}:{name}`, such as `capability_index:git__log`; its value is
//! JSON that only its writer understands.

use sqlx::{QueryBuilder, Sqlite};

use crate::{Error, Store, failed};

impl Store {
    /// Makes these the entries of the namespace, and the only ones. Readers see the former
    /// entries or these, never a mixture. Of two with the same name the later counts.
    pub async fn put_mirror(&self, namespace: &str, entries: &[(String, String)]) -> Result<(), Error> {
        let mut transaction =
            self.sqlite.writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed("begin to mirror"))?;
        sqlx::query("DELETE FROM mirror WHERE namespace = ?")
            .bind(namespace)
            .execute(&mut *transaction)
            .await
            .map_err(failed("clear a mirror"))?;
        for some in entries.chunks(ROWS_PER_STATEMENT) {
            insertion(namespace, some)
                .build()
                .persistent(some.len() == ROWS_PER_STATEMENT)
                .execute(&mut *transaction)
                .await
                .map_err(failed("mirror entries"))?;
        }
        transaction.commit().await.map_err(failed("mirror entries"))
    }

    pub async fn mirror(&self, namespace: &str, name: &str) -> Result<Option<String>, Error> {
        sqlx::query_scalar("SELECT value FROM mirror WHERE namespace = ? AND name = ?")
            .bind(namespace)
            .bind(name)
            .fetch_optional(&self.sqlite.reader)
            .await
            .map_err(failed("read a mirrored entry"))
    }

    /// In the order of the alphabet.
    pub async fn mirror_names(&self, namespace: &str) -> Result<Vec<String>, Error> {
        sqlx::query_scalar("SELECT name FROM mirror WHERE namespace = ? ORDER BY name")
            .bind(namespace)
            .fetch_all(&self.sqlite.reader)
            .await
            .map_err(failed("list mirrored entries"))
    }
}

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

fn insertion(namespace: &str, entries: &[(String, String)]) -> QueryBuilder<Sqlite> {
    let mut insert = QueryBuilder::new("INSERT INTO mirror (namespace, name, value) ");
    insert.push_values(entries, |mut values, (name, value)| {
        values.push_bind(namespace.to_owned()).push_bind(name.clone()).push_bind(value.clone());
    });
    insert.push(" ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value");
    insert
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, store};

    const TOOLS: &str = "capability_index";

    /// From lines such as `git__log {"success_rate":1.0}`.
    fn entries(lines: &[&str]) -> Vec<(String, String)> {
        let entry =
            |line: &&str| line.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()));
        lines.iter().map(|line| entry(line).unwrap()).collect()
    }

    async fn names(store: &Store, namespace: &str) -> String {
        store.mirror_names(namespace).await.unwrap().join(" ")
    }

    #[tokio::test]
    async fn an_entry_comes_back_to_the_letter_after_a_restart() {
        let (directory, store) = store().await;
        let value = "{ \"b\":1.0,\"a\" : 12345678901234567890, \"é\":\"\\u0000\" }\n";
        store.put_mirror(TOOLS, &[("git__log".to_owned(), value.to_owned())]).await.unwrap();
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(store.mirror(TOOLS, "git__log").await.unwrap().as_deref(), Some(value));
        assert_eq!(store.mirror(TOOLS, "git__lo").await.unwrap(), None);
        assert_eq!(store.mirror(TOOLS, "GIT__LOG").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_name_that_vanished_is_gone_and_other_namespaces_are_left_alone() {
        let (_directory, store) = store().await;
        store.put_mirror(TOOLS, &entries(&["b 1", "a 1", "c 1"])).await.unwrap();
        store.put_mirror("tenant_acme", &entries(&["z 9"])).await.unwrap();
        store.put_mirror(TOOLS, &entries(&["d 2", "a 2"])).await.unwrap();
        assert_eq!(names(&store, TOOLS).await, "a d");
        assert_eq!(store.mirror(TOOLS, "a").await.unwrap().as_deref(), Some("2"));
        assert_eq!(store.mirror(TOOLS, "b").await.unwrap(), None);

        store.put_mirror(TOOLS, &[]).await.unwrap();
        assert_eq!(names(&store, TOOLS).await, "");
        assert_eq!(names(&store, "tenant_acme").await, "z");
    }

    #[tokio::test]
    async fn of_two_entries_with_one_name_the_later_counts() {
        let (_directory, store) = store().await;
        store.put_mirror(TOOLS, &entries(&["a 1", "a 2"])).await.unwrap();
        assert_eq!(store.mirror(TOOLS, "a").await.unwrap().as_deref(), Some("2"));
    }

    #[tokio::test]
    async fn an_entry_is_known_outside_by_its_namespace_and_name() {
        let (_directory, store) = store().await;
        store.put_mirror(TOOLS, &entries(&["icp_scorer {}"])).await.unwrap();
        let value: String =
            sqlx::query_scalar("SELECT value FROM mirror WHERE key = 'capability_index:icp_scorer'")
                .fetch_one(&store.sqlite.reader)
                .await
                .unwrap();
        assert_eq!(value, "{}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_reader_never_meets_a_half_replaced_namespace() {
        let (_directory, store) = store().await;
        let generation = |suffix: &str| -> Vec<_> {
            (0..1200).map(|number| (format!("{number}.{suffix}"), String::new())).collect()
        };
        store.put_mirror(TOOLS, &generation("old")).await.unwrap();
        let replacing = tokio::spawn({
            let (store, new) = (store.clone(), generation("new"));
            async move { store.put_mirror(TOOLS, &new).await }
        });
        loop {
            let done = replacing.is_finished();
            let seen = store.mirror_names(TOOLS).await.unwrap();
            let new = seen.iter().filter(|name| name.ends_with("new")).count();
            assert_eq!((seen.len(), new == 0 || new == 1200), (1200, true), "{new} new ones");
            if done {
                assert_eq!(new, 1200);
                break;
            }
        }
        replacing.await.unwrap().unwrap();
    }
}
