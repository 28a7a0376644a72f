//! The figures of a group of prompts with the same expected tool or the same category.

use serde::Serialize;

use super::Rate;
use crate::record::Record;
use crate::suite::{Prompt, Suite};

#[derive(Debug, Serialize)]
pub struct Group {
    /// The tool or the category of the group.
    pub name: String,
    pub prompts: usize,
    pub right_tool: Option<Rate>,
    pub right_arguments: Option<Rate>,
    /// The tools that were called instead of the expected one, most frequent first.
    pub instead: Vec<Instead>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Instead {
    pub tool: String,
    pub count: usize,
}

pub(super) fn by_tool(suite: &Suite, records: &[Record]) -> Vec<Group> {
    group_prompts(suite, records, |prompt| Some(&prompt.expect.tool))
}

/// Prompts without a category are in no group.
pub(super) fn by_category(suite: &Suite, records: &[Record]) -> Vec<Group> {
    group_prompts(suite, records, |prompt| prompt.category.as_ref())
}

/// Returns the groups in the order of the suite.
fn group_prompts(
    suite: &Suite,
    records: &[Record],
    name: fn(&Prompt) -> Option<&String>,
) -> Vec<Group> {
    let mut prompts_by_name: Vec<(&String, Vec<&Prompt>)> = Vec::new();
    for prompt in &suite.prompts {
        let Some(name) = name(prompt) else { continue };
        match prompts_by_name.iter_mut().find(|(known, _)| *known == name) {
            Some((_, prompts)) => prompts.push(prompt),
            None => prompts_by_name.push((name, vec![prompt])),
        }
    }
    let groups = prompts_by_name.into_iter();
    groups
        .map(|(name, prompts)| Group::new(name, &prompts, records))
        .collect()
}

impl Group {
    fn new(name: &str, prompts: &[&Prompt], records: &[Record]) -> Self {
        let ids: Vec<_> = prompts.iter().map(|it| &it.id).collect();
        let of = records.iter().filter(|it| ids.contains(&&it.prompt));
        let of: Vec<_> = of.collect();
        Self {
            name: name.to_owned(),
            prompts: prompts.len(),
            right_tool: Rate::from_records(of.iter().copied(), Record::has_right_tool),
            right_arguments: Rate::from_records(of.iter().copied(), Record::is_right),
            instead: count_instead(&of),
        }
    }
}

fn count_instead(records: &[&Record]) -> Vec<Instead> {
    let mut found: Vec<Instead> = Vec::new();
    for record in records.iter().filter(|it| !it.has_right_tool()) {
        let Some(tool) = record.calls.first().map(|it| &it.tool) else {
            continue;
        };
        match found.iter_mut().find(|it| it.tool == *tool) {
            Some(same) => same.count += 1,
            None => found.push(Instead {
                tool: tool.clone(),
                count: 1,
            }),
        }
    }
    found.sort_by_key(|it| std::cmp::Reverse(it.count));
    found
}
