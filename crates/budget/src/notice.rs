//! The line that informs a model that it sees only a part of a result.

use crate::pages::ResultPage;
use crate::truncate::{StructuredOutcome, TruncatedResult};

/// Returns the line below a truncated result. `read_on` writes the call that reads from an offset,
/// such as `call_api(result: "r1", offset: 8000)`; `instead` names the tool that counts and filters
/// without reading.
pub fn truncation_notice(
    cut: &TruncatedResult,
    read_on: impl FnOnce(usize) -> String,
    instead: &str,
) -> String {
    // Both figures are estimates; the total must not look smaller than its part.
    let mut line = format!(
        "Truncated: about {} of {} tokens shown.",
        group_digits(cut.shown_tokens),
        group_digits(cut.total_tokens.max(cut.shown_tokens))
    );
    if cut.binaries_left_out > 0 {
        line += &format!(" Binary blocks left out: {}.", cut.binaries_left_out);
    }
    line += match cut.structured {
        StructuredOutcome::Unchanged => "",
        StructuredOutcome::SameAsText => " structuredContent left out; it repeats the text.",
        StructuredOutcome::MovedToText => " structuredContent is given as text.",
    };
    if let Some(offset) = cut.next_offset {
        line += &format!(
            " Read on: {}. To count or filter, use {instead} instead of reading on.",
            read_on(offset)
        );
    }
    format!("[{line}]")
}

/// Returns the line below a page.
pub fn page(page: &ResultPage<'_>, read_on: impl FnOnce(usize) -> String) -> String {
    let end = page.offset + page.text.len();
    let position = format!(
        "Bytes {} to {} of {}",
        group_digits(page.offset),
        group_digits(end),
        group_digits(page.total)
    );
    match page.next_offset {
        Some(offset) => format!("[{position}. Read on: {}]", read_on(offset)),
        None => format!("[{position}, the end.]"),
    }
}

/// Writes `51200` as `51,200`.
fn group_digits(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_position_and_the_call_for_the_next() {
        let first = ResultPage {
            text: "abcd",
            offset: 0,
            next_offset: Some(4),
            total: 1_234_567,
        };
        assert_eq!(
            page(&first, read_on),
            "[Bytes 0 to 4 of 1,234,567. Read on: call_api(result: \"r1\", offset: 4)]"
        );
        let last = ResultPage {
            text: "abcd",
            offset: 4,
            next_offset: None,
            total: 8,
        };
        assert_eq!(page(&last, read_on), "[Bytes 4 to 8 of 8, the end.]");
    }

    fn read_on(offset: usize) -> String {
        format!("call_api(result: \"r1\", offset: {offset})")
    }
}
