//! The figures of a group of prompts: those that expect the same tool, or have the same category.

use serde::Serialize;

use super::Rate;
use crate::judge::ChoiceOutcome;
use crate::record::Record;
use crate::suite::{Prompt, Suite};

#[derive(Debug, Serialize)]
pub struct Group {
    /// The tool or the category of the group.
    pub name: String,
    pub prompts: usize,
    pub right_tool: Option<Rate>,
    pub right_arguments: Option<Rate>,
    /// The tools that were called although another one was expected, the most frequent first.
    pub instead: Vec<Instead>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Instead {
    pub tool: String,
    pub count: usize,
}

pub(super) fn by_tool(suite: &Suite, records: &[Record]) -> Vec<Group> {
    groups(suite, records, |prompt| Some(&prompt.expect.tool))
}

/// Prompts without a category are in no group.
pub(super) fn by_category(suite: &Suite, records: &[Record]) -> Vec<Group> {
    groups(suite, records, |prompt| prompt.category.as_ref())
}

/// Returns the groups in the order of the suite.
fn groups(suite: &Suite, records: &[Record], name: fn(&Prompt) -> Option<&String>) -> Vec<Group> {
    let mut names: Vec<&String> = Vec::new();
    for found in suite.prompts.iter().filter_map(name) {
        if !names.contains(&found) {
            names.push(found);
        }
    }
    let group = |group: &String| {
        let prompts: Vec<_> = suite
            .prompts
            .iter()
            .filter(|it| name(it) == Some(group))
            .collect();
        let ids: Vec<_> = prompts.iter().map(|it| it.id.as_str()).collect();
        let of: Vec<_> = records
            .iter()
            .filter(|it| ids.contains(&it.prompt.as_str()))
            .collect();
        let rate = |is: fn(&Record) -> bool| Rate::of(of.iter().copied(), is);
        Group {
            name: group.clone(),
            prompts: prompts.len(),
            right_tool: rate(|it| it.outcome().is_right_tool()),
            right_arguments: rate(|it| it.outcome() == ChoiceOutcome::Right),
            instead: instead(&of),
        }
    };
    names.into_iter().map(group).collect()
}

fn instead(records: &[&Record]) -> Vec<Instead> {
    let mut found: Vec<Instead> = Vec::new();
    for record in records.iter().filter(|it| !it.outcome().is_right_tool()) {
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
