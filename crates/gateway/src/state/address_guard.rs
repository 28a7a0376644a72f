//! Turns the operator's address rules into the guard that HTTP clients call before they connect.

use std::sync::Arc;

use kitbag_fetch::AddressGuard;
use kitbag_policy::AddressRules;

/// Returns a guard that enforces the rules.
pub fn address_guard(rules: AddressRules) -> AddressGuard {
    Arc::new(move |address| rules.check(address).map_err(|denial| denial.to_string()))
}
