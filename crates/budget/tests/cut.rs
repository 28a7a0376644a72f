//! Tests the shown part of a long result.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use kitbag_budget::{
    Pages, TruncateOutcome, TruncatedResult, estimate_tokens, notice, truncate_to_budget,
};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn a_result_within_the_budget_is_not_touched() {
    let long = "word ".repeat(900);
    for result in [
        text_result("short").to_string(),
        text_result(&long).to_string(),
        json!({"content": [], "structuredContent": {"a": 1}}).to_string(),
        json!({"content": [{"type": "image", "mimeType": "image/png", "data": "A".repeat(1_000_000)}]})
            .to_string(),
        json!({"content": [{"type": "text", "text": long}], "structuredContent": {"result": long}})
            .to_string(),
    ] {
        assert!(matches!(truncate_to_budget(&result, 2_000), TruncateOutcome::Whole), "{}", &result[..result.len().min(200)]);
    }
}

#[test]
fn a_text_that_is_not_a_tool_result_passes() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for text in [
        "x".repeat(9_000),
        "[1,2]".repeat(9_000),
        format!("{{\"content\":{}}}", "7".repeat(9_000)),
        deep,
    ] {
        assert!(matches!(
            truncate_to_budget(&text, 100),
            TruncateOutcome::Whole
        ));
    }
}

#[test]
fn text_is_cut_at_the_best_available_boundary() {
    let sentence = |end: &str| "It is long enough to be a sentence of its own".to_owned() + end;
    let ends = |unit: &str, last: &str| {
        let cut = cut(&text_result(&unit.repeat(400)), 500);
        let shown = &cut.pages.full_text()[..cut.next_offset.unwrap()];
        assert!(
            shown.ends_with(last),
            "{unit:?}: …{:?}",
            &shown[shown.len() - 20..]
        );
        assert!(
            estimate_tokens(shown) > 150,
            "{unit:?}: only {} tokens",
            estimate_tokens(shown)
        );
    };
    ends(
        &(sentence(". ") + &sentence(".\n") + &sentence(".\n\n")),
        ".\n\n",
    );
    ends(&(sentence(". ") + &sentence(".\n")), ".\n");
    ends(&sentence(". "), ". ");
    ends(&sentence(" "), " ");
    ends("网关位于您的编辑器和所有服务器之间。", "。");
    ends("网关位于您的编辑器和所有服务器之间", "");
    ends("Rows: [{\"a\":1},{\"a\":2}],", ",");
}

#[test]
fn json_in_a_text_is_cut_between_elements_and_stays_json() {
    let rows: Vec<Value> = (0..2_000)
        .map(|id| json!({"id": id, "tags": ["a", "b"], "note": "x, y"}))
        .collect();
    let check = |text: &str, shown: fn(&Value) -> &Value| {
        let cut = cut(&text_result(text), 1_000);
        let offset = cut.next_offset.unwrap();
        let next = cut.pages.page(offset, 1_000).text.to_owned();
        let value: Value = serde_json::from_str(&first_text(cut)).unwrap();
        let shown = shown(&value).as_array().unwrap();
        assert!(shown.len() > 20, "{} rows", shown.len());
        assert_eq!(shown[..], rows[..shown.len()]);
        let first_of_next = serde_json::Deserializer::from_str(&next)
            .into_iter::<Value>()
            .next();
        assert_eq!(first_of_next.unwrap().unwrap(), rows[shown.len()]);
    };
    check(&json!(rows).to_string(), |value| value);
    check(&serde_json::to_string_pretty(&rows).unwrap(), |value| value);
    check(
        &json!({"total": 2_000, "page": {"rows": rows}}).to_string(),
        |value| &value["page"]["rows"],
    );
}

#[test]
fn an_element_that_is_too_long_by_itself_is_cut_inside() {
    let story = "A \"quoted\" line\\with 😀 signs.\n".repeat(2_000);
    for value in [
        json!([{"id": 1, "body": story}]),
        json!({"body": story}),
        json!([[[story]]]),
    ] {
        let shown = first_text(cut(&text_result(&value.to_string()), 1_000));
        let value: Value =
            serde_json::from_str(&shown).unwrap_or_else(|error| panic!("{error}: {shown}"));
        assert!(estimate_tokens(&shown) > 300);
        assert!(value.to_string().contains("quoted"));
    }
}

