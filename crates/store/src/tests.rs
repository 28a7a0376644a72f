//! Tests the store as a whole: opening, closing, and files that only their owner may read.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use kitbag_domain::{Tenant, Timestamp};

use crate::engine::Engine;
use crate::test_store::{TestPlace, each_engine, each_engine_on_threads, execute};
use crate::{Error, FactFilter, FeedbackQuery, KeySpec, LessonFilter, NewKey, Recognition, Store};

each_engine!(
    a_database_from_a_newer_version_is_rejected,
    check_writable_succeeds_until_the_store_is_closed,
    a_lost_pepper_is_reported_and_not_replaced_while_there_are_keys,
    an_unreadable_row_of_another_program_hides_no_other,
);

each_engine_on_threads!(many_tasks_can_open_a_new_store_at_once);

async fn create_key(store: &Store) -> Result<NewKey, Error> {
    let spec = KeySpec::user(Tenant::local());
    store.create_key(&spec, Timestamp(1)).await
}

#[tokio::test]
async fn only_the_owner_can_read_stored_data() {
    let place = TestPlace::sqlite();
    let store = place.open().await;
    create_key(&store).await.unwrap();
    let data = place.directory.path().join("data");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let entries = std::fs::read_dir(&data).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for file in &names {
        assert_eq!(mode(file), 0o600, "{}", file.display());
    }
    let names = names.iter().map(|file| file.file_name().unwrap());
    let names: Vec<_> = names.map(|name| name.to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["kitbag.db", "kitbag.db-shm", "kitbag.db-wal", "pepper"]
    );
}

async fn a_database_from_a_newer_version_is_rejected(place: TestPlace) {
    let store = place.open().await;
    let migration = match &store.engine {
        Engine::Sqlite(_) => "VALUES (9000, 'later', 0, TRUE, x'00', 0)",
        Engine::Postgres(_) => "VALUES (9000, 'later', now(), TRUE, '', 0)",
    };
    execute(&store, &format!("INSERT INTO _sqlx_migrations {migration}")).await;
    let error = Store::open(&place.address).await.unwrap_err();
    let newer = matches!(
        error,
        Error::Newer {
            found: 9000,
            known: 1..,
            ..
        }
    );
    assert!(newer, "{error}");
    assert!(error.to_string().contains("update kitbag"), "{error}");
}

/// Rows with names, roles, numbers and bytes that Kitbag never writes; `BYTES` is a literal of the
/// engine.
const HOSTILE_ROWS: &[&str] = &[
    "INSERT INTO listings VALUES ('bad name!', 'x', 'not json', -9223372036854775808)",
    "INSERT INTO api_keys (id, tenant, role, secret_hash, created_at)
     VALUES ('zzzzzzzz', 'acme''; DROP TABLE audit; --', 'user', BYTES, -5)",
    "INSERT INTO api_keys (id, tenant, role, secret_hash, created_at)
     VALUES ('yyyyyyyy', 'acme', 'god', BYTES, 9223372036854775807)",
    "INSERT INTO secrets (name, sealed, updated_at) VALUES ('bad name', BYTES, 0)",
    "INSERT INTO credentials (tenant, name, fields, sealed, updated_at)
     VALUES ('bad tenant!', 'x', '{bad', BYTES, 0)",
    "INSERT INTO learned_templates (tenant, id, revision, body, updated_at)
     VALUES ('bad tenant!', 'i', -3, '{', 0)",
    "INSERT INTO lessons (tenant, session, at, tool, signal, model, vector)
     VALUES ('bad tenant!', 0, -1, 'x', 'y', 'm', BYTES)",
    "INSERT INTO agent_feedback (tenant, at, kind, summary) VALUES ('bad tenant!', 0, 'x', 'y')",
    "INSERT INTO context_facts (tenant, fingerprint, subject, subject_key, predicate, predicate_key,
         object, source, quote, authority, observed_at)
     VALUES ('bad tenant!', BYTES, 's', 's', 'p', 'p', 'o', 'src', 'q', -99, 0)",
    "INSERT INTO priors (namespace, server, name, body, updated_at)
     VALUES ('tools', 'bad server!', 'x', '{', 0)",
];

