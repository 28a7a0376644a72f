//! The goals that were met are not missed again.

use xtask::shape::{goals, hops, measure};

use crate::root;

/// The modules of the gateway in which each reaches each. Lower it when there are fewer; it is
/// never raised. A module leaves the knot when what others need of it moves to a place of its own.
const LARGEST_KNOT: usize = 2;

#[test]
fn no_goal_that_was_met_is_missed_again() {
    let missed = goals::missed_again(&measure(&root()).unwrap());
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}

#[test]
fn the_knot_of_modules_only_gets_smaller() {
    let knot = measure(&root()).unwrap().knot;
    assert!(
        knot.modules.len() <= LARGEST_KNOT,
        "{} modules of the gateway reach each other, at most {LARGEST_KNOT} may: {}",
        knot.modules.len(),
        knot.modules.join(", ")
    );
}

#[test]
fn each_hop_on_the_map_calls_the_next_one() {
    // Until the map lists them there is nothing to check.
    let Some(listed) = hops::listed(&root()).unwrap() else {
        return;
    };
    let broken = hops::broken(&root(), &listed);
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}
