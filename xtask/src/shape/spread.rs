//! Median and percentiles of a list of sizes.

/// The middle and the upper end of many sizes. All zero where there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spread {
    pub count: usize,
    pub median: usize,
    pub p90: usize,
    pub p99: usize,
    pub largest: usize,
}

impl Spread {
    #[must_use]
    pub fn of(mut sizes: Vec<usize>) -> Self {
        sizes.sort_unstable();
        Self {
            count: sizes.len(),
            median: percentile(&sizes, 50),
            p90: percentile(&sizes, 90),
            p99: percentile(&sizes, 99),
            largest: sizes.last().copied().unwrap_or(0),
        }
    }
}

/// The smallest size that is not exceeded by that many percent of all.
fn percentile(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn percentiles_are_sizes_that_occur() {
        let spread = Spread::of((1..=200).rev().collect());
        let expected = Spread {
            count: 200,
            median: 100,
            p90: 180,
            p99: 198,
            largest: 200,
        };
        assert_eq!(spread, expected);
        assert_eq!(Spread::of(vec![7]).p99, 7);
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }
}
