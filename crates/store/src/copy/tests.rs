//! Tests every pair of engines, and interrupted copies.

use std::collections::HashMap;
use std::time::Duration;

use kitbag_domain::{
    NanoUsd, Observation, Outcome, RecordedArguments, ServerName, ShortText, Tenant, Timestamp,
};

use super::copy_store;
use crate::audit::tests::{EVERYTHING, new_observation, records};
use crate::test_store::{TestPlace, each_engine, execute};
use crate::{
    ApprovedDefinition, ContextVector, Error, FactFilter, FactImport, FeedbackLimits,
    FeedbackQuery, KeySpec, LessonFilter, NewFact, NewFeedback, NewKey, NewLesson, PriorsRun,
    Recognition, Secret, StateLimits, StateWrite, Store, StoredListing, StoredPrior,
    StoredTemplate, TextHash, VaultKey, VectorSpace,
};

each_engine!(
    everything_arrives_in_either_engine,
    an_interrupted_copy_continues,
    a_target_with_other_data_is_rejected,
    a_backup_is_one_file_that_can_be_restored,
);

const NOW: Timestamp = Timestamp(7);
const ROWS: usize = 2500;

fn key() -> VaultKey {
    "ab".repeat(32).parse().unwrap()
}

/// Something in every table, and more than two pages of calls.
async fn fill_store(store: &Store) -> NewKey {
    let spec = KeySpec {
        label: Some("ünï".to_owned()),
        expires_at: Some(Timestamp(1_000)),
        ..KeySpec::user("acme".parse().unwrap())
    };
    let created = store.create_key(&spec, NOW).await.unwrap();
    let listing = StoredListing {
        server: "git".parse().unwrap(),
        fingerprint: "f".to_owned(),
        body: "{}".to_owned(),
        listed_at: NOW,
    };
    store.put_listing(&listing).await.unwrap();
    let template = StoredTemplate {
        tenant: "acme".parse().unwrap(),
        id: "1".to_owned(),
        revision: 0,
        body: "{}".to_owned(),
        updated_at: NOW,
    };
    assert!(store.put_learned_template(&template).await.unwrap());
    store.add_lessons(&[lesson()]).await.unwrap();
    let approved = ApprovedDefinition {
        hash: [7; 32],
        body: "{}".to_owned(),
        approved_at: NOW,
    };
    store.put_approved_definitions(&[approved]).await.unwrap();
    fill_agent_tables(store).await;
    let (vault, secret) = (store.vault(Some(key())), Secret::new("1"));
    vault
        .put_secret(&"token".parse().unwrap(), &secret, NOW)
        .await
        .unwrap();
    let server: ServerName = "docs".parse().unwrap();
    vault.put_login(&server, &secret, NOW).await.unwrap();
    let mirror = store
        .mirror_namespace("tools", "/kitbag.toml", NOW)
        .await
        .unwrap();
    let entry = ("a".to_owned(), "{}".to_owned());
    store.replace_mirror(&mirror, &[entry]).await.unwrap();
    for namespace in ["capability_index", "tenant_acme"] {
        let vector = (TextHash::for_text(namespace), vec![1.5, -2.0]);
        store
            .put_vectors(space(namespace), &[vector])
            .await
            .unwrap();
    }
    let run = PriorsRun {
        counted_to: 7,
        counted_at: NOW,
    };
    let prior = StoredPrior {
        server: "git".parse().unwrap(),
        name: "log".to_owned(),
        body: "{}".to_owned(),
        updated_at: NOW,
    };
    store.replace_priors("tools", run, &[prior]).await.unwrap();
    let rows = (0..ROWS).map(row);
    store.record_all(&records(rows)).await.unwrap();
    created
}

async fn fill_agent_tables(store: &Store) {
    let acme: Tenant = "acme".parse().unwrap();
    let write = StateWrite {
        key: "k".to_owned(),
        value: "1".to_owned(),
        if_version: None,
        expires_at: Some(Timestamp(1_000)),
    };
    let limits = StateLimits { keys: 9, bytes: 9 };
    store.put_state(&acme, &write, limits, NOW).await.unwrap();
    let feedback = NewFeedback {
        tenant: acme,
        key: None,
        client: None,
        at: NOW,
        kind: "bug".to_owned(),
        severity: None,
        tool: None,
        summary: "it fails".to_owned(),
        details: None,
    };
    let limits = FeedbackLimits {
        open: 9,
        resolved: 9,
    };
    store.add_feedback(&feedback, limits).await.unwrap();
    let import = FactImport {
        holder: None,
        replaced_source: None,
        facts: &[fact()],
        most: 9,
    };
    store.import_facts(import).await.unwrap();
}

