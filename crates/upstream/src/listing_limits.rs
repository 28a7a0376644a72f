//! Limits on a server's list. Entries that are broken, listed twice, nested too deeply or too many
//! are skipped and reported.

use std::collections::HashSet;

use kitbag_domain::DefinitionKind;
use kitbag_wire::meta::method;
use kitbag_wire::{MAX_NESTING, Raw, RawObject, is_too_deep};
use serde_json::value::RawValue;

use crate::listing::{Listing, ListingProblem};

/// Ten times the tools of the largest servers. Every entry is searched, embedded, stored and sent
/// to clients, so a server with an endless list would slow down all others.
pub(crate) const MAX_ENTRIES: usize = 10_000;
/// The size of a list with that many entries, each as long as a page of text.
pub(crate) const MAX_LIST_BYTES: usize = 32 << 20;
/// At most this many problems per list are reported one by one; the others are counted.
const MAX_PROBLEMS: usize = 20;
/// The part of a name that is quoted when its entry has a problem.
const MAX_NAME: usize = 100;

/// One of the lists that a server may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListKind {
    pub(crate) method: &'static str,
    /// The member of an answer that has the entries.
    pub(crate) field: &'static str,
    pub(crate) kind: DefinitionKind,
    list: fn(&mut Listing) -> &mut Vec<Raw>,
}

impl ListKind {
    pub(crate) const TOOLS: Self = Self {
        method: method::LIST_TOOLS,
        field: "tools",
        kind: DefinitionKind::Tool,
        list: |listing| &mut listing.tools,
    };
    pub(crate) const PROMPTS: Self = Self {
        method: method::LIST_PROMPTS,
        field: "prompts",
        kind: DefinitionKind::Prompt,
        list: |listing| &mut listing.prompts,
    };
    pub(crate) const RESOURCES: Self = Self {
        method: method::LIST_RESOURCES,
        field: "resources",
        kind: DefinitionKind::Resource,
        list: |listing| &mut listing.resources,
    };
    pub(crate) const TEMPLATES: Self = Self {
        method: method::LIST_TEMPLATES,
        field: "resourceTemplates",
        kind: DefinitionKind::ResourceTemplate,
        list: |listing| &mut listing.templates,
    };
    pub(crate) const SKILLS: Self = Self {
        method: method::LIST_SKILLS,
        field: "skills",
        kind: DefinitionKind::Skill,
        list: |listing| &mut listing.skills,
    };

    pub(crate) fn of_definitions(kind: DefinitionKind) -> Self {
        match kind {
            DefinitionKind::Tool => Self::TOOLS,
            DefinitionKind::Prompt => Self::PROMPTS,
            DefinitionKind::ResourceTemplate => Self::TEMPLATES,
            DefinitionKind::Skill => Self::SKILLS,
            DefinitionKind::Resource => Self::RESOURCES,
        }
    }

    /// The member that identifies an entry.
    pub(crate) fn key(self) -> &'static str {
        self.kind.key()
    }

    /// Returns the list of this kind.
    pub(crate) fn list_mut(self, listing: &mut Listing) -> &mut Vec<Raw> {
        (self.list)(listing)
    }
}

pub(crate) struct ListedItems {
    kind: ListKind,
    items: Vec<Raw>,
    names: HashSet<String>,
    /// The size of the accepted entries.
    bytes: usize,
    /// The size of all answers, including skipped entries.
    bytes_received: usize,
    full: bool,
    problems: Vec<ListingProblem>,
    unreported: usize,
}

impl ListedItems {
    pub(crate) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            items: Vec::new(),
            names: HashSet::new(),
            bytes: 0,
            bytes_received: 0,
            full: false,
            problems: Vec::new(),
            unreported: 0,
        }
    }

    /// Adds one answer of the server. Returns true if there is room for another.
    pub(crate) fn add_page(&mut self, page: &RawObject) -> bool {
        let field = self.kind.field;
        let items = page.get(field);
        self.bytes_received += items.map_or(0, |items| items.get().len());
        match items.and_then(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()).ok()) {
            Some(items) => self.add_entries(&items),
            None => self.add_problem(format!("the answer has no `{field}`")),
        }
        let more = page
            .get("nextCursor")
            .is_some_and(|cursor| cursor.get() != "null");
        if more
            && !self.full
            && (self.bytes_received >= MAX_LIST_BYTES || self.items.len() >= MAX_ENTRIES)
        {
            self.stop_reading("and more pages follow");
        }
        !self.full
    }

    fn add_entries(&mut self, items: &[&RawValue]) {
        for (at, item) in items.iter().enumerate() {
            if self.items.len() >= MAX_ENTRIES || self.bytes + item.get().len() > MAX_LIST_BYTES {
                let rest = items.len() - at;
                return self.stop_reading(&format!("and {rest} more were in the same answer"));
            }
            self.add_entry(item);
        }
    }

    fn add_entry(&mut self, item: &RawValue) {
        let key = self.kind.key();
        let entry = RawObject::open(item).ok();
        let Some(name) = entry.and_then(|entry| entry.read::<String>(key)) else {
            return self.add_problem(format!("an entry has no `{key}` and was skipped"));
        };
        match self.find_objection(&name, item) {
            Some(objection) => self.add_problem(objection),
            None => {
                self.names.insert(name);
                self.bytes += item.get().len();
                self.items.push(item.to_owned());
            }
        }
    }

    /// Returns the reason why an entry is skipped.
    fn find_objection(&self, name: &str, item: &RawValue) -> Option<String> {
        let shown = &name[..name.floor_char_boundary(MAX_NAME)];
        if is_too_deep(item.get().as_bytes()) {
            return Some(format!(
                "`{shown}` is nested deeper than {MAX_NESTING} levels and was skipped"
            ));
        }
        let twice = format!("`{shown}` is listed twice; the first entry is used");
        self.names.contains(name).then_some(twice)
    }

    /// Records why the list is incomplete. This is reported even after many other problems.
    fn stop_reading(&mut self, rest: &str) {
        self.full = true;
        let (taken, most) = (self.items.len(), MAX_LIST_BYTES >> 20);
        let what = format!(
            "the list is too long: only the first {taken} entries are used, {rest}; \
             at most {MAX_ENTRIES} entries and {most} MB are taken from a list"
        );
        self.problems.push(ListingProblem {
            about: self.kind.method.to_owned(),
            what,
            incomplete: true,
        });
    }

    pub(crate) fn add_problem(&mut self, what: impl Into<String>) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.unreported += 1;
            return;
        }
        let about = self.kind.method.to_owned();
        self.problems.push(ListingProblem {
            about,
            what: what.into(),
            incomplete: false,
        });
    }

    pub(crate) fn move_into(mut self, listing: &mut Listing) {
        if self.unreported > 0 {
            let what = format!("{} more entries are invalid", self.unreported);
            self.problems.push(ListingProblem {
                about: self.kind.method.to_owned(),
                what,
                incomplete: false,
            });
        }
        let method = self.kind.method;
        listing.problems.retain(|it| it.about != method);
        listing.problems.extend(self.problems);
        *self.kind.list_mut(listing) = self.items;
    }
}

