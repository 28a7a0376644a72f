//! Checks whether priors are overdue.

use std::time::Duration;

use kitbag_config::CronSchedule;
use kitbag_domain::Timestamp;

/// Priors that are computed every night are at most a day old, plus the time of a run.
const FRESH_FOR: i64 = 26 * 3_600_000;
/// The time after which a missed run counts as overdue.
const GRACE: i64 = 2 * 3_600_000;

/// Returns the age of overdue priors. If they were never computed, it counts from `started_at`.
pub fn overdue_age(
    schedule: Option<&CronSchedule>,
    last: Option<Timestamp>,
    started_at: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    let since = last.unwrap_or(started_at);
    let next = schedule?.next_after(since)?;
    let age = now.0 - since.0;
    let is_late = age > FRESH_FOR && now.0 > next.0 + GRACE;
    is_late.then(|| Duration::from_millis(age.unsigned_abs()))
}

/// Formats the warning about priors of this age.
pub fn stale_message(age: Duration) -> String {
    let hours = age.as_secs() / 3_600;
    format!("the priors of tools were last computed {hours} hours ago")
}

#[cfg(test)]
mod tests {
    use kitbag_config::{Environment, Overrides, parse};

    use super::*;

    #[test]
    fn priors_are_overdue_after_26_hours_and_those_of_a_new_gateway_as_well() {
        let around = Environment {
            home: Some("/home/ann".into()),
            ..Environment::default()
        };
        let schedule = |text: &str| {
            let text = format!("[priors]\nschedule = '{text}'");
            let config = parse(&text, None, &Overrides::default(), &around).unwrap();
            config.priors.schedule
        };
        const HOUR: i64 = 3_600_000;
        // 1970 began on a Thursday, at midnight.
        let check = |text: &str, last: Option<i64>, now: i64, expected: bool| {
            let at = |hour: i64| Timestamp(hour * HOUR);
            let found = overdue_age(schedule(text).as_ref(), last.map(at), at(0), at(now));
            assert_eq!(found.is_some(), expected, "{text}, {last:?}, {now}");
        };
        check("0 3 * * * UTC", Some(3), 29, false);
        check("0 3 * * * UTC", Some(3), 30, true);
        check("0 3 * * * UTC", None, 26, false);
        check("0 3 * * * UTC", None, 27, true);
        check("0 3 * * 1 UTC", Some(3), 90, false);
        check("0 3 * * 1 UTC", Some(3), 102, true);
        check("never", Some(3), 1000, false);
        assert_eq!(
            stale_message(Duration::from_secs(30 * 3_600)),
            "the priors of tools were last computed 30 hours ago"
        );
    }
}
