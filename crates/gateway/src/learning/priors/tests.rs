//! Tests of runs over an audit whose rows have chosen times.

use std::time::Duration;

use kitbag_domain::{CallCost, Caller, Observation, Origin, Outcome, Purpose};
use kitbag_store::AuditRecord;

use super::*;

const NAMESPACE: &str = "capability_index";
/// A day with days before it.
const BEGIN: i64 = 100 * DAY;

struct Audited {
    store: Store,
    _folder: tempfile::TempDir,
}

impl Audited {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        Self {
            store,
            _folder: folder,
        }
    }

    /// Records calls with this outcome, an hour before the end of a day.
    async fn calls(&self, day: i64, outcome: Outcome, number: usize) {
        let call = Observation {
            at: Timestamp(BEGIN + day * DAY - 3_600_000),
            caller: Caller::local(),
            client: None,
            origin: Origin::default(),
            purpose: Purpose::Use,
            capability: git_log(),
            outcome,
            latency: Duration::from_millis(100),
            cost: CallCost {
                tokens: Some(500),
                price: None,
            },
            arguments: None,
        };
        let calls = vec![AuditRecord::Call(call); number];
        self.store.record_all(&calls).await.unwrap();
    }

    /// Runs at the end of a day, and returns the success rate in percent.
    async fn rate_after(&self, day: i64) -> Option<u32> {
        let now = Timestamp(BEGIN + day * DAY);
        count_new_calls(&self.store, NAMESPACE, |_| true, now)
            .await
            .unwrap();
        let track = self.track().await?;
        Some((track.success_rate() * 100.0).round() as u32)
    }

    async fn track(&self) -> Option<ToolTrack> {
        let tracks = load_tracks(&self.store, NAMESPACE).await.unwrap();
        tracks.get(&git_log()).map(|stored| stored.track.clone())
    }
}

fn git_log() -> Capability {
    Capability::tool("git".parse().unwrap(), "log")
}

#[tokio::test]
async fn a_tool_that_starts_failing_loses_its_rate_within_a_day_and_recovers() {
    let audited = Audited::new().await;
    assert_eq!(audited.rate_after(0).await, None);
    audited.calls(1, Outcome::Ok, 1).await;
    assert_eq!(audited.rate_after(1).await, Some(92), "one call counts");
    audited.calls(2, Outcome::Ok, 60).await;
    assert_eq!(audited.rate_after(2).await, Some(99));
    audited.calls(3, Outcome::ToolError, 60).await;
    assert_eq!(audited.rate_after(3).await, Some(35));
    audited.calls(4, Outcome::Ok, 60).await;
    assert_eq!(audited.rate_after(4).await, Some(80));
    audited.calls(5, Outcome::Ok, 60).await;
    assert_eq!(audited.rate_after(5).await, Some(94));
}

#[tokio::test]
async fn no_call_is_counted_twice_and_missed_days_are_counted_later() {
    let audited = Audited::new().await;
    for day in 1..=3 {
        audited.calls(day, Outcome::Ok, 8).await;
    }
    audited.rate_after(3).await;
    let once = audited.track().await.unwrap();
    assert_eq!(once.calls(), 8.0 + 4.0 + 2.0);
    audited.rate_after(3).await;
    assert_eq!(audited.track().await.unwrap(), once);

    let each = Audited::new().await;
    for day in 1..=3 {
        each.calls(day, Outcome::Ok, 8).await;
        each.rate_after(day).await;
    }
    assert_eq!(each.track().await.unwrap(), once);
    assert_eq!(once.tokens_per_answer(), Some(500.0));
    let p50 = once.latency(0.5).unwrap();
    assert!((100..110).contains(&p50.as_millis()), "{p50:?}");
}

#[tokio::test]
async fn only_existing_tools_have_priors() {
    let audited = Audited::new().await;
    audited.calls(1, Outcome::Ok, 5).await;
    audited.rate_after(1).await;
    let now = Timestamp(BEGIN + DAY);
    let summary = count_new_calls(&audited.store, NAMESPACE, |_| false, now).await;
    assert_eq!(summary.unwrap().tools, 0);
    assert_eq!(audited.track().await, None);
}