fn fact() -> NewFact {
    NewFact {
        tenant: None,
        subject: "Contoso".to_owned(),
        subject_key: "contoso".to_owned(),
        predicate: "employees".to_owned(),
        predicate_key: "employees".to_owned(),
        object: "900".to_owned(),
        source: "CRM".to_owned(),
        url: None,
        quote: "900 people".to_owned(),
        authority: 1,
        observed_at: NOW,
        valid_until: None,
        meaning: lesson().context,
    }
}

async fn agent_contents(store: &Store) -> String {
    let acme: Tenant = "acme".parse().unwrap();
    let query = FeedbackQuery {
        limit: 9,
        ..FeedbackQuery::default()
    };
    format!(
        "{:?} {:?} {:?}",
        store.get_state(&acme, "k", NOW).await.unwrap(),
        store.list_feedback(&query).await.unwrap(),
        store.facts(&FactFilter::default()).await.unwrap(),
    )
}

fn lesson() -> NewLesson {
    NewLesson {
        tenant: "acme".parse().unwrap(),
        credential: None,
        session: 1,
        at: NOW,
        tool: "git__log".to_owned(),
        signal: "used".to_owned(),
        context: Some(ContextVector {
            model: "m".to_owned(),
            vector: vec![1.0, -1.0],
        }),
        words: None,
    }
}

/// The call of this number; every second one belongs to a run of code.
fn row(number: usize) -> Observation {
    let mut call = new_observation(number as i64, "acme", &format!("git/{number}"));
    call.origin.run = (number % 2 == 1).then(|| ShortText::truncate("5ea7"));
    call.cost.tokens = number.is_multiple_of(2).then_some(12);
    call.cost.price = number.is_multiple_of(3).then_some(NanoUsd(5));
    call.arguments = number
        .is_multiple_of(2)
        .then(|| RecordedArguments::truncate("{}"));
    call
}

fn space(namespace: &str) -> VectorSpace<'_> {
    VectorSpace {
        namespace,
        model: "m",
    }
}

/// Everything that can be read from a store.
async fn contents(store: &Store, token: &str) -> String {
    let vault = store.vault(Some(key()));
    let server = "docs".parse().unwrap();
    let hashes = ["capability_index", "tenant_acme"].map(TextHash::for_text);
    let found = store.authenticate(token, NOW).await.unwrap();
    assert!(matches!(found, Recognition::Known(_)), "{found:?}");
    format!(
        "{:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        store.approved_bodies(&[[7; 32]]).await.unwrap(),
        agent_contents(store).await,
        store.priors("tools").await.unwrap(),
        store.priors_run("tools").await.unwrap(),
        store.list_keys().await.unwrap(),
        store.listings().await.unwrap(),
        store.learned_templates(None).await.unwrap(),
        store.lessons(&LessonFilter::default()).await.unwrap(),
        vault.open_all().await.unwrap(),
        vault
            .login(&server)
            .await
            .unwrap()
            .map(|it| it.reveal().to_owned()),
        store.mirror_entries("tools").await.unwrap(),
        store
            .mirror_namespace("tools", "/kitbag.toml", NOW)
            .await
            .unwrap(),
        store
            .vectors(space("capability_index"), &hashes)
            .await
            .unwrap(),
        store.vectors(space("tenant_acme"), &hashes).await.unwrap(),
        store.read_audit(&EVERYTHING).await.unwrap(),
    )
}

