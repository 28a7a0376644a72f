//! Checks in one pass over the bytes whether JSON is nested too deeply.
//!
//! `params` and `result` stay text here, so the parser's own limit does not apply to them. Many
//! parsers behind the gateway recurse for each bracket, and some overflow the stack of their
//! process.

/// Far deeper than legitimate arguments, results or schemas, and within the limits of common
/// parsers (`serde_json` has the same).
pub const MAX_NESTING: usize = 128;

/// True if brackets are nested deeper than [`MAX_NESTING`]. The text must be JSON, or part of it.
pub fn is_too_deep(json: &[u8]) -> bool {
    is_deeper_than(json, MAX_NESTING)
}

fn is_deeper_than(json: &[u8], limit: usize) -> bool {
    // Most messages have fewer brackets in total than the limit, and counting is much faster than
    // tracking strings.
    let openings = json.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    openings.count() > limit && is_open_deeper_than(json, limit)
}

/// Ignores brackets in strings.
fn is_open_deeper_than(json: &[u8], limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, too_deep: bool) {
        assert_eq!(is_deeper_than(json.as_bytes(), 3), too_deep, "{json}");
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        check("[[[]]]", false);
        check("[[[[]]]]", true);
        check(r#"{"a":[{"b":[1]}]}"#, true);
        check("[[],[],[],[],[]]", false);
        check(r#"["[[[[[[[["]"#, false);
        check(r#"["\"[[[[[["]"#, false);
        check(r#"["\\",[[[1]]]]"#, true);
        check(r#"{"[[[[":"{{{{"}"#, false);
    }
}