#[test]
fn any_result_can_be_truncated() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for text in [
        deep(200_000),
        deep(120),
        format!("{{\"{}\":1}}", "k".repeat(100_000)),
        format!("[{}]", "1".repeat(100_000)),
        format!("[{}1]", " ".repeat(1_000_000)),
        "a".repeat(100_000),
        "😀".repeat(10_000),
        "=".repeat(1_000_000),
        "\n".repeat(1_000_000),
    ] {
        let result = text_result(&text).to_string();
        let TruncateOutcome::Cut(cut) = truncate_to_budget(&result, 100) else {
            continue;
        };
        let end = cut.next_offset.unwrap();
        assert!(end > 0 && end < text.len());
        let whole = cut.pages.full_text().to_owned();
        assert_eq!(read_all(&cut.pages, 0, 5_000), whole);
        serde_json::from_str::<serde::de::IgnoredAny>(cut.answer("[Cut.]").get()).unwrap();
    }
}

#[test]
fn a_truncated_result_keeps_its_other_members() {
    let result = json!({
        "content": [
            {"type": "text", "text": "first", "annotations": {"audience": ["user"]}},
            {"type": "hologram", "voxels": [1, 2, 3]},
            {"type": "text", "text": "line\n".repeat(5_000), "_meta": {"a/b": 1}},
            {"type": "text", "text": "last"},
        ],
        "isError": true,
        "_meta": {"trace": "t1"},
        "vendor": 1.5,
    });
    let cut = cut(&result, 500);
    let answer: Value = serde_json::from_str(cut.answer("[Cut.]").get()).unwrap();
    assert_eq!(answer["content"][0], result["content"][0]);
    assert_eq!(answer["content"][1], result["content"][1]);
    assert_eq!(answer["content"][2]["_meta"], json!({"a/b": 1}));
    assert_eq!(
        answer["content"][3],
        json!({"type": "text", "text": "[Cut.]"})
    );
    for member in ["isError", "_meta", "vendor"] {
        assert_eq!(answer[member], result[member]);
    }
}

#[test]
fn structured_content_is_whole_or_omitted() {
    let rows = json!({"rows": (0..3_000).collect::<Vec<u32>>()});
    let check = |result: Value, said: &str, blocks: usize| {
        let cut = cut(&result, 1_000);
        let line = notice::truncation_notice(&cut, |offset| format!("read({offset})"), "a tool");
        assert!(line.contains(said), "{line}");
        let answer: Value = serde_json::from_str(cut.answer(&line).get()).unwrap();
        assert!(answer.get("structuredContent").is_none());
        assert_eq!(answer["content"].as_array().unwrap().len(), blocks);
    };
    let same =
        json!({"content": [{"type": "text", "text": rows.to_string()}], "structuredContent": rows});
    check(same, "it repeats the text", 2);
    let other =
        json!({"content": [{"type": "text", "text": "3000 rows"}], "structuredContent": rows});
    check(other, "structuredContent is given as text", 3);
    check(
        json!({"content": [], "structuredContent": rows}),
        "structuredContent is given as text",
        2,
    );
}

#[test]
fn images_come_before_text_and_big_files_are_replaced_by_a_line() {
    let image = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(50_000)});
    let file = json!({"type": "resource", "resource": {"uri": "file:///a.zip", "blob": "A".repeat(400_000)}});
    let text = json!({"type": "text", "text": "line\n".repeat(20_000)});
    let cut = cut(&json!({"content": [file, text, image]}), 8_000);
    assert_eq!(cut.binaries_left_out, 1);
    let answer: Value = serde_json::from_str(cut.answer("[Cut.]").get()).unwrap();
    assert_eq!(
        answer["content"][0]["text"],
        "[file:///a.zip, of unknown type, 301 kB: left out]"
    );
    assert_eq!(answer["content"][1]["type"], "text");
    assert_eq!(answer["content"][2], image);
}

#[test]
fn the_text_of_a_resource_is_shown_in_part_as_text() {
    let resource =
        json!({"uri": "file:///log", "mimeType": "text/plain", "text": "line\n".repeat(5_000)});
    let cut = cut(
        &json!({"content": [{"type": "resource", "resource": resource}]}),
        500,
    );
    assert!(cut.pages.full_text().starts_with("file:///log:\n\nline\n"));
    assert!(first_text(cut).starts_with("line\nline\n"));
}

