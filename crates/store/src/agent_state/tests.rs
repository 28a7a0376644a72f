//! Tests values of agents, on both engines.

use super::*;
use crate::test_store::{TestPlace, each_engine, each_engine_on_threads};

each_engine!(
    a_value_is_returned_verbatim_and_only_to_its_tenant,
    a_writer_can_require_the_version_that_it_read,
    an_expired_value_is_hidden_and_makes_room,
    keys_are_listed_by_prefix_page_by_page,
    a_tenant_stores_no_more_than_its_limit,
);
each_engine_on_threads!(counts_of_several_agents_add_up);

const LIMITS: StateLimits = StateLimits { keys: 3, bytes: 30 };
const NOW: Timestamp = Timestamp(100);

fn tenant(name: &str) -> Tenant {
    name.parse().unwrap()
}

fn write(key: &str, value: &str) -> StateWrite {
    StateWrite {
        key: key.to_owned(),
        value: value.to_owned(),
        if_version: None,
        expires_at: None,
    }
}

async fn put(store: &Store, of: &str, write: &StateWrite) -> StateWriteOutcome {
    let put = store.put_state(&tenant(of), write, LIMITS, NOW).await;
    put.unwrap()
}

async fn value(store: &Store, of: &str, key: &str, now: i64) -> Option<String> {
    let found = store
        .get_state(&tenant(of), key, Timestamp(now))
        .await
        .unwrap();
    found.map(|(_, value)| value)
}

async fn a_value_is_returned_verbatim_and_only_to_its_tenant(place: TestPlace) {
    let store = place.open().await;
    let letter = "{ \"b\":1, \"a\": 1.0 }";
    put(&store, "acme", &write("ünï", letter)).await;
    store.close().await;
    let store = place.open().await;
    let (entry, found) = store
        .get_state(&tenant("acme"), "ünï", NOW)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found, letter);
    assert_eq!((entry.version, entry.updated_at), (1, NOW));
    assert_eq!(entry.bytes, "ünï".len() as i64 + letter.len() as i64);
    assert_eq!(value(&store, "globex", "ünï", 100).await, None);
    let all = StatePage {
        limit: 9,
        ..StatePage::default()
    };
    let listed = store.list_state(&tenant("globex"), &all, NOW).await;
    assert_eq!(listed.unwrap(), []);
    let gone = store
        .delete_state(&tenant("globex"), "ünï", None, NOW)
        .await;
    assert_eq!(gone.unwrap(), StateDeleteOutcome::Absent);
    assert!(value(&store, "acme", "ünï", 100).await.is_some());
}

async fn a_writer_can_require_the_version_that_it_read(place: TestPlace) {
    let store = place.open().await;
    for (wanted, written) in [
        (Some(1), StateWriteOutcome::OtherVersion(0)),
        (Some(0), StateWriteOutcome::Written(1)),
        (Some(0), StateWriteOutcome::OtherVersion(1)),
        (None, StateWriteOutcome::Written(2)),
        (Some(1), StateWriteOutcome::OtherVersion(2)),
        (Some(2), StateWriteOutcome::Written(3)),
    ] {
        let write = StateWrite {
            if_version: wanted,
            ..write("k", "1")
        };
        assert_eq!(put(&store, "acme", &write).await, written, "{wanted:?}");
    }
    for (wanted, deleted) in [
        (Some(2), StateDeleteOutcome::OtherVersion(3)),
        (Some(3), StateDeleteOutcome::Deleted),
        (Some(3), StateDeleteOutcome::OtherVersion(0)),
        (Some(0), StateDeleteOutcome::Absent),
        (None, StateDeleteOutcome::Absent),
    ] {
        let done = store.delete_state(&tenant("acme"), "k", wanted, NOW).await;
        assert_eq!(done.unwrap(), deleted, "{wanted:?}");
    }
    let again = put(&store, "acme", &write("k", "1")).await;
    assert_eq!(
        again,
        StateWriteOutcome::Written(4),
        "no version comes again"
    );
}

