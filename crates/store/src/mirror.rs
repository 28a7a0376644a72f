//! The mirror of an index: its entries, to be read by exact name without searching.
//!
//! An entry's key is `{namespace}:{name}`, such as `capability_index:git__log`; its value is
//! JSON that only the gateway understands.

use std::collections::HashMap;

use sqlx::{QueryBuilder, Sqlite};

use crate::sqlite::Transaction;
use crate::{Error, Store, failed};

impl Store {
    /// Makes these the entries of the namespace, and the only ones. Returns how many had to be
    /// written or removed for that. Readers see the former entries or these, never a mixture.
    /// Of two entries with the same name the later counts.
    pub async fn put_mirror(
        &self,
        namespace: &str,
        entries: &[(String, String)],
    ) -> Result<u64, Error> {
        let mut transaction = self.sqlite.begin("begin to mirror").await?;
        let present = all(namespace, &mut *transaction).await?;
        let difference = MirrorDifference::between(&present, entries);
        write(&mut transaction, namespace, &difference.changed).await?;
        remove(&mut transaction, namespace, &difference.gone).await?;
        transaction.commit("mirror entries").await?;
        Ok((difference.changed.len() + difference.gone.len()) as u64)
    }

    pub async fn mirror(&self, namespace: &str, name: &str) -> Result<Option<String>, Error> {
        sqlx::query_scalar("SELECT value FROM mirror WHERE namespace = ? AND name = ?")
            .bind(namespace)
            .bind(name)
            .fetch_optional(&self.sqlite.reader)
            .await
            .map_err(failed("read a mirrored entry"))
    }

    /// Returns every entry of the namespace, by name.
    pub async fn mirrored(&self, namespace: &str) -> Result<HashMap<String, String>, Error> {
        all(namespace, &self.sqlite.reader).await
    }
}

/// The rows that have to be written and removed.
struct MirrorDifference<'a> {
    changed: Vec<(&'a str, &'a str)>,
    gone: Vec<&'a str>,
}

impl<'a> MirrorDifference<'a> {
    fn between(present: &'a HashMap<String, String>, wanted: &'a [(String, String)]) -> Self {
        let entries = wanted.iter().map(|(name, value)| (&**name, &**value));
        let wanted: HashMap<&str, &str> = entries.collect();
        let names = present.keys().map(String::as_str);
        let gone = names.filter(|name| !wanted.contains_key(name)).collect();
        let mut changed: Vec<_> = wanted
            .into_iter()
            .filter(|(name, value)| present.get(*name).is_none_or(|former| former != value))
            .collect();
        changed.sort_unstable();
        Self { changed, gone }
    }
}

async fn write(
    transaction: &mut Transaction,
    namespace: &str,
    entries: &[(&str, &str)],
) -> Result<(), Error> {
    for some in entries.chunks(ROWS_PER_STATEMENT) {
        insertion(namespace, some)
            .build()
            .persistent(some.len() == ROWS_PER_STATEMENT)
            .execute(&mut **transaction)
            .await
            .map_err(failed("mirror entries"))?;
    }
    Ok(())
}

async fn remove(
    transaction: &mut Transaction,
    namespace: &str,
    names: &[&str],
) -> Result<(), Error> {
    for some in names.chunks(ROWS_PER_STATEMENT) {
        removal(namespace, some)
            .build()
            .execute(&mut **transaction)
            .await
            .map_err(failed("remove entries from a mirror"))?;
    }
    Ok(())
}

async fn all(
    namespace: &str,
    database: impl sqlx::Executor<'_, Database = Sqlite>,
) -> Result<HashMap<String, String>, Error> {
    let rows: Vec<(String, String)> =
        sqlx::query_as("SELECT name, value FROM mirror WHERE namespace = ?")
            .bind(namespace)
            .fetch_all(database)
            .await
            .map_err(failed("read a mirror"))?;
    Ok(rows.into_iter().collect())
}

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

fn insertion(namespace: &str, entries: &[(&str, &str)]) -> QueryBuilder<Sqlite> {
    let mut insert = QueryBuilder::new("INSERT INTO mirror (namespace, name, value) ");
    insert.push_values(entries, |mut values, (name, value)| {
        values
            .push_bind(namespace.to_owned())
            .push_bind((*name).to_owned())
            .push_bind((*value).to_owned());
    });
    insert.push(" ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value");
    insert
}

