//! Formats durations for people.

use std::time::Duration;

/// Formats a duration, rounded up since it usually says how long to wait: `1 s`, `90 s`, `3 min`,
/// `2 h`.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_millis().div_ceil(1000).max(1);
    match seconds {
        // Up to two minutes, seconds are easier to compare with a setting.
        ..=120 => format!("{seconds} s"),
        121..=7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_one_unit_and_no_fraction() {
        for (milliseconds, words) in [
            (0, "1 s"),
            (996, "1 s"),
            (1_001, "2 s"),
            (30_000, "30 s"),
            (120_000, "120 s"),
            (121_000, "3 min"),
            (7_200_000, "120 min"),
            (9_000_000, "3 h"),
        ] {
            assert_eq!(format_duration(Duration::from_millis(milliseconds)), words);
        }
    }
}