/// Truncates a list that was stored without limits, or by another program.
pub(crate) fn truncate_list(items: &mut Vec<Raw>) {
    let mut bytes = 0;
    let mut kept = 0;
    for item in items.iter().take(MAX_ENTRIES) {
        bytes += item.get().len();
        if bytes > MAX_LIST_BYTES {
            break;
        }
        kept += 1;
    }
    items.truncate(kept);
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::{Value, json};

    use super::*;

    const TOOLS: ListKind = ListKind::TOOLS;

    /// Returns the number of accepted entries, the number of requested pages, and the problems.
    fn add_pages(pages: &[Value]) -> (usize, usize, Vec<String>) {
        let (mut listed, mut pages_read) = (ListedItems::new(TOOLS), 0);
        for page in pages {
            pages_read += 1;
            if !listed.add_page(&RawObject::open(&raw(page)).unwrap()) {
                break;
            }
        }
        let (items, problems) = (
            listed.items.len(),
            listed.problems.into_iter().map(|it| it.what).collect(),
        );
        (items, pages_read, problems)
    }

    fn tools(numbers: std::ops::Range<usize>) -> Value {
        numbers
            .map(|number| json!({ "name": format!("t{number}") }))
            .collect()
    }

    #[test]
    fn a_longer_list_is_truncated_and_the_problem_says_how_much_is_missing() {
        let (items, pages_read, problems) =
            add_pages(&[json!({ "tools": tools(0..MAX_ENTRIES + 7) })]);
        assert_eq!((items, pages_read), (MAX_ENTRIES, 1));
        assert!(
            problems[0].contains("7 more were in the same answer"),
            "{problems:?}"
        );
        let page =
            |at: usize| json!({ "tools": tools(at * 4000..(at + 1) * 4000), "nextCursor": at });
        let (items, pages_read, _) = add_pages(&[page(0), page(1), page(2), page(3)]);
        assert_eq!((items, pages_read), (MAX_ENTRIES, 3));
        let large = "x".repeat(MAX_LIST_BYTES / 3);
        let large: Value = (0..4)
            .map(|n| json!({ "name": n.to_string(), "description": large }))
            .collect();
        let (items, _, problems) = add_pages(&[json!({ "tools": large })]);
        assert_eq!(items, 2);
        assert!(problems[0].contains("32 MB"), "{problems:?}");
    }

    #[test]
    fn a_list_of_the_largest_size_is_taken_whole_and_without_a_problem() {
        let (items, _, problems) = add_pages(&[json!({ "tools": tools(0..MAX_ENTRIES) })]);
        assert_eq!((items, problems), (MAX_ENTRIES, Vec::new()));
    }

    #[test]
    fn the_first_broken_entries_of_a_list_are_reported_and_the_others_counted() {
        let rubbish: Value = (0..1000)
            .map(|_| json!({ "description": "nameless" }))
            .collect();
        let mut listed = ListedItems::new(TOOLS);
        listed.add_page(&RawObject::open(&raw(&json!({ "tools": rubbish }))).unwrap());
        assert_eq!(
            (listed.problems.len(), listed.unreported),
            (MAX_PROBLEMS, 1000 - MAX_PROBLEMS)
        );
    }

    #[test]
    fn only_the_definition_that_is_nested_too_deeply_is_skipped() {
        let deep = format!(
            r#"{{"name":"deep","x":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let page = format!(r#"{{"tools":[{{"name":"a"}},{deep},{{"name":"b"}}]}}"#);
        let mut listed = ListedItems::new(TOOLS);
        listed.add_page(&RawObject::open(&RawValue::from_string(page).unwrap()).unwrap());
        assert_eq!(
            listed.items.iter().map(|it| it.get()).collect::<Vec<_>>(),
            [r#"{"name":"a"}"#, r#"{"name":"b"}"#]
        );
        assert!(
            listed.problems[0]
                .what
                .contains("`deep` is nested deeper than 128"),
            "{:?}",
            listed.problems
        );
    }
}
