//! Breaks a real PostgreSQL server under the store in every way it breaks in practice. No
//! acknowledged write may be lost, no answer may be wrong, and the store recovers by itself.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod server;
mod silent;
mod tls;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kitbag_domain::{
    CallCost, Caller, Capability, Observation, Origin, Outcome, Purpose, Tenant, Timestamp,
};
use kitbag_store::{
    AuditQuery, AuditRow, AuditSink, Error, KeySpec, NewKey, Recognition, Store, StoredListing,
};
use server::{OwnServer, cut, execute};

const NOW: Timestamp = Timestamp(1);

fn call(name: &str) -> Observation {
    Observation {
        at: NOW,
        caller: Caller::local(),
        client: None,
        origin: Origin::default(),
        purpose: Purpose::Use,
        capability: Capability::tool("git".parse().unwrap(), name),
        outcome: Outcome::Ok,
        latency: Duration::ZERO,
        cost: CallCost::default(),
        arguments: None,
    }
}

fn listing(body: &str) -> StoredListing {
    StoredListing {
        server: "git".parse().unwrap(),
        fingerprint: String::new(),
        body: body.to_owned(),
        listed_at: NOW,
    }
}

async fn create_key(store: &Store) -> Result<NewKey, Error> {
    store.create_key(&KeySpec::user(Tenant::local()), NOW).await
}

async fn is_known(store: &Store, key: &NewKey) -> Result<bool, Error> {
    let found = store.authenticate(key.token.reveal(), NOW).await?;
    Ok(matches!(found, Recognition::Known(_)))
}

/// How often each name is in the audit.
async fn count_calls_by_name(store: &Store) -> HashMap<String, usize> {
    let rows = store
        .read_audit(&AuditQuery::newest(u32::MAX))
        .await
        .unwrap();
    let mut counts = HashMap::new();
    for name in rows.iter().filter_map(AuditRow::capability) {
        *counts.entry(name.name.clone()).or_default() += 1;
    }
    counts
}