async fn everything_arrives_in_either_engine(place: TestPlace) {
    let from = place.open().await;
    let key = fill_store(&from).await;
    let wanted = contents(&from, key.token.reveal()).await;
    for target in [TestPlace::sqlite(), TestPlace::postgres()] {
        let to = target.open().await;
        let mut last = HashMap::new();
        let report = copy_store(&from, &to, |it| last.extend([(it.table, (it.rows, it.of))]));
        let report = report.await.unwrap();
        assert!(!report.resumed && report.tables.contains(&("audit", ROWS as u64)));
        assert_eq!(last["audit"], (ROWS as u64, ROWS as u64));
        assert_eq!(contents(&to, key.token.reveal()).await, wanted);
        to.close().await;

        let to = target.open().await;
        assert_eq!(
            contents(&to, key.token.reveal()).await,
            wanted,
            "also after a restart"
        );
        to.record_all(&records([new_observation(1, "acme", "git/next")]))
            .await
            .unwrap();
        assert_eq!(to.newest_audit_row_id().await.unwrap(), ROWS as i64 + 1);
    }
}

async fn an_interrupted_copy_continues(place: TestPlace) {
    let from = place.open().await;
    let key = fill_store(&from).await;
    execute(
        &from,
        "UPDATE audit SET outcome = 'unfinished' WHERE id = 700",
    )
    .await;
    for target in [TestPlace::sqlite(), TestPlace::postgres()] {
        let to = target.open().await;
        // Dropped in the middle of the last table, like a process that ends.
        let (send, mut page) = tokio::sync::mpsc::unbounded_channel();
        let copying = copy_store(&from, &to, |it| {
            if it.table == "audit" {
                let _ = send.send(it.rows);
            }
        });
        tokio::select! {
            done = copying => panic!("the copy was faster: {done:?}"),
            _ = page.recv() => {}
        }
        execute(&from, "UPDATE audit SET outcome = 'ok' WHERE id = 700").await;
        execute(&from, "UPDATE listings SET body = '[]'").await;
        let report = copy_store(&from, &to, |_| {}).await.unwrap();
        assert!(report.resumed);
        let wanted = contents(&from, key.token.reveal()).await;
        assert_eq!(contents(&to, key.token.reveal()).await, wanted);

        // Another copy into the finished target would overwrite a store that is in use.
        let again = copy_store(&from, &to, |_| {}).await.unwrap_err();
        assert!(matches!(again, Error::CopyTarget { .. }), "{again}");
    }
}

async fn a_target_with_other_data_is_rejected(place: TestPlace) {
    let from = place.open().await;
    let to = TestPlace::sqlite();
    let to = to.open().await;
    let spec = KeySpec::user(Tenant::local());
    let key = to.create_key(&spec, NOW).await.unwrap();
    let error = copy_store(&from, &to, |_| {}).await.unwrap_err();
    assert!(matches!(error, Error::CopyTarget { .. }), "{error}");
    let found = to.authenticate(key.token.reveal(), NOW).await.unwrap();
    assert!(matches!(found, Recognition::Known(_)), "it is unchanged");
}

async fn a_backup_is_one_file_that_can_be_restored(place: TestPlace) {
    let store = place.open().await;
    let key = fill_store(&store).await;
    let wanted = contents(&store, key.token.reveal()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kitbag.backup");
    store.back_up(&file, |_| {}).await.unwrap();
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let again = store.back_up(&file, |_| {}).await.unwrap_err();
    assert!(matches!(again, Error::BackupExists { .. }), "{again}");

    let backup = Store::open(&file).await.unwrap();
    for target in [TestPlace::sqlite(), TestPlace::postgres()] {
        let restored = target.open().await;
        copy_store(&backup, &restored, |_| {}).await.unwrap();
        assert_eq!(contents(&restored, key.token.reveal()).await, wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_use_is_copied_from_one_snapshot() {
    let (place, target) = (TestPlace::sqlite(), TestPlace::postgres());
    let (from, to) = (place.open().await, target.open().await);
    fill_store(&from).await;
    let writing = tokio::spawn({
        let from = from.clone();
        async move {
            for at in 0.. {
                let mut row = new_observation(at, "acme", "git/busy");
                row.outcome = Outcome::ToolError;
                from.record_all(&records([row])).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let report = copy_store(&from, &to, |_| {}).await.unwrap();
    writing.abort();
    let (_, rows) = report.tables[report.tables.len() - 1];
    assert!(rows >= ROWS as u64);
    assert_eq!(to.read_audit(&EVERYTHING).await.unwrap().len() as u64, rows);
}
