//! Measures how long it takes to truncate a result of 5 MB, to read a page at its end, and to
//! estimate its tokens.

#![expect(clippy::print_stdout, reason = "it reports to a terminal")]

use std::time::Instant;

use kitbag_budget::{TruncateOutcome, estimate_result_tokens, estimate_tokens, truncate_to_budget};
use serde_json::json;

fn main() {
    let row =
        r#"{"id": 4711, "title": "Uploads fail with a timeout", "labels": ["bug"], "open": true}"#;
    let rows = format!("[{}]", vec![row; SIZE / row.len()].join(", "));
    let structured: serde_json::Value = serde_json::from_str(&rows).expect("the rows are JSON");
    let prose = "It stops at 99 %, and nobody knows why.\n".repeat(SIZE / 40);
    let deep = "[".repeat(SIZE / 2) + &"]".repeat(SIZE / 2);
    for (name, result) in [
        ("JSON", json!({"content": [{"type": "text", "text": rows}]})),
        (
            "JSON twice",
            json!({"content": [{"type": "text", "text": rows}], "structuredContent": {"result": structured}}),
        ),
        (
            "prose",
            json!({"content": [{"type": "text", "text": prose}]}),
        ),
        (
            "one word",
            json!({"content": [{"type": "text", "text": "a".repeat(SIZE)}]}),
        ),
        (
            "a million brackets",
            json!({"content": [{"type": "text", "text": deep}]}),
        ),
        (
            "many texts",
            json!({"content": vec![json!({"type": "text", "text": row}); SIZE / row.len()]}),
        ),
    ] {
        measure(name, &result.to_string());
    }
}

fn measure(name: &str, result: &str) {
    let begin = Instant::now();
    let TruncateOutcome::Cut(cut) = truncate_to_budget(result, 8_000) else {
        return println!("{name}: not cut");
    };
    let fitted = begin.elapsed();
    let begin = Instant::now();
    let page = cut.pages.page(cut.pages.full_text().len() * 9 / 10, 8_000);
    let paged = begin.elapsed();
    let begin = Instant::now();
    let tokens = estimate_tokens(cut.pages.full_text());
    let estimated = begin.elapsed();
    let begin = Instant::now();
    estimate_result_tokens(result);
    println!(
        "{name}: {} bytes truncated in {fitted:.1?}, a page of {} bytes in {paged:.1?}, {tokens} tokens estimated in \
         {estimated:.1?}, priced in {:.1?}",
        result.len(),
        page.text.len(),
        begin.elapsed()
    );
}

const SIZE: usize = 5_000_000;