/// Retries until it succeeds, which it must within half a minute.
async fn eventually<T>(mut attempt: impl AsyncFnMut() -> Result<T, Error>) -> T {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        match attempt().await {
            Ok(done) => return done,
            Err(error) => assert!(Instant::now() < deadline, "it did not recover: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn wait_until(what: &str, condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition().await {
        assert!(Instant::now() < deadline, "it did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Writes keys and calls until it is asked to end, and records which were acknowledged.
struct BusyWriter {
    task: tokio::task::JoinHandle<BusyResult>,
    end: Arc<AtomicBool>,
}

#[derive(Default)]
struct BusyResult {
    keys: Vec<NewKey>,
    calls: usize,
    failures: usize,
}

impl BusyWriter {
    fn start(store: &Store, sink: &AuditSink) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(keep_writing(store.clone(), sink.clone(), end.clone()));
        Self { task, end }
    }

    async fn finish(self) -> BusyResult {
        self.end.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

async fn keep_writing(store: Store, sink: AuditSink, end: Arc<AtomicBool>) -> BusyResult {
    let mut result = BusyResult::default();
    while !end.load(Ordering::Relaxed) {
        sink.record_call(call(&result.calls.to_string()));
        result.calls += 1;
        match create_key(&store).await {
            Ok(key) => result.keys.push(key),
            Err(_) => result.failures += 1,
        }
        // A full queue would lose calls, which is not tested here.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    result
}

/// Checks that everything acknowledged is stored, and each call once.
async fn check(store: &Store, sink: &AuditSink, result: &BusyResult) {
    sink.flush().await;
    assert_eq!(sink.lost_count(), 0);
    let rows = count_calls_by_name(store).await;
    assert_eq!(rows.len(), result.calls, "calls are missing");
    let twice: Vec<_> = rows.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    for key in &result.keys {
        assert!(is_known(store, key).await.unwrap(), "{} is lost", key.id);
    }
    assert!(!result.keys.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_repeatedly_loses_no_acknowledged_write() {
    let mut server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let sink = store.start_audit_sink();
    let writer = BusyWriter::start(&store, &sink);
    for _ in 0..3 {
        eventually(async || create_key(&store).await).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.0.crash();
        server.0.start_again().await;
    }
    eventually(async || create_key(&store).await).await;
    let result = writer.finish().await;
    assert!(result.failures > 0, "the crashes were noticed");
    check(&store, &sink, &result).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_cut_at_any_moment_neither_lose_nor_duplicate_rows() {
    let server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let sink = store.start_audit_sink();
    let mut session = server.session().await;
    let writer = BusyWriter::start(&store, &sink);
    for round in 0..60 {
        // Every other cut meets a statement that is under way.
        let which = if round % 2 == 0 {
            "state <> 'idle'"
        } else {
            "TRUE"
        };
        cut(&mut session, which).await;
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let result = writer.finish().await;
    check(&store, &sink, &result).await;
}

#[tokio::test]
async fn a_committed_but_unacknowledged_batch_is_not_written_again() {
    let server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let sink = store.start_audit_sink();
    let mut session = server.session().await;
    // A commit is done and then waits for a standby that does not exist; there it is cut.
    execute(
        &mut session,
        "ALTER SYSTEM SET synchronous_standby_names = 'absent'",
    )
    .await;
    execute(&mut session, "SELECT pg_reload_conf()").await;
    sink.record_call(call("1"));
    while !cut(&mut session, "wait_event = 'SyncRep'").await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    execute(&mut session, "ALTER SYSTEM RESET synchronous_standby_names").await;
    execute(&mut session, "SELECT pg_reload_conf()").await;
    wait_until("the cut is noticed", async || sink.is_failing()).await;
    sink.record_call(call("2"));
    sink.flush().await;
    let once = ["1", "2"].map(|name| (name.to_owned(), 1));
    assert_eq!(count_calls_by_name(&store).await, HashMap::from(once));
}

#[tokio::test]
async fn while_the_server_is_stopped_rows_are_queued_and_cached_keys_are_recognized() {
    let mut server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let (sink, key) = (store.start_audit_sink(), create_key(&store).await.unwrap());
    let unseen = create_key(&store).await.unwrap();
    let mut changes = store.watch_changes();
    assert!(is_known(&store, &key).await.unwrap());
    wait_until("it listens", async || {
        store.watch_changes().borrow().keys > 0
    })
    .await;
    server.0.stop();
    for number in 0..100 {
        sink.record_call(call(&number.to_string()));
    }
    wait_until("the sink says that it fails", async || sink.is_failing()).await;
    assert_eq!((sink.queued_count(), sink.lost_count()), (100, 0));
    let error = store.put_listing(&listing("1")).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    for _ in 0..3 {
        assert!(is_known(&store, &key).await.unwrap());
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    let error = is_known(&store, &unseen).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");

    changes.mark_unchanged();
    server.0.start_again().await;
    sink.flush().await;
    assert_eq!(
        (count_calls_by_name(&store).await.len(), sink.lost_count()),
        (100, 0)
    );
    assert!(!sink.is_failing());
    let heard = tokio::time::timeout(Duration::from_secs(90), changes.changed()).await;
    heard.expect("it listens again").unwrap();
    assert!(is_known(&store, &key).await.unwrap());
    let elsewhere = Store::open(&server.address()).await.unwrap();
    elsewhere.revoke_key(&key.id, NOW).await.unwrap();
    wait_until("the key is refused", async || {
        !is_known(&store, &key).await.unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_call_that_needs_its_row_first_is_rejected_in_time_while_the_server_is_unreachable_or_hangs()
 {
    let mut server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let sink = store.start_audit_sink();
    let row = sink.begin_call(call("before")).await.unwrap();
    sink.end_call(row, Outcome::Ok, Duration::ZERO, CallCost::default());
    sink.flush().await;
    for (name, hangs) in [("away", false), ("frozen", true)] {
        match hangs {
            true => server.0.freeze(),
            false => server.0.stop(),
        }
        // More than one batch of the writer.
        for number in 0..2000 {
            sink.record_call(call(&format!("{name} {number}")));
        }
        for attempt in 0..3 {
            let begin = Instant::now();
            sink.begin_call(call(name)).await.unwrap_err();
            let most = Duration::from_secs(if attempt == 0 { 15 } else { 5 });
            assert!(begin.elapsed() < most, "{name}: {:?}", begin.elapsed());
        }
        match hangs {
            true => server.0.thaw(),
            false => server.0.start_again().await,
        }
        wait_until("calls are recorded again", async || {
            sink.begin_call(call("after")).await.is_ok()
        })
        .await;
        sink.flush().await;
    }
    let rows = count_calls_by_name(&store).await;
    assert_eq!((rows["before"], sink.lost_count()), (1, 0));
    assert!((0..2000).all(|number| rows[&format!("away {number}")] == 1));
    assert!((0..2000).all(|number| rows[&format!("frozen {number}")] == 1));
}

#[tokio::test]
async fn a_server_that_hangs_gives_errors_in_time_and_no_wrong_answers() {
    let server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let (sink, key) = (store.start_audit_sink(), create_key(&store).await.unwrap());
    assert!(is_known(&store, &key).await.unwrap());
    server.0.freeze();
    sink.record_call(call("1"));
    let begin = Instant::now();
    let error = store.put_listing(&listing("1")).await.unwrap_err();
    assert!(
        matches!(error, Error::Silent { .. } | Error::Unavailable { .. }),
        "{error:?}"
    );
    assert!(begin.elapsed() < Duration::from_secs(60));
    let begin = Instant::now();
    assert!(is_known(&store, &key).await.unwrap(), "it was seen before");
    assert!(begin.elapsed() < Duration::from_secs(30));
    server.0.thaw();
    eventually(async || store.put_listing(&listing("2")).await).await;
    sink.flush().await;
    assert_eq!(
        count_calls_by_name(&store).await,
        HashMap::from([("1".to_owned(), 1)])
    );
    assert!(eventually(async || is_known(&store, &key).await).await);
}

#[tokio::test]
async fn a_store_is_opened_while_its_server_starts_and_a_missing_server_is_named() {
    let mut server = OwnServer::start().await;
    let address = server.address();
    server.0.stop();
    let error = Store::open(&address).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains("postgres://kitbag@"), "{error}");
    let (opened, ()) = tokio::join!(Store::open(&address), server.0.start_again());
    opened.unwrap();
}

#[tokio::test]
async fn a_lock_of_another_program_is_named_as_the_reason() {
    let server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let mut other = server.session().await;
    execute(&mut other, "BEGIN").await;
    execute(&mut other, "LOCK TABLE listings").await;
    let error = store.put_listing(&listing("1")).await.unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error:?}");
    assert!(error.to_string().contains("holds a lock"), "{error}");
    execute(&mut other, "ROLLBACK").await;
    store.put_listing(&listing("1")).await.unwrap();
}

#[tokio::test]
async fn a_key_revoked_elsewhere_is_rejected_within_a_second_even_without_notifications() {
    let server = OwnServer::start().await;
    let (here, elsewhere) = (
        Store::open(&server.address()).await.unwrap(),
        Store::open(&server.address()).await.unwrap(),
    );
    for hears in [true, false] {
        let key = create_key(&elsewhere).await.unwrap();
        assert!(is_known(&here, &key).await.unwrap());
        wait_until("it listens", async || {
            here.watch_changes().borrow().keys > 0
        })
        .await;
        assert!(is_known(&here, &key).await.unwrap());
        if !hears {
            server.freeze_connection("SELECT 1").await;
        }
        let begin = Instant::now();
        elsewhere.revoke_key(&key.id, NOW).await.unwrap();
        while is_known(&here, &key).await.unwrap() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = begin.elapsed();
        // A second where nothing else runs.
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

/// Names that fill a table soon, because they cannot be compressed.
fn long_name() -> String {
    let numbers = (0..60).map(|_| getrandom::u64().unwrap());
    numbers.map(|number| format!("{number:016x}")).collect()
}

#[tokio::test]
async fn a_full_disk_stops_the_audit_and_nothing_of_it_is_lost() {
    let server = OwnServer::start().await;
    let store = Store::open(&server.address()).await.unwrap();
    let sink = store.start_audit_sink();
    let key = create_key(&store).await.unwrap();
    server.0.limit_files("3000000");
    let mut calls = 0;
    while !sink.is_failing() {
        for _ in 0..200 {
            sink.record_call(call(&long_name()));
            calls += 1;
        }
        while !sink.is_failing() && sink.queued_count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert!(
        is_known(&store, &key).await.unwrap(),
        "it can still be read"
    );
    assert!(count_calls_by_name(&store).await.len() < calls);
    server.0.limit_files("unlimited");
    sink.flush().await;
    let rows = count_calls_by_name(&store).await;
    assert_eq!((rows.len(), sink.lost_count()), (calls, 0));
    assert!(rows.values().all(|count| *count == 1));
}
