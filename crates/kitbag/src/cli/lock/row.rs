//! One difference between the approved and the listed definition.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use kitbag_domain::{DefinitionKind, ExposedName, ServerName};
use kitbag_lockfile::text_diff::to_one_line;
use kitbag_lockfile::{
    DefinitionDifference, Drift, DriftedDefinition, LockedServer, Mark, find_marks,
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct DriftRow {
    /// The name that clients use, or `SERVER/URI`.
    pub(crate) name: String,
    pub(super) server: ServerName,
    pub(crate) drifted: DriftedDefinition,
    /// Printed before the difference.
    pub(crate) remark: Option<&'static str>,
    pub(crate) difference: Option<DefinitionDifference>,
    /// Suspicious text to review.
    pub(crate) marks: Vec<Mark>,
}

/// The approved text of a definition.
pub(super) enum ApprovedText {
    Known(String),
    /// Approved on another machine.
    Unknown,
    /// Not approved before.
    None,
}

const UNKNOWN: &str = "the approved definition is not stored on this machine; the new one is:";
const UNKNOWN_AND_GONE: &str = "the approved definition is not stored on this machine";

impl DriftRow {
    pub(super) fn new(server: &ServerName, drifted: DriftedDefinition) -> Self {
        Self {
            name: definition_name(drifted.kind, server, &drifted.name),
            server: server.clone(),
            drifted,
            remark: None,
            difference: None,
            marks: Vec::new(),
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        name == self.server.as_str() || matches_name(name, &self.server, &self.drifted.name)
    }

    pub(super) fn explain(&mut self, approved: ApprovedText, now: Option<&str>) {
        self.marks = now.map(find_marks).unwrap_or_default();
        (self.remark, self.difference) = match (&self.drifted.drift, approved, now) {
            (Drift::Renamed { .. }, ..) => (None, None),
            (_, ApprovedText::Known(old), Some(new)) => {
                (None, Some(DefinitionDifference::between(&old, new)))
            }
            (_, ApprovedText::Known(old), None) => {
                (None, Some(DefinitionDifference::between(&old, "{}")))
            }
            (_, ApprovedText::Unknown, Some(new)) => (
                Some(UNKNOWN),
                Some(DefinitionDifference::whole_definition(new)),
            ),
            (_, ApprovedText::Unknown, None) => (Some(UNKNOWN_AND_GONE), None),
            (_, ApprovedText::None, new) => (None, new.map(DefinitionDifference::whole_definition)),
        };
    }

    pub(super) fn cells(&self) -> [String; 3] {
        [
            to_one_line(&self.name),
            self.drifted.kind.as_str().to_owned(),
            self.describe(),
        ]
    }

    pub(crate) fn describe(&self) -> String {
        match &self.drifted.drift {
            Drift::Renamed { from } => format!("renamed, was `{}`", to_one_line(from)),
            other => other.as_str().to_owned(),
        }
    }

    fn to_lines(&self) -> Vec<String> {
        let kind = self.drifted.kind.as_str();
        let name = to_one_line(&self.name);
        let mut lines = vec![format!("{name} ({kind}): {}", self.describe())];
        lines.extend(self.marks.iter().map(format_mark));
        lines.extend(self.remark.map(|remark| format!("  {remark}")));
        let difference = self
            .difference
            .iter()
            .flat_map(DefinitionDifference::to_lines);
        lines.extend(difference.map(|line| colorize(&line)));
        lines
    }
}

impl Serialize for DriftRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = json!({
            "name": self.name,
            "server": self.server,
            "kind": self.drifted.kind,
            "own_name": self.drifted.name,
            "drift": self.drifted.drift.as_str(),
        });
        if let Drift::Renamed { from } = &self.drifted.drift {
            row["from"] = Value::from(from.as_str());
        }
        if let Some(hash) = &self.drifted.hash {
            row["hash"] = Value::from(hash.to_string());
        }
        match &self.difference {
            Some(DefinitionDifference::Changes(changes)) => row["changes"] = json!(changes),
            Some(DefinitionDifference::Whole(whole)) => row["definition"] = json!(whole),
            None => {}
        }
        if !self.marks.is_empty() {
            row["marks"] = json!(self.marks);
        }
        if let Some(remark) = self.remark {
            row["remark"] = Value::from(remark);
        }
        row.serialize(serializer)
    }
}

