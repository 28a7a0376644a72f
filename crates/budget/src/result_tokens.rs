//! Estimates how many tokens a tool's result costs a model that reads it.

use kitbag_wire::RawObject;
use serde_json::value::RawValue;

use crate::block::{Block, BlockKind};
use crate::estimate::estimate_by_sampling;

/// Returns the estimated tokens of a JSON result: its content, with binary data at the estimate of
/// its kind. `structuredContent` counts only without content, since clients show a model one of the
/// two. A text that is not such a result is counted as text.
pub fn estimate_result_tokens(result: &str) -> usize {
    let Ok(object) = serde_json::from_str::<RawObject>(result) else {
        return estimate_by_sampling(result);
    };
    let content: Option<Vec<&RawValue>> = object
        .get("content")
        .and_then(|content| serde_json::from_str(content.get()).ok());
    match (content, object.get("structuredContent")) {
        (Some(content), structured) if !content.is_empty() || structured.is_none() => {
            content.into_iter().map(estimate_block_tokens).sum()
        }
        (_, Some(structured)) => estimate_by_sampling(structured.get()),
        (_, None) => estimate_by_sampling(result),
    }
}

fn estimate_block_tokens(block: &RawValue) -> usize {
    match &Block::parse(block).kind {
        BlockKind::Text(text) => estimate_by_sampling(text),
        BlockKind::Readable { heading, text } => {
            estimate_by_sampling(heading) + estimate_by_sampling(text)
        }
        BlockKind::Binary { tokens, .. } => *tokens,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::estimate_result_tokens;
    use crate::estimate::estimate_tokens;

    #[test]
    fn only_the_content_that_a_model_reads_is_counted() {
        let text = "the quick brown fox jumps over the lazy dog";
        let alone = estimate_tokens(text);
        let block = json!({ "type": "text", "text": text });
        for (result, tokens) in [
            (json!({ "content": [block] }), alone),
            (
                json!({ "content": [block, block], "structuredContent": { "fox": text } }),
                2 * alone,
            ),
            (
                json!({ "content": [{ "type": "image", "mimeType": "image/png", "data": "A".repeat(400_000) }] }),
                1_500,
            ),
            (
                json!({ "content": [], "structuredContent": [1, 2] }),
                estimate_tokens("[1,2]"),
            ),
            (json!({ "content": [] }), 0),
        ] {
            assert_eq!(
                estimate_result_tokens(&result.to_string()),
                tokens,
                "{result}"
            );
        }
        assert_eq!(estimate_result_tokens(text), alone);
    }
}
