//! `agent-state`: values that a tenant's agents store between runs, by key.

use kitbag_domain::Timestamp;
use kitbag_store::{
    StateDeleteOutcome, StateEntry, StateLimits, StatePage, StateWrite, StateWriteOutcome,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{PlatformCaller, PlatformError, PlatformServices, moment};

/// In bytes of JSON: enough for a checkpoint or a summary. Tool results are truncated far below it.
const LARGEST_VALUE: usize = 64 * 1024;

/// A tenant may use about as much disk as a caller's stored results.
const LIMITS: StateLimits = StateLimits {
    keys: 10_000,
    bytes: 32 * 1024 * 1024,
};

/// The default number of keys on a page.
const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 1000;

/// The name of a value: 1 to 256 characters, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct StateKey(String);

impl TryFrom<String> for StateKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let length = text.chars().count();
        if (1..=256).contains(&length) && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err("a key has 1 to 256 characters, and no control characters")
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GetArguments {
    key: StateKey,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetArguments {
    key: StateKey,
    value: Value,
    ttl_seconds: Option<u64>,
    if_version: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteArguments {
    key: StateKey,
    if_version: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArguments {
    #[serde(default)]
    prefix: String,
    limit: Option<u32>,
    after: Option<String>,
}

pub(crate) async fn get_value(
    services: &PlatformServices,
    GetArguments { key: StateKey(key) }: GetArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    let now = (services.now)();
    let found = services.store.get_state(&caller.tenant, &key, now).await?;
    let (entry, value) = found.ok_or(PlatformError::NoValue { key })?;
    let mut answer = describe_entry(&entry);
    // `set` wrote it, so it is JSON.
    let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
    answer.insert("value".to_owned(), value);
    Ok(answer.into())
}

pub(crate) async fn set_value(
    services: &PlatformServices,
    arguments: SetArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    let now = (services.now)();
    let StateKey(key) = arguments.key;
    let write = StateWrite {
        key,
        value: to_limited_json(&arguments.value)?,
        if_version: arguments.if_version,
        expires_at: arguments
            .ttl_seconds
            .map(|seconds| expires_after(now, seconds)),
    };
    let store = &services.store;
    let written = store.put_state(&caller.tenant, &write, LIMITS, now).await?;
    let version = written_version(&write, written)?;
    let expires_at = write.expires_at.map(moment::to_rfc3339);
    Ok(json!({ "key": write.key, "version": version, "expires_at": expires_at }))
}

pub(crate) async fn delete_value(
    services: &PlatformServices,
    DeleteArguments {
        key: StateKey(key),
        if_version,
    }: DeleteArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    let now = (services.now)();
    let store = &services.store;
    let deleted = store
        .delete_state(&caller.tenant, &key, if_version, now)
        .await?;
    match deleted {
        StateDeleteOutcome::Deleted => Ok(json!({ "key": key, "deleted": true })),
        StateDeleteOutcome::Absent => Ok(json!({ "key": key, "deleted": false })),
        StateDeleteOutcome::OtherVersion(found) => Err(version_conflict(key, if_version, found)),
    }
}

pub(crate) async fn list_keys(
    services: &PlatformServices,
    arguments: ListArguments,
    caller: &PlatformCaller,
) -> Result<Value, PlatformError> {
    let limit = arguments.limit.unwrap_or(PAGE).clamp(1, LARGEST_PAGE);
    let page = StatePage {
        prefix: replace_zero_bytes(&arguments.prefix),
        after: arguments.after.as_deref().map(replace_zero_bytes),
        limit,
    };
    let now = (services.now)();
    let found = services
        .store
        .list_state(&caller.tenant, &page, now)
        .await?;
    let next = found.last().filter(|_| found.len() == limit as usize);
    let next = next.map(|entry| entry.key.clone());
    let keys: Vec<Value> = found.iter().map(|it| describe_entry(it).into()).collect();
    Ok(json!({ "keys": keys, "next": next }))
}

/// PostgreSQL stores no zero bytes. The replacement matches no key either: keys have no control
/// characters.
fn replace_zero_bytes(text: &str) -> String {
    text.replace('\0', "\u{1}")
}

fn to_limited_json(value: &Value) -> Result<String, PlatformError> {
    let text = value.to_string();
    if text.len() <= LARGEST_VALUE {
        return Ok(text);
    }
    Err(PlatformError::ValueTooLarge {
        bytes: text.len(),
        most: LARGEST_VALUE,
    })
}

/// Returns the moment `seconds` from now, at most the calendar's last one.
fn expires_after(now: Timestamp, seconds: u64) -> Timestamp {
    let length = i64::try_from(seconds).unwrap_or(i64::MAX);
    let end = now.0.saturating_add(length.saturating_mul(1000));
    Timestamp(end.min(jiff::Timestamp::MAX.as_second() * 1000))
}

fn written_version(write: &StateWrite, written: StateWriteOutcome) -> Result<i64, PlatformError> {
    match written {
        StateWriteOutcome::Written(version) => Ok(version),
        StateWriteOutcome::OtherVersion(found) => {
            Err(version_conflict(write.key.clone(), write.if_version, found))
        }
        StateWriteOutcome::TooManyKeys => Err(PlatformError::TooManyKeys { most: LIMITS.keys }),
        StateWriteOutcome::TooManyBytes => Err(PlatformError::TooManyBytes { most: LIMITS.bytes }),
    }
}

fn version_conflict(key: String, wanted: Option<i64>, found: i64) -> PlatformError {
    PlatformError::OtherVersion {
        key,
        wanted: wanted.unwrap_or_default(),
        found,
    }
}

fn describe_entry(entry: &StateEntry) -> Map<String, Value> {
    let mut answer = Map::new();
    answer.insert("key".to_owned(), json!(entry.key));
    answer.insert("version".to_owned(), json!(entry.version));
    answer.insert("bytes".to_owned(), json!(entry.bytes));
    let updated_at = moment::to_rfc3339(entry.updated_at);
    answer.insert("updated_at".to_owned(), json!(updated_at));
    if let Some(at) = entry.expires_at {
        answer.insert("expires_at".to_owned(), json!(moment::to_rfc3339(at)));
    }
    answer
}