/// Returns the name of a definition for `kitbag lock approve`: as clients call it, or `SERVER/URI`.
pub(super) fn definition_name(kind: DefinitionKind, server: &ServerName, own: &str) -> String {
    match kind.has_uri() {
        true => format!("{server}/{own}"),
        false => ExposedName::new(server, own).to_string(),
    }
}

/// True if `name` is this definition: as clients call it, or as `SERVER/NAME` with the server's own
/// name or URI.
pub(super) fn matches_name(name: &str, server: &ServerName, own: &str) -> bool {
    name == ExposedName::new(server, own).as_str() || name == format!("{server}/{own}")
}

/// Formats all differences, one paragraph each.
pub(super) fn format_rows(rows: &[DriftRow]) -> String {
    let paragraphs = rows.iter().map(|row| row.to_lines().join("\n"));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn format_mark(mark: &Mark) -> String {
    const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
    format!("  {YELLOW}! review:{YELLOW:#} {mark}")
}

fn colorize(line: &str) -> String {
    const RED: Style = AnsiColor::Red.on_default();
    const GREEN: Style = AnsiColor::Green.on_default();
    let style = match line.trim_start().chars().next() {
        Some('-') => RED,
        Some('+') => GREEN,
        _ => return line.to_owned(),
    };
    format!("{style}{line}{style:#}")
}

/// The names of kinds in tables and in JSON, in the order of the lock file.
pub(super) const KIND_NAMES: [(&str, DefinitionKind); 5] = [
    ("tools", DefinitionKind::Tool),
    ("prompts", DefinitionKind::Prompt),
    ("resource_templates", DefinitionKind::ResourceTemplate),
    ("skills", DefinitionKind::Skill),
    ("resources", DefinitionKind::Resource),
];

/// What `kitbag lock` did for one server.
pub(super) struct LockedRow {
    /// True for a server that was not in the file.
    pub(super) added: bool,
    /// The number of definitions that differ from the approved ones.
    pub(super) differ: usize,
    pub(super) newly_locked: Vec<DefinitionKind>,
}

impl LockedRow {
    pub(super) fn to_json(&self, server: &ServerName, locked: &LockedServer) -> Value {
        let newly_locked = KIND_NAMES.iter();
        let newly_locked = newly_locked.filter(|(_, kind)| self.newly_locked.contains(kind));
        let mut row = json!({
            "server": server,
            "added": self.added,
            "newly_locked": newly_locked.map(|(name, _)| *name).collect::<Vec<_>>(),
            "differ": self.differ,
        });
        for (name, kind) in KIND_NAMES {
            let approved = locked.definitions_of(kind).map(BTreeMap::len);
            row[name] = json!(approved);
        }
        row
    }
}

/// Formats a server for the table of `kitbag lock`.
pub(super) fn locked_cells(row: &Value) -> [String; 7] {
    let server = row["server"].as_str().unwrap_or_default();
    let newly_locked = row["newly_locked"].as_array().map_or(0, Vec::len);
    let state = match (newly_locked, row["differ"].as_u64()) {
        (1.., Some(0)) => "locked".to_owned(),
        (_, Some(0)) => "unchanged".to_owned(),
        (_, differ) => {
            let differ = differ.unwrap_or_default();
            format!("{differ} changed, see `kitbag lock diff {server}`")
        }
    };
    let [tools, prompts, templates, skills, resources] = KIND_NAMES.map(|(kind, _)| {
        row[kind]
            .as_u64()
            .map_or("-".to_owned(), |it| it.to_string())
    });
    let server = server.to_owned();
    [server, tools, prompts, templates, skills, resources, state]
}
