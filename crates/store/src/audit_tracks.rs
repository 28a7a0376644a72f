//! How tools have done lately, out of what was recorded of their calls.

use std::collections::HashMap;
use std::time::Duration;

use kitbag_domain::{Capability, Outcome, ServerName, Timestamp};

use crate::{Error, Store, failed, unreadable};

/// The calls of one tool, in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Track {
    /// Calls whose end says something about the tool.
    pub calls: usize,
    pub succeeded: usize,
    /// Of the calls that were carried out, from the fastest to the slowest.
    latencies: Vec<u32>,
}

/// The newest calls decide; counting more would take long on a busy gateway and say the same.
const MOST_ROWS: u32 = 200_000;

impl Store {
    /// The tracks of all tools called since then.
    pub async fn tracks(&self, since: Timestamp) -> Result<HashMap<Capability, Track>, Error> {
        let rows: Vec<(String, String, String, i64)> = sqlx::query_as(
            "SELECT server, name, outcome, latency_us FROM audit
             WHERE at >= ? AND kind = 'tool' AND purpose = 'use'
             ORDER BY at DESC LIMIT ?",
        )
        .bind(since.0)
        .bind(MOST_ROWS)
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("count how tools have done"))?;
        let mut tracks: HashMap<Capability, Track> = HashMap::new();
        for (server, name, outcome, latency) in rows {
            let outcome = Outcome::parse(&outcome).ok_or_else(|| unreadable("outcome", outcome))?;
            let server: ServerName = server
                .parse()
                .map_err(|_| unreadable("server name", server))?;
            tracks
                .entry(Capability::tool(server, name))
                .or_default()
                .add(outcome, latency);
        }
        for track in tracks.values_mut() {
            track.latencies.sort_unstable();
        }
        tracks.retain(|_, track| track.calls > 0);
        Ok(tracks)
    }
}

impl Track {
    /// The time within which this share of the calls was done.
    pub fn latency(&self, share: f64) -> Option<Duration> {
        let last = self.latencies.len().checked_sub(1)?;
        let rank = (self.latencies.len() as f64 * share).ceil() as usize;
        let micros = self.latencies[rank.saturating_sub(1).min(last)];
        Some(Duration::from_micros(micros.into()))
    }

    fn add(&mut self, outcome: Outcome, latency: i64) {
        let (counts, carried_out) = match outcome {
            Outcome::Ok | Outcome::ToolError | Outcome::TimedOut => (true, true),
            Outcome::Refused | Outcome::Unavailable => (true, false),
            // Nothing of this is the tool's doing.
            Outcome::Denied
            | Outcome::Invalid
            | Outcome::Cancelled
            | Outcome::InputRequired
            | Outcome::Unfinished => (false, false),
        };
        self.calls += usize::from(counts);
        self.succeeded += usize::from(outcome == Outcome::Ok);
        if carried_out {
            self.latencies
                .push(u32::try_from(latency).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Kind, Purpose};

    use super::*;
    use crate::audit::tests::{records, seen};
    use crate::tests::store;

    fn milliseconds(track: &Track, share: f64) -> u128 {
        track.latency(share).unwrap().as_millis()
    }

    #[tokio::test]
    async fn latencies_are_those_that_most_calls_stay_below() {
        let (_directory, store) = store().await;
        let mut rows: Vec<_> = (1..=100)
            .map(|number| {
                let mut it = seen(100, "acme", "git/log");
                it.latency = Duration::from_millis(number);
                it
            })
            .collect();
        rows.reverse();
        store.record(&records(rows)).await.unwrap();
        let tracks = store.tracks(Timestamp(0)).await.unwrap();
        let track = &tracks[&seen(0, "acme", "git/log").capability];
        assert_eq!((track.calls, track.succeeded), (100, 100));
        assert_eq!(
            [0.5, 0.95, 0.99, 1.0].map(|share| milliseconds(track, share)),
            [50, 95, 99, 100]
        );
    }

    #[tokio::test]
    async fn only_recent_calls_of_tools_count_and_only_what_was_the_tools_doing() {
        let (_directory, store) = store().await;
        let mut rows: Vec<_> = Outcome::ALL
            .into_iter()
            .map(|outcome| {
                let mut it = seen(100, "acme", "git/log");
                it.outcome = outcome;
                it
            })
            .collect();
        rows.push(seen(99, "acme", "git/log"));
        let mut prompt = seen(100, "acme", "git/log");
        prompt.capability.kind = Kind::Prompt;
        rows.push(prompt);
        let mut denied = seen(100, "acme", "git/push");
        denied.outcome = Outcome::Denied;
        rows.push(denied);
        let mut measured = seen(100, "acme", "git/log");
        measured.purpose = Purpose::Measurement;
        rows.push(measured);
        store.record(&records(rows)).await.unwrap();

        let tracks = store.tracks(Timestamp(100)).await.unwrap();
        assert_eq!(tracks.len(), 1, "{tracks:?}");
        let track = &tracks[&seen(0, "acme", "git/log").capability];
        assert_eq!(
            (track.calls, track.succeeded, track.latencies.len()),
            (5, 1, 3)
        );
    }
}
