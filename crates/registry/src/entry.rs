//! An entry of the registry: a server, and whether its author still supports it.

use serde::Deserialize;
use serde_json::Value;

use crate::server::RegistryServer;

#[derive(Debug, Clone)]
pub struct RegistryEntry {
    pub server: RegistryServer,
    pub status: EntryStatus,
    /// The reason for the status.
    pub message: Option<String>,
    pub(crate) is_latest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryStatus {
    Active,
    Deprecated,
    Deleted,
}

pub(crate) struct EntryPage {
    pub(crate) entries: Vec<RegistryEntry>,
    pub(crate) next: Option<String>,
}

impl EntryPage {
    /// Skips unreadable entries. An answer of another kind is an error.
    pub(crate) fn from_json(body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct PageBody {
            servers: Option<Vec<Value>>,
            #[serde(default)]
            metadata: Value,
        }
        let page: PageBody = serde_json::from_slice(body)?;
        let items = page.servers.unwrap_or_default().into_iter();
        let next = page.metadata.get("nextCursor").and_then(Value::as_str);
        Ok(Self {
            entries: items
                .filter_map(|item| RegistryEntry::from_value(item).ok())
                .collect(),
            next: next.filter(|cursor| !cursor.is_empty()).map(str::to_owned),
        })
    }
}

impl RegistryEntry {
    pub(crate) fn from_json(body: &[u8]) -> Result<Self, serde_json::Error> {
        Self::from_value(serde_json::from_slice(body)?)
    }

    fn from_value(value: Value) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Wrapped {
            server: RegistryServer,
            #[serde(rename = "_meta", default)]
            meta: Value,
        }
        let Wrapped { server, meta } = serde_json::from_value(value)?;
        let official = &meta[OFFICIAL];
        Ok(Self {
            server,
            status: EntryStatus::from_json(&official["status"]),
            message: official["statusMessage"].as_str().map(str::to_owned),
            is_latest: official["isLatest"].as_bool().unwrap_or(false),
        })
    }
}

impl EntryStatus {
    fn from_json(value: &Value) -> Self {
        match value.as_str() {
            Some("deprecated") => Self::Deprecated,
            Some("deleted") => Self::Deleted,
            _ => Self::Active,
        }
    }
}

/// The key of the registry's own metadata about an entry.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_entry_does_not_spoil_the_page() {
        let page = EntryPage::from_json(
            br#"{
              "servers": [
                { "server": { "name": "a/good", "description": null, "future": {}, "packages": null } },
                { "server": { "name": "no slash", "description": "x", "version": "1" } },
                { "server": 7 }, null,
                { "server": { "name": "a/old", "packages": [{ "registryType": "npm" }, 7,
                    { "registryType": "npm", "identifier": "old", "transport": { "type": "stdio" } }] },
                  "_meta": { "io.modelcontextprotocol.registry/official":
                    { "status": "deprecated", "statusMessage": "see a/good", "isLatest": true } } }
              ],
              "metadata": { "nextCursor": "a/old:1", "count": 5 }
            }"#,
        )
        .unwrap();
        let read: Vec<_> = page
            .entries
            .iter()
            .map(|entry| {
                (
                    entry.server.name.as_str(),
                    entry.server.packages.len(),
                    entry.status,
                )
            })
            .collect();
        assert_eq!(
            read,
            [
                ("a/good", 0, EntryStatus::Active),
                ("a/old", 1, EntryStatus::Deprecated)
            ]
        );
        assert_eq!(page.entries[1].message.as_deref(), Some("see a/good"));
        assert_eq!(page.next.as_deref(), Some("a/old:1"));
    }

    #[test]
    fn the_last_page_is_recognized_in_every_spelling() {
        for metadata in [
            r#"{ "nextCursor": null }"#,
            r#"{ "nextCursor": "" }"#,
            "{}",
            "null",
        ] {
            let body = format!(r#"{{ "servers": [], "metadata": {metadata} }}"#);
            assert_eq!(
                EntryPage::from_json(body.as_bytes()).unwrap().next,
                None,
                "{metadata}"
            );
        }
        assert!(EntryPage::from_json(b"<html>").is_err());
        assert!(EntryPage::from_json(b"[]").is_err());
    }
}
