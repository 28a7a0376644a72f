//! The rows of the table `api_keys`, as both engines return them.

use kitbag_domain::{KeyId, Role, Timestamp};

use super::KeyInfo;
use super::cache::{KeyHash, KeyRecord};
use crate::tenant_column::read_tenant;
use crate::{Error, unreadable_error};

pub(super) type InfoRow = (
    String,
    String,
    String,
    Option<String>,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
);

pub(super) fn read_info(row: InfoRow) -> Result<KeyInfo, Error> {
    let (id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at) = row;
    Ok(KeyInfo {
        id: KeyId(id),
        tenant: read_tenant(&tenant)?,
        role: read_role(&role)?,
        label,
        created_at: Timestamp(created_at),
        expires_at: expires_at.map(Timestamp),
        last_used_at: last_used_at.map(Timestamp),
        revoked_at: revoked_at.map(Timestamp),
    })
}

pub(super) type RecordRow = (String, String, Vec<u8>, Option<i64>, bool);

pub(super) fn read_record(row: RecordRow) -> Result<KeyRecord, Error> {
    let (tenant, role, hash, expires_at, revoked) = row;
    Ok(KeyRecord {
        tenant: read_tenant(&tenant)?,
        role: read_role(&role)?,
        hash: KeyHash::from_bytes(hash)
            .ok_or_else(|| unreadable_error("key hash", "(not shown)"))?,
        expires_at: expires_at.map(Timestamp),
        revoked,
    })
}

fn read_role(text: &str) -> Result<Role, Error> {
    text.parse().map_err(|_| unreadable_error("role", text))
}
