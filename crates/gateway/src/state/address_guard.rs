//! Puts rules about addresses into the form in which HTTP clients ask for them.

use std::sync::Arc;

use kitbag_fetch::AddressGuard;
use kitbag_policy::AddressRules;

/// Returns the guard that follows the rules.
pub fn address_guard(rules: AddressRules) -> AddressGuard {
    Arc::new(move |address| rules.check(address).map_err(|refused| refused.to_string()))
}
