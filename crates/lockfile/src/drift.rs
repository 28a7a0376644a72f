//! The drift of a server's list from the approved definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kitbag_domain::DefinitionKind;
use serde::Serialize;

use crate::canonical::{DefinitionHash, ListedDefinition};
use crate::file::{ApprovedHashes, LockedServer};

/// A definition that differs from the approved one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriftedDefinition {
    pub kind: DefinitionKind,
    pub name: String,
    pub drift: Drift,
    /// The hash of the current definition; `None` if the server no longer lists the name.
    pub hash: Option<DefinitionHash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "drift", rename_all = "snake_case")]
pub enum Drift {
    Changed,
    New,
    /// The definition is the approved one of a name that the server no longer lists.
    Renamed {
        from: String,
    },
    Gone,
}

impl Drift {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::New => "new",
            Self::Renamed { .. } => "renamed",
            Self::Gone => "gone",
        }
    }
}

/// The reason why a definition is withheld from callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnapprovedReason {
    Changed,
    New,
    Renamed,
    /// Its server does not list it, so it could not be approved.
    Unlisted,
    /// Its server has not listed its definitions yet.
    NotListedYet,
    /// It is a file of a skill, which states another digest.
    OtherContent,
    /// Its server may have changed it, and does not answer.
    NotCompared,
    /// The lock file cannot be read, so nothing is known to be approved.
    UnreadableLock,
}

impl UnapprovedReason {
    /// Returns `None` for a missing definition, since there is nothing to withhold.
    pub fn for_drift(drift: &Drift) -> Option<Self> {
        match drift {
            Drift::Changed => Some(Self::Changed),
            Drift::New => Some(Self::New),
            Drift::Renamed { .. } => Some(Self::Renamed),
            Drift::Gone => None,
        }
    }
}

impl fmt::Display for UnapprovedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "its server changed the definition after it was approved",
            Self::New => "its server added it after the others were approved",
            Self::Renamed => "its server renamed it after it was approved",
            Self::Unlisted => "its server does not list it, so it was not approved",
            Self::NotListedYet => "its server has not listed its definitions yet",
            Self::OtherContent => "its content does not have the digest in the approved skill",
            Self::NotCompared => "its server did not confirm the approved definition",
            Self::UnreadableLock => "the lock file cannot be read",
        })
    }
}

impl LockedServer {
    /// Compares a server's list with its approved definitions, sorted by kind and name. Of a name
    /// that is listed twice, the first counts.
    pub fn detect_drift(&self, listed: &[ListedDefinition]) -> Vec<DriftedDefinition> {
        let locked = DefinitionKind::ALL.into_iter();
        let locked = locked.filter_map(|kind| Some((kind, self.definitions_of(kind)?)));
        locked
            .flat_map(|(kind, approved)| detect_drift_of_kind(kind, approved, listed))
            .collect()
    }
}

fn detect_drift_of_kind(
    kind: DefinitionKind,
    approved: &ApprovedHashes,
    listed: &[ListedDefinition],
) -> Vec<DriftedDefinition> {
    let mut now: BTreeMap<&str, &ListedDefinition> = BTreeMap::new();
    for definition in listed.iter().filter(|it| it.kind == kind) {
        now.entry(&definition.name).or_insert(definition);
    }
    let mut missing: BTreeSet<&str> = approved.keys().map(String::as_str).collect();
    missing.retain(|name| !now.contains_key(name));
    let mut drifted = Vec::new();
    for (name, listed) in now {
        let drift = match approved.get(name) {
            Some(before) if listed.matches_approved(before) => continue,
            Some(_) => Drift::Changed,
            None => classify_new_name(listed, approved, &mut missing),
        };
        drifted.push(DriftedDefinition {
            kind,
            name: name.to_owned(),
            drift,
            hash: Some(listed.hash),
        });
    }
    drifted.extend(missing.into_iter().map(|name| DriftedDefinition {
        kind,
        name: name.to_owned(),
        drift: Drift::Gone,
        hash: None,
    }));
    drifted.sort_by(|a, b| a.name.cmp(&b.name));
    drifted
}

/// Classifies a new name: an approved definition under another name, or something new.
fn classify_new_name(
    listed: &ListedDefinition,
    approved: &ApprovedHashes,
    missing: &mut BTreeSet<&str>,
) -> Drift {
    let from = missing
        .iter()
        .find(|name| listed.matches_approved(&approved[**name]));
    match from.map(|name| (*name).to_owned()) {
        Some(from) => {
            missing.remove(from.as_str());
            Drift::Renamed { from }
        }
        None => Drift::New,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed_definitions(tools: &[(&str, &str)]) -> Vec<ListedDefinition> {
        let read = |(name, text): &(&str, &str)| ListedDefinition {
            kind: DefinitionKind::Tool,
            name: (*name).to_owned(),
            hash: DefinitionHash::hash_text(text),
            text: (*text).to_owned(),
            unmasked: None,
        };
        tools.iter().map(read).collect()
    }

    #[track_caller]
    fn check(approved: &[(&str, &str)], now: &[(&str, &str)], expected: &[&str]) {
        let mut server = LockedServer::default();
        listed_definitions(approved)
            .iter()
            .for_each(|it| server.approve(it));
        let described: Vec<String> = server
            .detect_drift(&listed_definitions(now))
            .iter()
            .map(|it| format!("{} {:?}", it.name, it.drift))
            .collect();
        assert_eq!(described, expected);
    }

    #[test]
    fn every_kind_of_drift_is_detected() {
        let approved = [("a", "1"), ("b", "2"), ("c", "3")];
        check(&approved, &approved, &[]);
        check(
            &approved,
            &[("a", "9"), ("b", "2"), ("d", "3"), ("e", "5")],
            &["a Changed", "d Renamed { from: \"c\" }", "e New"],
        );
        check(&approved, &[("a", "1")], &["b Gone", "c Gone"]);
        check(&[], &[("a", "1")], &["a New"]);
    }

    #[test]
    fn a_kind_that_is_not_locked_has_no_drift() {
        let skill = ListedDefinition {
            kind: DefinitionKind::Skill,
            ..listed_definitions(&[("x:a", "1")]).remove(0)
        };
        let mut server = LockedServer::default();
        assert!(server.detect_drift(std::slice::from_ref(&skill)).is_empty());
        server.lock_kind(DefinitionKind::Skill, &[]);
        let drifted = server.detect_drift(&[skill]);
        assert_eq!((drifted.len(), &drifted[0].drift), (1, &Drift::New));
    }

    #[test]
    fn a_copy_of_an_approved_definition_is_new() {
        check(&[("a", "1")], &[("a", "1"), ("copy", "1")], &["copy New"]);
    }

    #[test]
    fn one_vanished_name_explains_only_one_renamed_tool() {
        check(
            &[("a", "1")],
            &[("b", "1"), ("c", "1")],
            &["b Renamed { from: \"a\" }", "c New"],
        );
    }
}