async fn an_expired_value_is_hidden_and_makes_room(place: TestPlace) {
    let store = place.open().await;
    let mut ending = write("a", &"1".repeat(29));
    ending.expires_at = Some(Timestamp(200));
    put(&store, "acme", &ending).await;
    let full = put(&store, "acme", &write("b", "1")).await;
    assert_eq!(full, StateWriteOutcome::TooManyBytes);
    assert!(value(&store, "acme", "a", 199).await.is_some());
    assert!(value(&store, "acme", "a", 200).await.is_none());
    let page = StatePage {
        limit: 9,
        ..StatePage::default()
    };
    let acme = tenant("acme");
    let listed = store.list_state(&acme, &page, Timestamp(200)).await;
    assert_eq!(listed.unwrap(), []);
    let later = StateWrite {
        if_version: Some(0),
        ..write("a", "2")
    };
    let later = store.put_state(&acme, &later, LIMITS, Timestamp(200)).await;
    assert_eq!(later.unwrap(), StateWriteOutcome::Written(2));
    assert_eq!(value(&store, "acme", "a", 999).await.as_deref(), Some("2"));
}

async fn keys_are_listed_by_prefix_page_by_page(place: TestPlace) {
    let store = place.open().await;
    let roomy = StateLimits {
        keys: 99,
        bytes: 999,
    };
    let last = "run/\u{10ffff}";
    for key in ["run/2", "run/10", "runs", "Run/1", "run/é", last, "run"] {
        let (acme, write) = (tenant("acme"), write(key, "1"));
        store.put_state(&acme, &write, roomy, NOW).await.unwrap();
    }
    for (prefix, after, limit, keys) in [
        ("run/", None, 9, vec!["run/10", "run/2", "run/é", last]),
        ("run/", None, 2, vec!["run/10", "run/2"]),
        ("run/", Some("run/2"), 2, vec!["run/é", last]),
        ("run/", Some("run/3"), 1, vec!["run/é"]),
        (last, None, 9, vec![last]),
        ("", Some("run/é"), 9, vec![last, "runs"]),
        ("%", None, 9, vec![]),
    ] {
        let page = StatePage {
            prefix: prefix.to_owned(),
            after: after.map(str::to_owned),
            limit,
        };
        let found = store.list_state(&tenant("acme"), &page, NOW).await.unwrap();
        let found: Vec<&str> = found.iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!(found, keys, "{page:?}");
    }
}

async fn a_tenant_stores_no_more_than_its_limit(place: TestPlace) {
    let store = place.open().await;
    for (of, key, value, written) in [
        (
            "acme",
            "a",
            "1234567890123456789",
            StateWriteOutcome::Written(1),
        ),
        ("acme", "b", "123456789", StateWriteOutcome::Written(2)),
        ("acme", "c", "1", StateWriteOutcome::TooManyBytes),
        ("acme", "b", "1", StateWriteOutcome::Written(3)),
        ("acme", "c", "1", StateWriteOutcome::Written(4)),
        ("acme", "d", "1", StateWriteOutcome::TooManyKeys),
        ("acme", "a", "1", StateWriteOutcome::Written(5)),
        ("globex", "d", "1", StateWriteOutcome::Written(1)),
    ] {
        let done = put(&store, of, &write(key, value)).await;
        assert_eq!(done, written, "{of} {key} {value}");
    }
    let gone = store.delete_state(&tenant("acme"), "a", None, NOW).await;
    assert_eq!(gone.unwrap(), StateDeleteOutcome::Deleted);
    let next = put(&store, "acme", &write("d", "1")).await;
    assert_eq!(next, StateWriteOutcome::Written(6));
}

async fn counts_of_several_agents_add_up(place: TestPlace) {
    const EACH: u32 = 20;
    let mut agents = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = place.open().await;
        agents.spawn(async move {
            for _ in 0..EACH {
                count_one(&store).await;
            }
        });
    }
    agents.join_all().await;
    let store = place.open().await;
    let found = value(&store, "acme", "count", 100).await;
    assert_eq!(found, Some((4 * EACH).to_string()));
}

async fn count_one(store: &Store) {
    loop {
        let found = store
            .get_state(&tenant("acme"), "count", NOW)
            .await
            .unwrap();
        let (version, count) = found.map_or((0, 0), |(entry, value)| {
            (entry.version, value.parse::<u32>().unwrap())
        });
        let next = StateWrite {
            if_version: Some(version),
            ..write("count", &(count + 1).to_string())
        };
        if matches!(
            put(store, "acme", &next).await,
            StateWriteOutcome::Written(_)
        ) {
            return;
        }
    }
}