async fn an_unreadable_row_of_another_program_hides_no_other(place: TestPlace) {
    let store = place.open().await;
    let key = create_key(&store).await.unwrap();
    let bytes = match &store.engine {
        Engine::Sqlite(_) => "x'00'",
        Engine::Postgres(_) => "'\\x00'::bytea",
    };
    for row in HOSTILE_ROWS {
        execute(&store, &row.replace("BYTES", bytes)).await;
    }
    store.close().await;
    let store = place.open().await;
    let keys = store.list_keys().await.unwrap();
    assert_eq!(keys.iter().map(|it| &it.id).collect::<Vec<_>>(), [&key.id]);
    let found = store.authenticate(key.token.reveal(), Timestamp(2)).await;
    assert!(matches!(found.unwrap(), Recognition::Known(_)));
    assert!(store.listings().await.unwrap().is_empty());
    assert!(store.learned_templates(None).await.unwrap().is_empty());
    assert!(
        store
            .lessons(&LessonFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .facts(&FactFilter::default())
            .await
            .unwrap()
            .is_empty()
    );
    assert!(store.priors("tools").await.unwrap().is_empty());
    let everything = FeedbackQuery {
        limit: 9,
        ..FeedbackQuery::default()
    };
    assert!(store.list_feedback(&everything).await.unwrap().is_empty());
}

async fn check_writable_succeeds_until_the_store_is_closed(place: TestPlace) {
    let store = place.open().await;
    store.check_writable().await.unwrap();
    store.close().await;
    assert!(store.check_writable().await.is_err());
}

#[tokio::test]
async fn check_writable_waits_for_another_process_that_writes_to_the_file() {
    let place = TestPlace::sqlite();
    let (store, other) = (place.open().await, place.open().await);
    let writing = other.engine.begin("write").await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(200), store.check_writable()).await;
    assert!(waiting.is_err(), "another process is writing");
    drop(writing);
    store.check_writable().await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_not_a_database_is_rejected_and_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kitbag.db");
    std::fs::write(&path, "dear diary".repeat(1000)).unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, Error::Database { .. }), "{error}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "dear diary".repeat(1000)
    );
}

async fn many_tasks_can_open_a_new_store_at_once(place: TestPlace) {
    let mut openings = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let address = place.address.clone();
        openings.spawn(async move { create_key(&Store::open(&address).await?).await });
    }
    let created = openings.join_all().await;
    let store = place.open().await;
    for key in created {
        let found = store
            .authenticate(key.unwrap().token.reveal(), Timestamp(9))
            .await
            .unwrap();
        assert!(matches!(found, Recognition::Known(_)), "{found:?}");
    }
}

async fn a_lost_pepper_is_reported_and_not_replaced_while_there_are_keys(place: TestPlace) {
    let store = place.open().await;
    lose_pepper(&place, &store).await;
    Store::open(&place.address)
        .await
        .expect("no key depends on the pepper yet");
    create_key(&store).await.unwrap();
    lose_pepper(&place, &store).await;
    let error = Store::open(&place.address).await.unwrap_err();
    assert!(matches!(error, Error::PepperMissing { .. }), "{error}");

    shorten_pepper(&place, &store).await;
    let error = Store::open(&place.address).await.unwrap_err();
    assert!(
        matches!(error, Error::WrongLength { found: 5, .. }),
        "{error}"
    );
}

async fn lose_pepper(place: &TestPlace, store: &Store) {
    match &store.engine {
        Engine::Sqlite(_) => {
            std::fs::remove_file(place.directory.path().join("data/pepper")).unwrap();
        }
        Engine::Postgres(_) => execute(store, "DELETE FROM properties WHERE name = 'pepper'").await,
    }
}

async fn shorten_pepper(place: &TestPlace, store: &Store) {
    match &store.engine {
        Engine::Sqlite(_) => {
            std::fs::write(place.directory.path().join("data/pepper"), "short").unwrap();
        }
        Engine::Postgres(_) => {
            execute(store, "INSERT INTO properties VALUES ('pepper', 'short')").await;
        }
    }
}