fn removal(namespace: &str, names: &[&str]) -> QueryBuilder<Sqlite> {
    let mut delete = QueryBuilder::new("DELETE FROM mirror WHERE namespace = ");
    delete
        .push_bind(namespace.to_owned())
        .push(" AND name IN (");
    let mut list = delete.separated(", ");
    for name in names {
        list.push_bind((*name).to_owned());
    }
    delete.push(")");
    delete
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, store};

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
            .mirrored(namespace)
            .await
            .unwrap()
            .into_keys()
            .collect();
        names.sort();
        names.join(" ")
    }

    #[tokio::test]
    async fn an_entry_comes_back_to_the_letter_after_a_restart() {
        let (directory, store) = store().await;
        let value = "{ \"b\":1.0,\"a\" : 12345678901234567890, \"é\":\"\\u0000\" }\n";
        store
            .put_mirror(TOOLS, &[("git__log".to_owned(), value.to_owned())])
            .await
            .unwrap();
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(
            store.mirror(TOOLS, "git__log").await.unwrap().as_deref(),
            Some(value)
        );
        assert_eq!(store.mirror(TOOLS, "git__lo").await.unwrap(), None);
        assert_eq!(store.mirror(TOOLS, "GIT__LOG").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_name_that_vanished_is_gone_and_other_namespaces_are_left_alone() {
        let (_directory, store) = store().await;
        store
            .put_mirror(TOOLS, &entries(&["b 1", "a 1", "c 1"]))
            .await
            .unwrap();
        store
            .put_mirror("tenant_acme", &entries(&["z 9"]))
            .await
            .unwrap();
        store
            .put_mirror(TOOLS, &entries(&["d 2", "a 2"]))
            .await
            .unwrap();
        assert_eq!(names(&store, TOOLS).await, "a d");
        assert_eq!(
            store.mirror(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
        assert_eq!(store.mirror(TOOLS, "b").await.unwrap(), None);

        store.put_mirror(TOOLS, &[]).await.unwrap();
        assert_eq!(names(&store, TOOLS).await, "");
        assert_eq!(names(&store, "tenant_acme").await, "z");
    }

    #[tokio::test]
    async fn only_what_differs_is_written() {
        let (_directory, store) = store().await;
        let check = async |lines: &[&str], written: u64| {
            assert_eq!(
                store.put_mirror(TOOLS, &entries(lines)).await.unwrap(),
                written,
                "{lines:?}"
            );
        };
        check(&["a 1", "b 1", "c 1"], 3).await;
        check(&["c 1", "b 1", "a 1"], 0).await;
        check(&["a 1", "b 2", "d 1"], 3).await;
        check(&[], 3).await;
    }

    #[tokio::test]
    async fn of_two_entries_with_one_name_the_later_counts() {
        let (_directory, store) = store().await;
        store
            .put_mirror(TOOLS, &entries(&["a 1", "a 2"]))
            .await
            .unwrap();
        assert_eq!(
            store.mirror(TOOLS, "a").await.unwrap().as_deref(),
            Some("2")
        );
    }

    #[tokio::test]
    async fn an_entry_has_the_key_of_its_namespace_and_name() {
        let (_directory, store) = store().await;
        store
            .put_mirror(TOOLS, &entries(&["icp_scorer {}"]))
            .await
            .unwrap();
        let value: String = sqlx::query_scalar(
            "SELECT value FROM mirror WHERE key = 'capability_index:icp_scorer'",
        )
        .fetch_one(&store.sqlite.reader)
        .await
        .unwrap();
        assert_eq!(value, "{}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_reader_never_meets_a_half_replaced_namespace() {
        let (_directory, store) = store().await;
        let generation = |suffix: &str| -> Vec<_> {
            (0..1200)
                .map(|number| (format!("{number}.{suffix}"), String::new()))
                .collect()
        };
        store.put_mirror(TOOLS, &generation("old")).await.unwrap();
        let replacing = tokio::spawn({
            let (store, new) = (store.clone(), generation("new"));
            async move { store.put_mirror(TOOLS, &new).await }
        });
        loop {
            let done = replacing.is_finished();
            let seen = store.mirrored(TOOLS).await.unwrap();
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
