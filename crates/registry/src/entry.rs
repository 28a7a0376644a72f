//! What the registry wraps around a server: whether its author still stands by it.

use serde::Deserialize;
use serde_json::Value;

use crate::server::Server;

#[derive(Debug, Clone)]
pub struct Entry {
    pub server: Server,
    pub status: Status,
    /// Why the status is what it is.
    pub message: Option<String>,
    pub(crate) is_latest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Active,
    Deprecated,
    Deleted,
}

pub(crate) struct Page {
    pub(crate) entries: Vec<Entry>,
    pub(crate) next: Option<String>,
}

impl Page {
    /// Entries that cannot be read are left out; an answer of another kind is an error.
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Answer {
            servers: Option<Vec<Value>>,
            #[serde(default)]
            metadata: Value,
        }
        let answer: Answer = serde_json::from_slice(body)?;
        let items = answer.servers.unwrap_or_default();
        let next = answer.metadata.get("nextCursor").and_then(Value::as_str);
        Ok(Self {
            entries: items
                .into_iter()
                .filter_map(|item| Entry::of(item).ok())
                .collect(),
            next: next.filter(|cursor| !cursor.is_empty()).map(str::to_owned),
        })
    }
}

impl Entry {
    pub(crate) fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        Self::of(serde_json::from_slice(body)?)
    }

    fn of(value: Value) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Wrapped {
            server: Server,
            #[serde(rename = "_meta", default)]
            meta: Value,
        }
        let Wrapped { server, meta } = serde_json::from_value(value)?;
        let official = &meta[OFFICIAL];
        Ok(Self {
            server,
            status: match official["status"].as_str() {
                Some("deprecated") => Status::Deprecated,
                Some("deleted") => Status::Deleted,
                _ => Status::Active,
            },
            message: official["statusMessage"].as_str().map(str::to_owned),
            is_latest: official["isLatest"].as_bool().unwrap_or(false),
        })
    }
}

/// Where the registry keeps what it says itself.
const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_entry_does_not_spoil_the_page() {
        let page = Page::read(
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
            .map(|it| (it.server.name.as_str(), it.server.packages.len(), it.status))
            .collect();
        assert_eq!(
            read,
            [
                ("a/good", 0, Status::Active),
                ("a/old", 1, Status::Deprecated)
            ]
        );
        assert_eq!(page.entries[1].message.as_deref(), Some("see a/good"));
        assert_eq!(page.next.as_deref(), Some("a/old:1"));
    }

    #[test]
    fn the_end_is_the_end_however_it_is_spelt() {
        for metadata in [
            r#"{ "nextCursor": null }"#,
            r#"{ "nextCursor": "" }"#,
            "{}",
            "null",
        ] {
            let body = format!(r#"{{ "servers": [], "metadata": {metadata} }}"#);
            assert_eq!(
                Page::read(body.as_bytes()).unwrap().next,
                None,
                "{metadata}"
            );
        }
        assert!(Page::read(b"<html>").is_err());
        assert!(Page::read(b"[]").is_err());
    }
}
