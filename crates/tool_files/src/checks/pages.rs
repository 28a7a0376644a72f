//! Check 14: every tool has a page that lists its actions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{CheckFinding, CheckId, ToolPage, tool_finding};
use crate::file::ToolFile;

pub(super) fn check(
    pages: &BTreeMap<String, ToolPage>,
    tools: &[Arc<ToolFile>],
) -> Vec<CheckFinding> {
    let tools = tools.iter();
    tools
        .flat_map(|tool| match pages.get(tool.id.as_str()) {
            Some(page) => missing_actions(page, tool),
            None => vec![missing_page_finding(tool)],
        })
        .collect()
}

fn missing_page_finding(tool: &ToolFile) -> CheckFinding {
    tool_finding(
        CheckId::Pages,
        tool,
        1,
        format!("`{}` has no page", tool.id),
        format!("write docs/tools/{}.md with every action", tool.id),
    )
}

fn missing_actions(page: &ToolPage, tool: &ToolFile) -> Vec<CheckFinding> {
    let actions = tool.actions.iter().map(|action| action.name.as_str());
    actions
        .filter(|name| !page.text.contains(&format!("`{name}`")))
        .map(|name| CheckFinding {
            check: CheckId::Pages,
            file: page.path.clone(),
            line: None,
            message: format!("the page does not list the action `{name}`"),
            advice: Some(format!(
                "describe `{name}`, with its arguments and an example"
            )),
        })
        .collect()
}
