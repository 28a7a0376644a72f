//! Reads the column `tenant` of any table.

use kitbag_domain::Tenant;

use crate::{Error, unreadable_error};

pub(crate) fn read_tenant(text: &str) -> Result<Tenant, Error> {
    text.parse().map_err(|_| unreadable_error("tenant", text))
}

/// Reads the tenant of a row that may belong to none; then the column is empty.
pub(crate) fn read_optional_tenant(text: &str) -> Result<Option<Tenant>, Error> {
    match text {
        "" => Ok(None),
        named => read_tenant(named).map(Some),
    }
}
