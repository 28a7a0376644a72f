//! The result of a call for a person: text, pictures of harmless kinds, and the size of the rest.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde_json::Value;

use crate::cli::content::{get_items, get_str};
use crate::pages::elements::{long_text, number, text};

/// A person reads no more; the whole result is in the answer to a client.
const MAX_CHARS: usize = 20_000;
const MAX_BLOCKS: usize = 50;
/// A page with a larger picture is slow.
const MAX_PICTURE: usize = 2 << 20;

/// Pictures that a browser decodes without interpreting anything in them.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn render_result(result: &Value) -> Markup {
    let blocks = get_items(result, "content");
    html! {
        @for block in blocks.iter().take(MAX_BLOCKS) { (render_block(block)) }
        @if blocks.len() > MAX_BLOCKS { p.muted { "… and " (blocks.len() - MAX_BLOCKS) " more parts." } }
        @if blocks.is_empty() && result.get("structuredContent").is_none() { p.muted { "The result is empty." } }
        @if let Some(structured) = result.get("structuredContent").filter(|it| !is_repeated(it, blocks)) {
            details open[blocks.is_empty()] {
                summary { "Structured content" }
                (limited(&format!("{structured:#}")))
            }
        }
    }
}

/// Many servers send the structured content as text as well.
fn is_repeated(structured: &Value, blocks: &[Value]) -> bool {
    let mut texts = blocks.iter().filter_map(|block| get_str(block, "text"));
    texts.any(|text| parse_compound(text).as_ref() == Some(structured))
}

/// Breaks JSON into lines.
fn readable(text: &str) -> Cow<'_, str> {
    match parse_compound(text) {
        Some(value) => format!("{value:#}").into(),
        None => text.into(),
    }
}

/// Parses a text that is a JSON object or array, unless it is too long to be read.
fn parse_compound(text: &str) -> Option<Value> {
    let is_compound = text.starts_with(['{', '[']) && text.len() <= MAX_CHARS;
    serde_json::from_str(text).ok().filter(|_| is_compound)
}

fn render_block(block: &Value) -> Markup {
    let resource = block.get("resource").unwrap_or(&Value::Null);
    match (get_str(block, "type"), get_str(block, "data")) {
        (Some("text"), _) => limited(&readable(get_str(block, "text").unwrap_or_default())),
        (Some("image"), Some(data)) => render_picture(block, data),
        (Some("resource"), _) => html! {
            p.muted { (text(get_str(resource, "uri").unwrap_or("a resource"))) }
            @if let Some(content) = get_str(resource, "text") { (limited(content)) }
            @if let Some(blob) = get_str(resource, "blob") { (size_of("data", resource, blob)) }
        },
        (Some("resource_link"), _) => html! {
            p { "Resource " (text(get_str(block, "uri").unwrap_or_default())) " "
                @if let Some(name) = get_str(block, "name") { (text(name)) } }
        },
        (Some(kind), Some(data)) => size_of(kind, block, data),
        _ => {
            html! { details { summary { "Another kind of content" } (limited(&format!("{block:#}"))) } }
        }
    }
}

/// Text and size only, unless the data is a picture that is safe to show.
fn render_picture(block: &Value, data: &str) -> Markup {
    let media = get_str(block, "mimeType").unwrap_or_default();
    let kind = PICTURES.into_iter().find(|kind| *kind == media);
    match kind.filter(|_| data.len() <= MAX_PICTURE && STANDARD.decode(data).is_ok()) {
        Some(kind) => html! {
            figure.picture {
                img src={ "data:" (kind) ";base64," (data) } alt="The picture in the result";
                figcaption { (size_text("image", kind, data)) }
            }
        },
        None => size_of("image", block, data),
    }
}

fn size_of(kind: &str, block: &Value, data: &str) -> Markup {
    let media = get_str(block, "mimeType").unwrap_or("unknown type");
    html! { p.muted { (text(&size_text(kind, media, data))) } }
}

fn size_text(kind: &str, media: &str, data: &str) -> String {
    // Four Base64 characters encode three bytes.
    format!(
        "{kind}, {media}, about {} bytes",
        number(data.len() as u64 / 4 * 3)
    )
}

fn limited(content: &str) -> Markup {
    match content.char_indices().nth(MAX_CHARS) {
        None => long_text("Text of the result", content),
        Some((end, _)) => html! {
            (long_text("Text of the result", &content[..end]))
            p.muted { "… and " (number((content.len() - end) as u64)) " more bytes." }
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pictures_of_harmless_kinds_are_shown() {
        let check = |media: &str, data: &str, is_shown: bool| {
            let image =
                json!({ "content": [{ "type": "image", "mimeType": media, "data": data }] });
            let rendered = render_result(&image).into_string();
            assert_eq!(rendered.contains("<img"), is_shown, "{rendered}");
        };
        check("image/png", "AAAA", true);
        check("image/svg+xml", "AAAA", false);
        check("image/png", "AAAA\" onerror=\"x", false);
        check("text/html", "AAAA", false);
    }

    #[test]
    fn a_long_text_is_truncated_and_markup_is_escaped() {
        let long = format!("<script>{}", "ü".repeat(MAX_CHARS));
        let rendered = render_result(&json!({ "content": [{ "type": "text", "text": long }] }));
        let rendered = rendered.into_string();
        assert!(!rendered.contains("<script>") && rendered.contains("more bytes"));
    }
}
