//! Limits the audit rows that clients can cause, so that a flood of requests does not fill the
//! disk.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::Tenant;
use kitbag_domain::sync::lock;

/// The number of rows that may be written at once, and the interval at which one more becomes
/// available.
pub(crate) struct RowLimits {
    pub(crate) burst: u32,
    pub(crate) one_every: Duration,
}

#[derive(Default)]
pub(crate) struct RowBudget {
    spent: u32,
    since: Option<Instant>,
    skipped: u64,
}

impl RowBudget {
    /// Returns the number of rows skipped since the last one, if a row may be written now.
    pub(crate) fn try_spend(&mut self, limits: &RowLimits, at: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(at);
        let passed = at.duration_since(since).as_nanos() / limits.one_every.as_nanos();
        let regained = u32::try_from(passed).unwrap_or(u32::MAX);
        if regained > 0 {
            self.spent = self.spent.saturating_sub(regained);
            self.since = Some(since + limits.one_every * regained);
        }
        if self.spent >= limits.burst {
            self.skipped += 1;
            return None;
        }
        self.spent += 1;
        Some(std::mem::take(&mut self.skipped))
    }
}

/// The row budget of each tenant.
#[derive(Default)]
pub(crate) struct TenantBudgets(Mutex<HashMap<Tenant, RowBudget>>);

impl TenantBudgets {
    pub(crate) fn try_spend(&self, tenant: &Tenant, limits: &RowLimits) -> Option<u64> {
        let mut budgets = lock(&self.0);
        let budget = budgets.entry(tenant.clone()).or_default();
        budget.try_spend(limits, Instant::now())
    }
}

/// Returns a note on skipped rows.
pub(crate) fn describe_skipped(skipped: u64) -> Option<String> {
    (skipped > 0).then(|| format!("{skipped} more since the previous row"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_few_rows_and_is_counted() {
        let limits = RowLimits {
            burst: 20,
            one_every: Duration::from_secs(3),
        };
        let (mut budget, start) = (RowBudget::default(), Instant::now());
        let skipped_counts: Vec<_> = (0..1000)
            .filter_map(|_| budget.try_spend(&limits, start))
            .collect();
        assert_eq!(skipped_counts, [0; 20]);
        assert_eq!(
            budget.try_spend(&limits, start + limits.one_every),
            Some(980)
        );
        assert_eq!(budget.try_spend(&limits, start + limits.one_every), None);
        let later = start + limits.one_every * 100;
        assert_eq!(budget.try_spend(&limits, later), Some(1));
        let skipped_counts = (0..1000).filter_map(|_| budget.try_spend(&limits, later));
        assert_eq!(skipped_counts.count(), 19);
    }
}
