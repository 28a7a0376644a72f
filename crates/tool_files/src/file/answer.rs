//! `pages` and `answer` of an action.

use kitbag_tool_spec::{AnswerRule, AnswerType, JsonPointer, PageRule, UsageRule};

use super::mistake::ToolFileMistake;
use super::view::TableView;

pub(super) fn pages(view: &TableView<'_>) -> Option<PageRule> {
    view.expect_keys(&["next", "into", "link", "number", "items"]);
    if !view.has("items") {
        view.note(ToolFileMistake::MissingKey { key: "items" });
    }
    let items = pointer(view, "items");
    match ["next", "link", "number"].map(|key| view.has(key)) {
        [true, false, false] => {
            let into = view.needed_text("into");
            Some(PageRule::Cursor {
                next: pointer(view, "next")?,
                into: into?.value,
                items: items?,
            })
        }
        [false, true, false] => Some(PageRule::Link {
            relation: view.text("link")?.value,
            items: items?,
        }),
        [false, false, true] => Some(PageRule::Number {
            argument: view.text("number")?.value,
            items: items?,
        }),
        _ => {
            view.note(ToolFileMistake::PageManner);
            None
        }
    }
}

pub(super) fn answer(view: &TableView<'_>) -> AnswerRule {
    view.expect_keys(&[
        "type",
        "pick",
        "keep",
        "error",
        "image",
        "image_type",
        "cost",
        "input_tokens",
        "output_tokens",
    ]);
    let kind = view.choice(view.text("type"), &AnswerType::ALL, AnswerType::as_str);
    let keep = view.texts("keep").into_iter();
    let image_type = view.text("image_type").map(|text| text.value);
    AnswerRule {
        kind: kind.unwrap_or_default(),
        pick: pointer(view, "pick").unwrap_or_default(),
        keep: keep.filter_map(|it| view.parse_text(Some(it))).collect(),
        error: pointer(view, "error"),
        image: pointer(view, "image"),
        image_type: image_type.unwrap_or_else(|| AnswerRule::DEFAULT_IMAGE_TYPE.to_owned()),
        usage: usage(view),
    }
}

fn usage(view: &TableView<'_>) -> UsageRule {
    let usual = UsageRule::default();
    UsageRule {
        cost: pointer(view, "cost").unwrap_or(usual.cost),
        input_tokens: pointer(view, "input_tokens"),
        output_tokens: pointer(view, "output_tokens"),
    }
}

fn pointer(view: &TableView<'_>, key: &str) -> Option<JsonPointer> {
    view.parse_text(view.any_text(key))
}
