//! The intended differences between suite and gateway, each with its reason.
//!
//! A difference that no longer occurs is an error, so that this list stays true.

use xtask::scene::Era;

use crate::results::{Failure, Scenario};

/// One check that may fail for clients of one era in front of upstreams of another.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) client: Era,
    pub(crate) upstream: Era,
    pub(crate) scenario: &'static str,
    pub(crate) check: &'static str,
    pub(crate) reason: &'static str,
}

const DIFFERENCES: &[Difference] = &[Difference {
    client: Era::Modern,
    upstream: Era::Legacy,
    scenario: "input-required-result-basic-elicitation",
    check: "sep-2322-elicitation-incomplete",
    reason: "the suite wants the key `user_name`; the question of a legacy server comes without any key",
}];

pub(crate) fn between(client: Era, upstream: Era) -> Vec<&'static Difference> {
    DIFFERENCES
        .iter()
        .filter(|it| it.client == client && it.upstream == upstream)
        .collect()
}

impl Difference {
    pub(crate) fn covers(&self, scenario: &Scenario, failure: &Failure) -> bool {
        self.scenario == scenario.name && self.check == failure.check
    }

    pub(crate) fn shows_in(&self, scenarios: &[Scenario]) -> bool {
        scenarios
            .iter()
            .any(|it| it.failures.iter().any(|failure| self.covers(it, failure)))
    }
}