#[test]
fn the_notice_has_the_shown_amount_and_the_call_to_continue() {
    let cut = cut(&text_result(&"word ".repeat(10_000)), 1_000);
    let offset = cut.next_offset.unwrap();
    let read_on = |offset| format!("call_api(result: \"r1\", offset: {offset})");
    let line = notice::truncation_notice(&cut, read_on, "run_code");
    let expected = format!(
        "[Truncated: about 920 of 10,101 tokens shown. Read on: call_api(result: \"r1\", offset: {offset}). \
         To count or filter, use run_code instead of reading on.]"
    );
    assert_eq!(line, expected);
    assert!(kitbag_budget::count(&line) < 80);
}

proptest! {
    #[test]
    fn pages_put_together_are_the_whole(text in texts(), tokens in 0_usize..200) {
        let pages = Pages::new(&text);
        prop_assert_eq!(read_all(&pages, 0, tokens), text);
    }

    #[test]
    fn an_answer_is_within_its_budget_and_its_remainder_can_be_read(
        parts in prop::collection::vec(texts(), 1..6),
        budget in 200_usize..1_000,
    ) {
        let content: Vec<Value> = parts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        let result = json!({"content": content}).to_string();
        if let TruncateOutcome::Cut(cut) = truncate_to_budget(&result, budget) {
            let offset = cut.next_offset.unwrap();
            let whole = cut.pages.full_text();
            prop_assert_eq!(whole[..offset].to_owned() + &read_all(&cut.pages, offset, budget), whole);
            let line = notice::truncation_notice(&cut, |offset| format!("call_api(result: \"0123456789ab\", offset: {offset})"), "a tool");
            let answer: Value = serde_json::from_str(cut.answer(&line).get()).unwrap();
            let blocks = answer["content"].as_array().unwrap();
            let tokens: usize = blocks.iter().map(|block| estimate_tokens(block["text"].as_str().unwrap())).sum();
            prop_assert!(tokens <= budget + budget / 20 + 5, "{} of {}", tokens, budget);
        }
    }

    #[test]
    fn a_page_begins_at_any_offset(text in texts(), offset in 0_usize..5_000, tokens in 0_usize..200) {
        let pages = Pages::new(&text);
        let page = pages.page(offset, tokens);
        prop_assert!(page.text.is_empty() == (page.offset == text.len()));
        prop_assert!(text[page.offset..].starts_with(page.text));
    }
}

fn texts() -> impl Strategy<Value = String> {
    let prose = prop::collection::vec("[a-zA-Zé网😀 .,\"\\\\\n]{0,40}", 0..60)
        .prop_map(|parts| parts.concat());
    let leaf = prop_oneof![
        any::<i32>().prop_map(|number| json!(number)),
        "[a-zé😀 .\"\\\\\n]{0,80}".prop_map(|text| json!(text)),
        Just(Value::Null),
    ];
    let value = leaf.prop_recursive(5, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(|elements| json!(elements)),
            prop::collection::hash_map("[a-z \"]{0,8}", inner, 0..12)
                .prop_map(|members| json!(members)),
        ]
    });
    prop_oneof![
        prose,
        value.clone().prop_map(|value| value.to_string()),
        value.prop_map(|value| serde_json::to_string_pretty(&value).unwrap()),
    ]
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[track_caller]
fn cut(result: &Value, budget: usize) -> TruncatedResult {
    match truncate_to_budget(&result.to_string(), budget) {
        TruncateOutcome::Cut(cut) => *cut,
        TruncateOutcome::Whole => panic!("the result is within its budget"),
    }
}

/// The text of the first shown block.
fn first_text(cut: TruncatedResult) -> String {
    let answer: Value = serde_json::from_str(cut.answer("[Cut.]").get()).unwrap();
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

/// All pages from an offset on, concatenated.
fn read_all(pages: &Pages, mut offset: usize, tokens: usize) -> String {
    let mut read = String::new();
    loop {
        let page = pages.page(offset, tokens);
        read += page.text;
        match page.next_offset {
            Some(next) => offset = next,
            None => return read,
        }
    }
}
