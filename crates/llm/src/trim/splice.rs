//! Writes a request with fewer tools. Every byte outside the array of tools stays unchanged.

use serde_json::value::RawValue;

use crate::trim::ListedTool;

/// `array` is a part of `body`.
pub(crate) fn with_tools(
    body: &str,
    array: &str,
    tools: &[ListedTool<'_>],
    is_kept: &[bool],
) -> String {
    let start = array.as_ptr().addr() - body.as_ptr().addr();
    let (before, after) = (&body[..start], &body[start + array.len()..]);
    if !is_kept.contains(&true)
        && let Some(body) = without_tools(before, after)
    {
        return body;
    }
    let mut trimmed = String::with_capacity(body.len());
    trimmed.push_str(before);
    trimmed.push('[');
    trimmed.push_str(&join_kept(tools, is_kept).join(","));
    trimmed.push(']');
    trimmed.push_str(after);
    trimmed
}

/// Returns the body without the field, because vendors reject an empty array of tools. `None` if
/// the name of the field is written with escapes.
fn without_tools(before: &str, after: &str) -> Option<String> {
    let before = before.trim_end().strip_suffix(':')?.trim_end();
    let before = before.strip_suffix("\"tools\"")?.trim_end();
    let after = after.trim_start();
    Some(match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{before}{}", after.strip_prefix(',').unwrap_or(after)),
    })
}

/// A cache mark says that everything up to its tool should be cached. The mark of a removed tool
/// moves to the last kept tool before it, so it still follows all kept tools that preceded it.
/// There are never more marks than before, and their order stays.
fn join_kept(tools: &[ListedTool<'_>], is_kept: &[bool]) -> Vec<String> {
    let mut kept: Vec<(&ListedTool<'_>, Option<&RawValue>)> = Vec::new();
    for (tool, is_kept) in tools.iter().zip(is_kept) {
        if *is_kept {
            kept.push((tool, None));
        } else if let Some(mark) = tool.cache_mark {
            move_mark(&mut kept, mark);
        }
    }
    kept.into_iter()
        .map(|(tool, mark)| add_cache_mark(tool.text, mark))
        .collect()
}

/// A vendor rejects a mark on a tool that is not part of the cached text.
fn move_mark<'a>(kept: &mut [(&ListedTool<'_>, Option<&'a RawValue>)], mark: &'a RawValue) {
    let last = kept.iter_mut().rfind(|(tool, _)| !tool.is_deferred);
    if let Some((tool, moved)) = last
        && tool.cache_mark.is_none()
    {
        *moved = Some(mark);
    }
}

/// Returns a definition with a mark as its last field.
fn add_cache_mark(definition: &str, mark: Option<&RawValue>) -> String {
    let Some((mark, fields)) = mark.zip(definition.trim_end().strip_suffix('}')) else {
        return definition.to_owned();
    };
    format!("{},\"cache_control\":{mark}}}", fields.trim_end())
}

#[cfg(test)]
mod tests {
    use super::without_tools;

    #[test]
    fn a_request_without_tools_has_no_field_for_them() {
        for (before, after, expected) in [
            (
                r#"{"a":1, "tools": "#,
                r#", "b":2}"#,
                Some(r#"{"a":1, "b":2}"#),
            ),
            (r#"{"tools":"#, r#","b":2}"#, Some(r#"{"b":2}"#)),
            (r#"{"a":1,"tools" : "#, "}", Some(r#"{"a":1}"#)),
            (r#"{"tools":"#, "}", Some("{}")),
            (r#"{"t\u006fols":"#, "}", None),
        ] {
            assert_eq!(without_tools(before, after).as_deref(), expected);
        }
    }
}
